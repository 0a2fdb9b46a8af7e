"""Commands of cmd.exe and PowerShell."""

import re
from typing import Final

_CMD: Final = tuple(
    (re.compile(shape, re.IGNORECASE), reason)
    for shape, reason in (
        (r"^(?:del|erase)\s+(?!/\?)\S", "deletes files"),
        (r"^(?:rd|rmdir)\s+(?!/\?)\S", "deletes folders"),
        (r"^deltree\b", "deletes folders"),
        (r"^format(?:\.com)?\s+[a-z]:", "formats a disk"),
        (r"^diskpart\b(?!\s*/\?)", "changes partitions"),
        (r"^(?:shutdown|logoff|tsshutdn)(?:\.exe)?\s+(?!/\?|[-/]a\b)", "stops the machine"),
        (r"^cipher\s+/w", "wipes a disk"),
        (r"^(?:taskkill|tskill|pskill)\b(?!\s*/\?)", "kills processes"),
        (r"^net1?\s+(?:user|localgroup|group|accounts)\s+\S+\s+\S", "changes accounts"),
        (r"^net1?\s+(?:stop|pause)\s", "stops services"),
        (r"^net1?\s+(?:share|session|use)\b.*(?:/delete|=)", "changes what is shared"),
        (r"^sc(?:\.exe)?\s+(?:\\\\\S+\s+)?(?:delete|stop|config|failure|sdset|create)\b", "changes services"),
        (r"^reg(?:\.exe)?\s+(?:delete|add|import|restore|load|unload|save|copy)\b", "changes the registry"),
        (r"^regedit\s+/s", "changes the registry"),
        (r"^bcdedit\s+/(?!enum|\?)", "changes how the machine starts"),
        (r"^bootrec|^bootsect|^bcdboot|^mbr2gpt", "changes how the machine starts"),
        (r"^vssadmin\s+(?:delete|resize)|^wbadmin\s+(?:delete|disable|start)|^diskshadow\b", "deletes backups"),
        (r"^wmic\b.*\b(?:delete|call)\b", "changes the machine"),
        (r"^netsh\b.*\b(?:set|add|delete|reset|import)\b", "changes the network"),
        (r"^(?:attrib|icacls|cacls|takeown)\b(?=.*(?:/grant|/deny|/remove|/reset|/setowner|/inheritance|/f\b|/p\b|[+-][rhs]\b))", "changes rights"),
        (r"^robocopy\b.*/(?:mir|purge|mov|move)\b", "deletes what the source has not"),
        (r"^(?:xcopy|copy|move)\b.*\s/y\b", "overwrites without asking"),
        (r"^wevtutil\s+(?:cl|clear-log)", "deletes logs"),
        (r"^fsutil\s+(?:file\s+(?:setzerodata|setshortname|seteof)|usn\s+deletejournal|reparsepoint\s+delete|behavior\s+set|dirty\s+set)", "changes a file system"),
        (r"^schtasks\b.*/(?:delete|create|change|end)\b", "changes scheduled jobs"),
        (r"^at\s+\d", "schedules commands"),
        (r"^(?:dism|wusa)\b.*(?:/disable-feature|/remove|/uninstall|/apply-image)", "removes parts of the system"),
        (r"^msiexec\b.*/(?:x|uninstall)\b", "removes programs"),
        (r"^(?:winget|choco|scoop)\s+(?:uninstall|remove|reset)", "removes programs"),
        (r"^wsl(?:\.exe)?\s+(?:--unregister|--shutdown|--terminate)", "removes a Linux installation"),
        (r"^(?:certutil)\b.*(?:-urlcache|-delstore|-decode)", "downloads or removes certificates"),
        (r"^bitsadmin\b.*/transfer", "downloads a program"),
        (r"^(?:mshta|rundll32|regsvr32|cscript|wscript)\b.*(?:http|javascript:|scrobj)", "runs a stranger's code"),
        (r"^(?:setx)\b\s+(?:/m\s+)?path\b", "changes where programs are found"),
        (r"^(?:runas|psexec)\b", "runs as somebody else"),
        (r"^manage-bde\b.*-(?:off|lock|forcerecovery|protectors)|^(?:clean|select\s+disk)\b", "changes a disk"),
        (r"^(?:auditpol)\b.*/(?:clear|remove|set)", "stops the audit"),
        (r"^(?:assoc|ftype)\b.*=|^label\b|^convert\s+[a-z]:|^chkdsk\b.*/[frx]\b|^subst\b.*/d", "changes the system"),
        (r"^type\s+nul\s*>(?!>)|^copy\s+/y\s+nul\b|^break\s*>", "empties a file"),
        (r".*>\s*\\\\\.\\(?:physicaldrive|[a-z]:)", "writes to a disk"),
        (r"^%0\s*\|\s*%0", "a fork bomb"),
        (r"^dsrm\b|^dsmod\b|^dsadd\b|^ntdsutil\b", "changes accounts"),
        (r"^(?:query|quser)?\s*(?:rwinsta|reset\s+session|logoff)\b", "ends sessions"),
    )
)  # fmt: skip

