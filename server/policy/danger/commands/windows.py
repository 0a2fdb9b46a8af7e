"""Command lines of Windows: cmd.exe, and what tells them from those of a POSIX shell."""

import re
from typing import Final

from server.policy.danger.anchored import Anchored
from server.policy.danger.commands.powershell import judge_powershell

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
        (r"^type\s+nul\s*>(?!>)|^copy\s+(?:/y\s+)?nul\b|^break\s*>|^echo[.:]?\s*>(?!>)", "empties a file"),
        (r".*>\s*\"?[a-z]:\\(?:windows|program files|boot)", "writes to the system"),
        (r".*>\s*\\\\\.\\(?:physicaldrive|[a-z]:)", "writes to a disk"),
        (r"^%0\s*\|\s*%0", "a fork bomb"),
        (r"^dsrm\b|^dsmod\b|^dsadd\b|^ntdsutil\b", "changes accounts"),
        (r"^(?:compact\s+/c|cipher\s+/[ed])\b", "changes how files are kept"),
        (r"^(?:mountvol\b.*/[dp]\b|diskraid\b|drvload\b|pnputil\b.*/(?:delete|add|remove|disable)|devcon\s+(?:remove|disable|install))", "changes devices"),
        (r"^(?:route\s+(?:delete|add|change|-f)|arp\s+-d|ipconfig\s+/(?:release|renew)|rasdial\b|netdom\b|nltest\b.*/)", "changes the network"),
        (r"^(?:cmdkey\s+/(?:delete|add|generic)|klist\s+purge|slmgr\b|secedit\s+/(?:configure|import)|gpupdate\b.*/force|ftp\s.*-s:|tsdiscon\b|tscon\b|sfc\s+/scannow|regini\b|w32tm\b.*/config)", "changes the system"),
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
_SET: Final = re.compile(r"(?<![\w-])set\s+\"?(\w+)=([^&|\"\n]{0,200}?)\"?\s*(?=&|\||\n|\Z)", re.IGNORECASE)
_LOOKS: Final = re.compile(
    r"(?:^|[\s|;&(])(?:[A-Z][a-z]+-[A-Z][A-Za-z]+|powershell|pwsh|cmd(?:\.exe)?\s+/[ck]|iex|gci|ri)\b|\$env:|\[IO\.|\[System\.|"
    r"^[^\S\n]*(?:del|erase|rd|rmdir|deltree|format|diskpart|cipher|taskkill|net1?|sc|reg|bcdedit|vssadmin|wbadmin|wmic|netsh|attrib|icacls|takeown|robocopy|xcopy|wevtutil|fsutil|"
    r"schtasks|dism|msiexec|winget|choco|certutil|bitsadmin|mshta|rundll32|regsvr32|setx|runas|manage-bde|auditpol|bootrec|chkdsk|tskill|logoff|copy|move|type|regedit|cacls|shutdown\s+[/-]|dsrm|ntdsutil|subst|convert|label|assoc|mountvol|pnputil|devcon|powercfg|slmgr|secedit|cmdkey|iisreset|appcmd|forfiles|fltmc|logman|ipconfig|start\s+/|if\s+exist|set\s+\w+=|call\s+%)\b|%0|\.\\"
    r"|(?:psexec|cacls)\b|[|&;(]\s*(?:del|erase|rd|rmdir)\s|\bwusa\b|[A-Za-z]:\\|\|\s*(?:ri|rm|del|erase|rni|spps|kill)\b|^[^\S\n]*(?:spps|kill)\s+-(?:Name|Id)|\w\^\w|%\w+%|\bfor\s+(?:/[dfrl]\s+)*%|scriptblock\]|FromBase64String|Start-Process|::(?:Delete|Kill|WriteAll|Exit)",
    re.IGNORECASE | re.MULTILINE,
)


_SIGNS: Final = Anchored([(_LOOKS, True)])


def looks_like_windows(text: str) -> bool:
    return _SIGNS.first(text) is not None


def judge_windows(text: str) -> str | None:
    from_cmd = _unwrapped(_expanded(text).strip())
    if reason := judge_powershell(from_cmd):
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
