"""Commands of cmd.exe and PowerShell."""

import re
from typing import Final

from server.hooks.policy.danger.paths import is_private, is_protected
from server.hooks.policy.danger.sql import judge_sql

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
        (r"^robocopy\b(?!.*\s/l\b).*/(?:mir|purge|mov|move)\b", "deletes what the source has not"),
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
        (r".*>\s*\"?[a-z]:\\(?:windows|program files|boot)", "writes to the system"),
        (r".*>\s*\\\\\.\\(?:physicaldrive|[a-z]:)", "writes to a disk"),
        (r"^%0\s*\|\s*%0", "a fork bomb"),
        (r"^dsrm\b|^dsmod\b|^dsadd\b|^ntdsutil\b", "changes accounts"),
        (r"^(?:compact\s+/c|cipher\s+/[ed])\b", "changes how files are kept"),
        (r"^(?:mountvol\b.*/[dp]\b|diskraid\b|drvload\b|pnputil\b.*/(?:delete|add|remove|disable)|devcon\s+(?:remove|disable|install))", "changes devices"),
        (r"^(?:route\s+(?:delete|add|change|-f)|arp\s+-d|ipconfig\s+/(?:release|renew)|rasdial\b|netdom\b|nltest\b.*/)", "changes the network"),
        (r"^(?:cmdkey\s+/(?:delete|add|generic)|klist\s+purge|slmgr\b|secedit\s+/(?:configure|import)|gpupdate\b.*/force|regini\b|w32tm\b.*/config)", "changes the system"),
        (r"^(?:procdump|ntdsutil|mimikatz|rubeus|sharphound)\b", "gives credentials away"),
        (r"^powercfg\b.*(?:/h|-h|/hibernate|/setactive|/change|-x)\b|^rundll32\b.*(?:lockworkstation|setsuspendstate|exitwindows)", "changes power"),
        (r"^(?:appcmd|iisreset|inetmgr)\b(?!\s+(?:list|/status|/\?))", "takes a site down"),
        (r"^(?:logman|wecutil|wpr)\s+(?:stop|delete|cancel|ds)\b|^fltmc\s+unload", "stops the audit"),
        (r"^(?:sqlcmd|osql)\b.*-i\b", "runs unknown SQL"),
        (r"^dsquery\b.*\|\s*ds(?:rm|mod)", "changes accounts"),
        (r"^mklink\b.*\b(?:windows|system32)|^(?:expand|extrac32|copy|move|xcopy)\b.*\b[a-z]:\\windows\\", "writes to the system"),
        (r"^esentutl\b.*/[pd]\b", "changes a database"),
        (r"^(?:net1?\s+user\s+\S+\s+/|net1?\s+localgroup\s+\S+\s+\S+\s+/)", "changes accounts"),
        (r"^cacls\b.*/[egpdr]\b", "changes rights"),
        (r"^%\w+%\S*\s+/\w", "runs a hidden command"),
        (r"^(?:query|quser)?\s*(?:rwinsta|reset\s+session|logoff)\b", "ends sessions"),
    )
)  # fmt: skip