# approved verbs of PowerShell that take something away, and what they may take without asking
_CMDLET: Final = re.compile(
    r"(?<![\w-])(?P<verb>Remove|Clear|Stop|Restart|Disable|Uninstall|Reset|Format|Initialize|Set|Suspend|Dismount|Revoke|Unregister|Move|"
    r"Invoke|Start|New|Add|Grant|Publish|Send|Disconnect|Block|Lock|Unlock|Rename|Enable|Repair|Optimize|Resize|Restore|Undo|Complete|Deny|Exit|Enter|Delete|Purge|Revoke|Register)-"
    r"(?P<noun>[A-Za-z]+)",
    re.IGNORECASE,
)
_ANY_NOUN: Final = frozenset(("remove", "uninstall", "revoke", "unregister", "delete", "purge", "disable", "dismount"))
_NOUNS: Final = {
    "clear": "content disk recyclebin eventlog item itemproperty history variable-all dnsservercache-x host-x",
    "stop": "computer service process vm website azvm ec2instance cluster job-x scheduledtask webapppool",
    "restart": "computer service vm netadapter azvm",
    "reset": "computermachinepassword adaccountpassword physicaldisk azvm",
    "format": "volume",
    "initialize": "disk",
    "set": "executionpolicy acl aduser adaccountpassword localuser service mppreference netfirewallprofile netfirewallrule itemproperty partition disk adobject itemproperty wmiinstance mailbox adgroup content-x adaccountcontrol",
    "suspend": "bitlocker service vm",
    "invoke": "expression webrequest-x wmimethod command-x",
    "new": "localuser aduser netfirewallrule service scheduledtask",
    "add": "localgroupmember adgroupmember mppreference",
    "send": "mailmessage",
    "publish": "module script",
    "move": "item-x adobject",
    "rename": "computer",
    "enable": "psremoting bitlocker-x",
    "block": "smbshareaccess",
    "grant": "smbshareaccess",
    "disconnect": "pssession-x",
    "restore": "computer",
    "register": "scheduledtask scheduledjob",
    "resize": "partition",
    "repair": "volume",
}
_READS: Final = re.compile(r"(?<![\w-])(?:Get-Help|help|man|Get-Command|gcm)\s", re.IGNORECASE)
_ALIASES: Final = re.compile(
    r"(?:^|[|;&{(]\s*|%\s*\{\s*)(?:ri|rm|del|erase|rd|rmdir|rni|clc|clp|rp|sasv|spsv|spps|kill)\s+(?=\S)(?!-WhatIf)",
    re.IGNORECASE,
)
_IEX: Final = re.compile(r"(?<![\w-])(?:iex|Invoke-Expression)(?![\w-])", re.IGNORECASE)
_METHODS: Final = re.compile(
    r"\.Delete\(|\.Kill\(|\]::(?:Delete|WriteAllText|WriteAllBytes|Kill|Exit|Move)\(|\.DownloadString\(|\.DownloadFile\(|\[(?:System\.)?Diagnostics\.Process\]::Start|\.Terminate\(|\.Shutdown\(|Win32Shutdown|FailFast",
    re.IGNORECASE,
)
_ENCODED: Final = re.compile(r"-e(?:n(?:c(?:odedcommand)?)?)?\s+['\"]?[A-Za-z0-9+/=]{16,}", re.IGNORECASE)
_FORCED: Final = re.compile(
    r"(?<![\w-])(?:Move-Item|Copy-Item|mi|cpi|Out-File|Set-Content|sc|New-Item|ni)\b[^|;]*\s-Force\b", re.IGNORECASE
)
_LOOKS: Final = re.compile(
    r"(?:^|[\s|;&(])(?:[A-Z][a-z]+-[A-Z][A-Za-z]+|powershell|pwsh|cmd(?:\.exe)?\s+/[ck]|iex|gci|ri)\b|\$env:|\[IO\.|\[System\.|"
    r"^\s*(?:del|erase|rd|rmdir|deltree|format|diskpart|cipher|taskkill|net1?|sc|reg|bcdedit|vssadmin|wbadmin|wmic|netsh|attrib|icacls|takeown|robocopy|xcopy|wevtutil|fsutil|"
    r"schtasks|dism|msiexec|winget|choco|certutil|bitsadmin|mshta|rundll32|regsvr32|setx|runas|manage-bde|auditpol|bootrec|chkdsk|tskill|logoff|copy|move|type|regedit|cacls|shutdown\s+[/-]|dsrm|ntdsutil|subst|convert|label|assoc)\b|%0|\.\\",
    re.IGNORECASE | re.MULTILINE,
)


