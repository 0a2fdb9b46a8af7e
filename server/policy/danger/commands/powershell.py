"""PowerShell: what its cmdlets, their aliases and its method calls do."""

import re
from typing import Final

from server.policy.danger.paths import is_private, is_protected
from server.policy.danger.requests import judge_request
from server.policy.danger.sql import judge_sql

# approved verbs of PowerShell that take something away, and what they may take without asking
_CMDLET: Final = re.compile(
    r"(?<![\w-])(?P<verb>Remove|Clear|Stop|Restart|Disable|Uninstall|Reset|Format|Initialize|Set|Suspend|Dismount|Revoke|Unregister|Move|"
    r"Invoke|Start|New|Add|Grant|Export|Import|Update|Publish|Send|Disconnect|Block|Lock|Unlock|Rename|Enable|Repair|Optimize|Resize|Restore|Undo|Complete|Deny|Exit|Enter|Delete|Purge|Revoke|Register|Install|Connect|Approve|Submit|Merge|Switch|Sync)-"
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
    "install": "script packageprovider windowsfeature addsforest addsdomaincontroller update windowsupdate",
    "enter": "pssession",
    "connect": "viserver",
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
_HARMLESS_NOUNS: Final = frozenset("variable psbreakpoint psdebug job event typedata psdrive alias".split())
"""They belong to the session alone."""
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
    r"(?:^|[;{]\s*)ri\s[^|;\n]{0,300}(?:\\|\*|\s-r(?:ec\w*)?\b)|\|\s*(?:ri|rm|del|erase|rni|spps|kill)\s*(?:[;|]|\Z)|(?:^|[;{]\s*)(?:spps|kill)\s+-(?:Name|Id)\b",
    re.IGNORECASE,
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
_METHOD: Final = re.compile(r"\s-(?:CustomMethod|Method)\s+['\"]?(\w+)", re.IGNORECASE)
_URL: Final = re.compile(r"https?://[^\s'\";)]{1,2000}", re.IGNORECASE)
_WRITERS: Final = re.compile(
    r"(?<![\w-])(?:Set-Content|Add-Content|Out-File|Copy-Item|Move-Item|New-Item|Tee-Object|Rename-Item|Set-ItemProperty|New-ItemProperty|Expand-Archive|ac|sc|cpi|mi|ni|sp)\b",
    re.IGNORECASE,
)
_FETCHED: Final = re.compile(
    r"-(?:OutFile|o|Destination)\s+['\"]?(?P<path>[^\s'\";|]{1,200})[\s\S]{0,500}?(?:Start-Process|saps|&|;\s*)\s*['\"]?(?:\.[\\/])?(?P=path)",
    re.IGNORECASE,
)
_AS_ADMIN: Final = re.compile(
    r"Start-Process\b[^|;\n]{0,500}-Verb\s+['\"]?RunAs|(?<![\w-])saps\b[^|;\n]{0,500}RunAs", re.IGNORECASE
)
_SQL: Final = re.compile(r"Invoke-Sqlcmd\b[^|;\n]{0,500}-Query\s+['\"]([^'\"\n]+)", re.IGNORECASE)
_FORCED: Final = re.compile(
    r"(?<![\w-])(?:Move-Item|Copy-Item|mi|cpi|Out-File|Set-Content|sc|(?:New-Item|ni)\b(?![^|;]{0,200}\sDirectory))\b[^|;]{0,500}\s-Force\b",
    re.IGNORECASE,
)
_UNASKED: Final = re.compile(
    r"\s-(?:DeleteContent|DeleteSource|HardDelete|PurgeType|Permanent\w*|SkipRecycleBin|Confirm:\s?\$false|AllowClobber|SkipPublisherCheck)\b",
    re.IGNORECASE,
)
_OF_MANY: Final = re.compile(
    r"az|mg|spo|pnp|cs(?!v)|msol|azuread|exo|transport|mailbox|casmailbox|distribution|unifiedgroup|team|vbr|ec2|s3|rds|iam|route53|dhcp|wsus|adfs|inboxrule|organization|retention|dlp|compliance"
)
"""How nouns begin of what others use: Azure, Microsoft 365, Exchange, AWS."""
_CHANGING: Final = frozenset(
    "set new add enable start update grant invoke publish move rename import restore send reset unlock".split()
)
_WHAT_IF: Final = re.compile(r"(?<!\w)-WhatIf\b(?!:\$false)", re.IGNORECASE)
_COMMENTS_AND_TEXTS: Final = re.compile(r"#[^\n]*|'[^'\n]*'(?!\s*\|\s*iex)")
_BETWEEN_WORDS: Final = re.compile(r"[\s'\"=,;()]+")
_SHELL_NAMES: Final = re.compile(r"powershell|pwsh", re.IGNORECASE)
_LISTING: Final = re.compile(r"Get-|gci|\$_|\$env:|-Recurse|-fo\b|powershell|pwsh|dir\b", re.IGNORECASE)
_SIGNS: Final = (
    (_BLOCKS, "runs hidden commands"),
    (_REQUESTS, "changes something over HTTP"),
    (_FETCHED, "runs what it has just downloaded"),
    (_AS_ADMIN, "runs as somebody else"),
    (_IEX, "runs what a text holds"),
    (_METHODS, "deletes or runs by a method call"),
    (_FORCED, "overwrites by force"),
    (_UNASKED, "deletes for good, or leaves nobody to ask"),
    (_PIPED, "takes away what was listed"),
)


def judge_powershell(text: str) -> str | None:
    """Why somebody should be asked; None: nothing speaks for it, or it is no PowerShell."""
    if _READS.match(text) or _WHAT_IF.search(text):
        return None
    text = _PRINTED.sub("", text)
    bare = _COMMENTS_AND_TEXTS.sub(lambda m: "''" if m[0][0] == "'" else "", text)
    return (
        _by_cmdlets(bare)
        or next((reason for sign, reason in _SIGNS if sign.search(bare)), None)
        or _by_texts(text, bare)
        or _by_request(text)
        or _by_aliases(text, bare)
    )


def _by_cmdlets(bare: str) -> str | None:
    for match in _CMDLET.finditer(bare):
        verb, noun = match["verb"].lower(), match["noun"].lower()
        if verb in _ANY_NOUN and noun not in _HARMLESS_NOUNS:
            return f"{match['verb']}-{match['noun']} takes something away"
        if verb in _CHANGING and _OF_MANY.match(noun) and not noun.endswith("context"):
            return f"{match['verb']}-{match['noun']} changes what others use"
        if noun in _NOUNS.get(verb, "").split():
            return f"{match['verb']}-{match['noun']} changes what is hard to restore"
    return None


def _by_texts(text: str, bare: str) -> str | None:
    """What is sent, written and asked stands in quotes."""
    words = _BETWEEN_WORDS.split(text)
    if _POSTS.search(bare) and any(map(is_private, words)):
        return "sends away what is private"
    if _WRITERS.search(bare) and ("$profile" in bare.lower() or any(map(is_protected, words))):
        return "writes where the system or the login is set up"
    if _IN_TEXTS.search(text):
        return "empties a file, or changes what programs are found"
    sql = _SQL.search(text)
    return judge_sql(sql[1]) if sql else None


def _by_request(text: str) -> str | None:
    """`Invoke-RestMethod -Method Post https://… -Body …`"""
    method = _METHOD.search(text)
    url = _URL.search(text)
    return judge_request(method[1].upper() if method else "", url[0], text) if url and _POSTS.search(text) else None


def _by_aliases(text: str, bare: str) -> str | None:
    if _ENCODED.search(text) and _SHELL_NAMES.search(text):
        return "runs hidden commands"
    return "deletes files" if _LISTING.search(text) and _ALIASES.search(bare) else None