# approved verbs of PowerShell that take something away, and what they may take without asking
_CMDLET: Final = re.compile(
    r"(?<![\w-])(?P<verb>Remove|Clear|Stop|Restart|Disable|Uninstall|Reset|Format|Initialize|Set|Suspend|Dismount|Revoke|Unregister|Move|"
    r"Invoke|Start|New|Add|Grant|Export|Import|Update|Publish|Send|Disconnect|Block|Lock|Unlock|Rename|Enable|Repair|Optimize|Resize|Restore|Undo|Complete|Deny|Exit|Enter|Delete|Purge|Revoke|Register)-"
    r"(?P<noun>[A-Za-z]+)",
    re.IGNORECASE,
)
_ANY_NOUN: Final = frozenset(("remove", "uninstall", "revoke", "unregister", "delete", "purge", "disable", "dismount"))
_NOUNS: Final = {
    "clear": "content disk recyclebin eventlog item itemproperty history storagediagnosticinfo dnsserverzone "
    "mailboxsearch",
    "stop": "computer service process vm website azvm ec2instance cluster scheduledtask webapppool rdsdbinstance "
    "azwebapp azsqlinstance clustergroup clusternode iisserver dtsservice webcommitdelay",
    "restart": "computer service vm netadapter azvm webapppool azwebapp",
    "set": "executionpolicy acl aduser adaccountpassword localuser localgroup service mppreference "
    "netfirewallprofile netfirewallrule itemproperty partition disk adobject wmiinstance mailbox adgroup "
    "adaccountcontrol smbserverconfiguration smbshare netipaddress netconnectionprofile netadapter "
    "dnsclientserveraddress dnsserverresourcerecord vm vmfirmware processmitigation timezone date volume "
    "physicaldisk azvm azwebapp azsqldatabase azkeyvaultaccesspolicy azstorageaccount "
    "aznetworksecurityruleconfig inboxrule transportrule casmailbox organizationconfig mguser msoluser "
    "azureaduser gpregistryvalue gppermission wsmaninstance authenticodesignature adforest addomain "
    "addefaultdomainpasswordpolicy computerrestore pssessionconfiguration uevconfiguration",
    "new": "localuser aduser netfirewallrule service scheduledtask smbshare inboxrule transportrule "
    "azroleassignment azvm azadapplication azadserviceprincipal azadappcredential iamaccesskey iamuser "
    "ec2instance itemproperty wmievent mailboxexportrequest msoluser azureaduser mguser gpo adgroup "
    "netnat",
    "add": "localgroupmember adgroupmember mppreference mailboxpermission adpermission rolegroupmember "
    "azureaddirectoryrolemember msolrolemember mailboxfolderpermission aznetworksecurityruleconfig "
    "windowscapability recipientpermission ntfsaccess vmdvddrive computer",
    "invoke": "expression wmimethod cimmethod azvmruncommand gpupdate atomictest mimikatz kerberoast",
    "send": "mailmessage mgusermail mguserchatmessage sesemail snsmessage wolpacket",
    "publish": "module script azwebapp package",
    "enable": "psremoting localuser windowsoptionalfeature netfirewallrule adaccount wsmancredssp inboxrule "
    "guestaccount remotedesktop",
    "restore": "computer vmsnapshot vmcheckpoint adobject gpo azrecoveryservicesbackupitem sqldatabase "
    "dscconfiguration",
    "move": "adobject vm vmstorage addirectoryserveroperationmasterrole clustergroup",
    "rename": "computer aduser adobject localuser",
    "export": "pfxcertificate mailbox credential azkeyvaultsecret wlan",
    "start": "azvm ec2instance vmfailover clustergroup mailboxexport dsconfiguration",
    "update": "azvm azwebapp mguser mgpolicyauthorizationpolicy azaduser adfsrelyingpartytrust",
    "grant": "smbshareaccess azdiskaccess adminconsent cspermissionset",
    "import": "gpo pfxcertificate startlayout",
    "resize": "partition virtualdisk vhd",
    "repair": "volume",
    "suspend": "bitlocker service vm",
    "format": "volume",
    "initialize": "disk",
    "reset": "computermachinepassword adaccountpassword physicaldisk azvm adserviceaccountpassword azvmextension",
    "block": "smbshareaccess",
    "disconnect": "virtualdisk",
    "register": "scheduledtask scheduledjob wmievent",
    "unlock": "bitlocker adaccount",
    "lock": "bitlocker",
    "complete": "vmfailover",
}
_SET: Final = re.compile(r"(?<![\w-])set\s+\"?(\w+)=([^&|\"\n]{0,200}?)\"?\s*(?=&|\||\n|\Z)", re.IGNORECASE)
_READS: Final = re.compile(r"(?<![\w-])(?:Get-Help|help|man|Get-Command|gcm)\s", re.IGNORECASE)
_ALIASES: Final = re.compile(
    r"(?:^|[|;&{(]\s*|%\s*\{\s*)(?:ri|rm|del|erase|rd|rmdir|rni|clc|clp|rp|sasv|spsv|spps|kill)\s+(?=\S)(?!-WhatIf)",
    re.IGNORECASE,
)
_IN_TEXTS: Final = re.compile(
    r"SetEnvironmentVariable\([^)]{0,300}(?:Machine|User)|Set-Content\s+\S{1,200}\s+(?:''|\"\")\s*(?:;|\Z)",
    re.IGNORECASE,
)
_PIPED: Final = re.compile(
    r"\|\s*(?:ri|rm|del|erase|rni|spps|kill)\s*(?:[;|]|\Z)|(?:^|[;{]\s*)(?:spps|kill)\s+-(?:Name|Id)\b", re.IGNORECASE
)
_IEX: Final = re.compile(r"(?<![\w-])(?:iex|Invoke-Expression)(?![\w-])", re.IGNORECASE)
_METHODS: Final = re.compile(
    r"\.Delete\(|\.Kill\(|\]::(?:Delete|WriteAllText|WriteAllBytes|Kill|Exit|Move)\(|\.DownloadString\(|\.DownloadFile\(|\[(?:System\.)?Diagnostics\.Process\]::Start|\.Terminate\(|\.Shutdown\(|Win32Shutdown|FailFast|InvokeVerb\(",
    re.IGNORECASE,
)
_ENCODED: Final = re.compile(r"-e(?:n(?:c(?:odedcommand)?)?)?\s+['\"]?[A-Za-z0-9+/=]{16,}", re.IGNORECASE)
_PRINTED: Final = re.compile(
    r"(?<![\w-])(?:Write-(?:Output|Host|Verbose|Information|Warning|Debug|Error)|echo)\s+(?:\"[^\"$\n]*\"|'[^'\n]*')(?!\s*\|)",
    re.IGNORECASE,
)
_BLOCKS: Final = re.compile(
    r"scriptblock\]::Create|FromBase64String\([^|]{0,2000}\)\s*\)*\s*\|\s*(?:iex|Invoke-Expression)|&\s*\(\s*(?:\$\w+\[|\[|''|\"|\(|gcm|Get-Command)|\[char\]\d+\s*\+|-join\s*\[char"
    r"|Reflection\.Assembly\]::Load|Add-Type\b.{0,500}DllImport|-EncodedCommand",
    re.IGNORECASE,
)
_REQUESTS: Final = re.compile(
    r"(?<![\w-])(?:Invoke-RestMethod|Invoke-WebRequest|irm|iwr|curl|wget)\b[^|;\n]{0,500}\s-(?:CustomMethod|Method|me?t?h?o?d?)\s+['\"]?(?:Delete|Put|Patch)\b",
    re.IGNORECASE,
)
_POSTS: Final = re.compile(
    r"(?<![\w-])(?:Invoke-RestMethod|Invoke-WebRequest|irm|iwr|curl|Start-BitsTransfer|Send-MailMessage|Copy-Item\b[^|]{0,500}-ToSession|scp)\b|\.Upload(?:File|String|Data)\(",
    re.IGNORECASE,
)
_WRITERS: Final = re.compile(
    r"(?<![\w-])(?:Set-Content|Add-Content|Out-File|Copy-Item|Move-Item|New-Item|Tee-Object|Rename-Item|Set-ItemProperty|New-ItemProperty|Expand-Archive|ac|sc|cpi|mi|ni|sp)\b",
    re.IGNORECASE,
)
_FETCHED: Final = re.compile(
    r"-(?:OutFile|o|Destination)\s+['\"]?(?P<path>[^\s'\";|]{1,200})[\s\S]{0,500}?(?:Start-Process|saps|&|;\s*)\s*['\"]?(?P=path)",
    re.IGNORECASE,
)
_AS_ADMIN: Final = re.compile(
    r"Start-Process\b[^|;\n]{0,500}-Verb\s+['\"]?RunAs|(?<![\w-])saps\b[^|;\n]{0,500}RunAs", re.IGNORECASE
)
_SQL: Final = re.compile(r"Invoke-Sqlcmd\b[^|;\n]{0,500}-Query\s+['\"]([^'\"\n]+)", re.IGNORECASE)
_FORCED: Final = re.compile(
    r"(?<![\w-])(?:Move-Item|Copy-Item|mi|cpi|Out-File|Set-Content|sc|New-Item|ni)\b[^|;]{0,500}\s-Force\b",
    re.IGNORECASE,
)
_LOOKS: Final = re.compile(
    r"(?:^|[\s|;&(])(?:[A-Z][a-z]+-[A-Z][A-Za-z]+|powershell|pwsh|cmd(?:\.exe)?\s+/[ck]|iex|gci|ri)\b|\$env:|\[IO\.|\[System\.|"
    r"^\s*(?:del|erase|rd|rmdir|deltree|format|diskpart|cipher|taskkill|net1?|sc|reg|bcdedit|vssadmin|wbadmin|wmic|netsh|attrib|icacls|takeown|robocopy|xcopy|wevtutil|fsutil|"
    r"schtasks|dism|msiexec|winget|choco|certutil|bitsadmin|mshta|rundll32|regsvr32|setx|runas|manage-bde|auditpol|bootrec|chkdsk|tskill|logoff|copy|move|type|regedit|cacls|shutdown\s+[/-]|dsrm|ntdsutil|subst|convert|label|assoc|mountvol|pnputil|devcon|powercfg|slmgr|secedit|cmdkey|iisreset|appcmd|forfiles|fltmc|logman|ipconfig|start\s+/|if\s+exist|set\s+\w+=|call\s+%)\b|%0|\.\\"
    r"|(?:psexec|cacls)\b|[|&;(]\s*(?:del|erase|rd|rmdir)\s|\bwusa\b|[A-Za-z]:\\|\|\s*(?:ri|rm|del|erase|rni|spps|kill)\b|^\s*(?:spps|kill)\s+-(?:Name|Id)|\w\^\w|%\w+%|\bfor\s+(?:/[dfrl]\s+)*%|scriptblock\]|FromBase64String|Start-Process|::(?:Delete|Kill|WriteAll|Exit)",
    re.IGNORECASE | re.MULTILINE,
)