def looks_like_windows(text: str) -> bool:
    return _LOOKS.search(text) is not None


def judge_windows(text: str) -> str | None:
    from_cmd = _unwrapped(text.strip())
    if reason := _powershell(from_cmd):
        return reason
    for part in re.split(r"\s*(?:&&|\|\||[&|\n;])\s*", from_cmd):
        line = re.sub(
            r"^(?:@|\(|start\s+(?:/\w+\s+)*(?:\"\"\s+)?|call\s+|if\s+.*?\)\s*|for\s+.*?\bdo\s+)+",
            "",
            part.strip(),
            flags=re.IGNORECASE,
        ).strip("\"'() ^")
        line = re.sub(r"^(?:[A-Za-z]:)?(?:\\[\w .-]+)*\\(?=[\w-]+(?:\.exe)?\s)", "", line).replace("^", "")
        line = re.sub(r"^(\w+)\.exe\b", r"\1", line, flags=re.IGNORECASE)
        for shape, reason in _CMD:
            if shape.match(line):
                return reason
    return None


def _unwrapped(text: str) -> str:
    """What cmd and powershell are told to run."""
    for _ in range(4):
        inner = re.match(
            r"(?:[\w:\\ ]*\\)?(?:cmd(?:\.exe)?\s+(?:/\w\s+)*/[ck]|(?:powershell|pwsh)(?:\.exe)?\b(?:\s+-(?!c\b|command\b|e\w*\b)\w+(?:\s+(?!-)\w+)?)*\s+-(?:c|command))\s+(?P<s>.+)\Z",
            text,
            re.IGNORECASE | re.DOTALL,
        )
        if inner is None:
            return text
        text = inner["s"].strip()
        if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
            text = text[1:-1]
    return text


def _powershell(text: str) -> str | None:
    if _READS.match(text) or re.search(r"(?<!\w)-WhatIf\b(?!:\$false)", text, re.IGNORECASE):
        return None
    bare = re.sub(r"#[^\n]*|'[^'\n]*'(?!\s*\|\s*iex)", lambda m: "''" if m[0][0] == "'" else "", text)
    for match in _CMDLET.finditer(bare):
        verb, noun = match["verb"].lower(), match["noun"].lower()
        if verb in _ANY_NOUN and noun not in (
            "variable",
            "psbreakpoint",
            "psdebug",
            "job",
            "event",
            "typedata",
            "psdrive",
            "module",
            "alias",
        ):
            return f"{match['verb']}-{match['noun']} takes something away"
        if noun in _NOUNS.get(verb, "").split():
            return f"{match['verb']}-{match['noun']} changes what is hard to restore"
    if _IEX.search(bare):
        return "runs what a text holds"
    if _METHODS.search(bare):
        return "deletes or runs by a method call"
    if _FORCED.search(bare):
        return "overwrites by force"
    if _ENCODED.search(text) and re.search(r"powershell|pwsh", text, re.IGNORECASE):
        return "runs hidden commands"
    if re.search(r"Get-|gci|\$_|\$env:|-Recurse|-fo\b|powershell|pwsh|dir\b", text, re.IGNORECASE) and _ALIASES.search(
        bare
    ):
        return "deletes files"
    return None