def looks_like_windows(text: str) -> bool:
    return _LOOKS.search(text) is not None


def judge_windows(text: str) -> str | None:
    from_cmd = _unwrapped(_expanded(text).strip())
    if reason := _powershell(from_cmd):
        return reason
    for part in re.split(r"\s*(?:&&|\|\||[&|\n;])\s*", from_cmd):
        line = re.sub(
            r"^(?:@|\(|\)|else\s+|if\s+(?:/i\s+)?(?:not\s+)?(?:exist|defined|errorlevel)\s+\S+\s+|start\s+(?:/\w+\s+)*(?:\"\"\s+)?|call\s+|if\s+.*?\)\s*|for\s+.*?\bdo\s+|forfiles\b.*?/c\s+\"?(?:cmd(?:\.exe)?\s+/c\s+)?)+",
            "",
            part.strip(),
            flags=re.IGNORECASE,
        ).strip("\"'() ^")
        line = re.sub(r"^(?:[A-Za-z]:)?(?:\\[\w .-]+)*\\(?=[\w-]+(?:\.exe)?\s)", "", line).replace("^", "")
        line = _unwrapped(line)
        line = re.sub(r"^(\w+)\.exe\b", r"\1", line, flags=re.IGNORECASE)
        for shape, reason in _CMD:
            if shape.match(line):
                return reason
    return None


def _expanded(text: str) -> str:
    """Without carets, and with what `set` assigns in its place."""
    text = re.sub(r"\^(?=\S)", "", text)
    known = {name.lower(): value for name, value in _SET.findall(text)}
    if not known:
        return text
    return re.sub(r"[%!](\w+)[%!]", lambda m: known.get(m[1].lower(), m[0]), text)


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
    text = _PRINTED.sub("", text)
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
            "alias",
        ):
            return f"{match['verb']}-{match['noun']} takes something away"
        if noun in _NOUNS.get(verb, "").split():
            return f"{match['verb']}-{match['noun']} changes what is hard to restore"
    if _BLOCKS.search(bare):
        return "runs hidden commands"
    if _REQUESTS.search(bare):
        return "changes something over HTTP"
    if _POSTS.search(bare) and any(map(is_private, re.split(r"[\s'\"=,;()]+", text))):
        return "sends away what is private"
    if _WRITERS.search(bare) and any(map(is_protected, re.split(r"[\s'\"=,;()]+", text))):
        return "writes where the system or the login is set up"
    if _FETCHED.search(bare):
        return "runs what it has just downloaded"
    if _WRITERS.search(bare) and "$profile" in bare.lower():
        return "writes where the login is set up"
    if _AS_ADMIN.search(bare):
        return "runs as somebody else"
    if (sql := _SQL.search(text)) and (reason := judge_sql(sql[1])):
        return reason
    if _IEX.search(bare):
        return "runs what a text holds"
    if _METHODS.search(bare):
        return "deletes or runs by a method call"
    if _FORCED.search(bare):
        return "overwrites by force"
    if _ENCODED.search(text) and re.search(r"powershell|pwsh", text, re.IGNORECASE):
        return "runs hidden commands"
    if _IN_TEXTS.search(text):
        return "empties a file, or changes what programs are found"
    if _PIPED.search(bare):
        return "takes away what was listed"
    if re.search(r"Get-|gci|\$_|\$env:|-Recurse|-fo\b|powershell|pwsh|dir\b", text, re.IGNORECASE) and _ALIASES.search(
        bare
    ):
        return "deletes files"
    return None
