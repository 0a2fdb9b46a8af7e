"""Passwords that programs take on their command line: each program's own flags."""

import re
from collections.abc import Iterator
from typing import Final

from server.policy.redaction.chosen import is_chosen, is_no_identifier
from server.policy.redaction.page import Page, matches
from server.policy.redaction.plausible import is_placeholder, is_plausible
from server.policy.redaction.spans import Span

_V: Final = r"\\?[\"']?(?P<s>(?<=[\"'])[^\"'\n\\]{4,256}(?=\\?[\"'])|[^\s\"'|;&]{4,256})"
"""In quotes, anything; else up to what ends a word in a shell."""
_NOT_LINE: Final = r"(?:[^\n|;&]{0,200}?\s|(?<=\s))"

# (the word that must be there, what follows from it on); manuals of the programs
_COMMANDS: Final = tuple(
    (re.findall(r"[\w.~$-]+", anchor)[0], anchor, re.compile(shape))
    for anchor, shape in (
        ("mysql", rf"mysql{_NOT_LINE}-p{_V}"),
        ("mysqldump", rf"mysqldump{_NOT_LINE}-p{_V}"),
        ("mysqladmin", rf"mysqladmin{_NOT_LINE}-p{_V}"),
        ("mysqlimport", rf"mysqlimport{_NOT_LINE}-p{_V}"),
        ("mariadb", rf"mariadb\S*{_NOT_LINE}-p{_V}"),
        ("sshpass", rf"sshpass{_NOT_LINE}-p ?{_V}"),
        ("curl", rf"curl{_NOT_LINE}(?:-u|--user|--proxy-user|-U) ?[\"']?[^\s:\"']{{1,100}}:(?P<s>[^\s\"'|;&]{{4,256}})"),
        ("http ", rf"http {_NOT_LINE}(?:-a|--auth) ?[\"']?[^\s:\"']{{1,100}}:(?P<s>[^\s\"'|;&]{{4,256}})"),
        ("smbclient", rf"smbclient{_NOT_LINE}-U ?[\"']?[^\s%\"']{{1,100}}%(?P<s>[^\s\"']{{4,128}})"),
        ("rpcclient", rf"rpcclient{_NOT_LINE}-U ?[\"']?[^\s%\"']{{1,100}}%(?P<s>[^\s\"']{{4,128}})"),
        ("net use", r"net use (?:\S{1,8}: )?\S{3,100} (?P<s>[^\s/*]\S{3,100})(?= /user)"),
        ("net use", r"net use [^\n]{0,120}/user:\S{1,64} (?P<s>[^\s/*]\S{3,100})"),
        ("net user", r"net user \S{1,64} (?P<s>[^\s/*]\S{3,100})"),
        ("redis-cli", rf"redis-cli{_NOT_LINE}-a {_V}"),
        ("mongo", rf"mongo{_NOT_LINE}-p {_V}"),
        ("mongosh", rf"mongosh{_NOT_LINE}-p {_V}"),
        ("mongodump", rf"mongodump{_NOT_LINE}-p {_V}"),
        ("sqlcmd", rf"sqlcmd{_NOT_LINE}-P ?{_V}"),
        ("bcp ", rf"bcp {_NOT_LINE}-P ?{_V}"),
        ("docker login", rf"docker login{_NOT_LINE}-p ?{_V}"),
        ("podman login", rf"podman login{_NOT_LINE}-p ?{_V}"),
        ("az login", rf"az login{_NOT_LINE}-p {_V}"),
        ("oc login", rf"oc login{_NOT_LINE}-p {_V}"),
        *((program, rf"{program}{_NOT_LINE}-w {_V}") for program in "ldapsearch ldapmodify ldapadd ldapdelete ldapwhoami ldappasswd ldapcompare ldapmodrdn".split()),
        ("ldappasswd", rf"ldappasswd{_NOT_LINE}-[as] {_V}"),
        ("snyk auth", r"snyk auth (?P<s>[0-9a-f-]{36})"),
        ("encrypt_string", rf"encrypt_string {_V}"),
        ("shell input text", rf"shell input text {_V}"),
        ("addprinc", rf"addprinc{_NOT_LINE}-pw {_V}"),
        ("mosquitto_pub", rf"mosquitto_pub{_NOT_LINE}-P {_V}"),
        ("mosquitto_sub", rf"mosquitto_sub{_NOT_LINE}-P {_V}"),
        ("ipmitool", rf"ipmitool{_NOT_LINE}-P ?{_V}"),
        ("lftp", rf"lftp{_NOT_LINE}-u ?[^\s,]{{1,64}},(?P<s>[^\s\"']{{4,128}})"),
        ("xfreerdp", r"xfreerdp[^\n]{0,200}? /p:(?P<s>\S{4,128})"),
        ("wget", rf"wget{_NOT_LINE}--(?:http-|ftp-|proxy-)?passw(?:or)?d[= ]{_V}"),
        ("7z", rf"7z[a]? [^\n|;]{{0,160}}? ?-p{_V}"),
        ("unzip", rf"unzip{_NOT_LINE}-P {_V}"),
        ("zip ", rf"zip {_NOT_LINE}-P {_V}"),
        ("unrar", rf"unrar{_NOT_LINE}-p{_V}"),
        ("qpdf", rf"qpdf{_NOT_LINE}--(?:password=|encrypt ){_V}"),
        ("htpasswd", r"htpasswd -\w*b\w* (?:\S{1,100} )?\S{1,64} (?P<s>\S{4,128})"),
        ("openssl", rf"openssl{_NOT_LINE}-(?:pass|passin|passout) pass:{_V}"),
        ("openssl", rf"openssl{_NOT_LINE}-(?:k|K|hmac) {_V}"),
        ("keytool", rf"keytool{_NOT_LINE}-\w*pass {_V}"),
        ("gpg ", rf"gpg {_NOT_LINE}--passphrase {_V}"),
        ("nmcli", rf"nmcli{_NOT_LINE}(?:password|wifi-sec\.psk) {_V}"),
        ("wpa_passphrase", r"wpa_passphrase [\"']?[^\s\"']{1,64}[\"']? [\"']?(?P<s>[^\s\"']{8,64})"),
        ("networksetup", r"networksetup -setairportnetwork \S+ [\"']?[^\s\"']{1,64}[\"']? [\"']?(?P<s>[^\s\"']{8,64})"),
        ("security add-", rf"security add-\S+-password{_NOT_LINE}-w {_V}"),
        ("cmdkey", r"cmdkey[^\n]{0,160}?/pass:[\"']?(?P<s>[^\s\"']{4,128})"),
        ("schtasks", r"schtasks[^\n]{0,200}? /rp [\"']?(?P<s>[^\s\"']{4,128})"),
        ("psexec", r"psexec[^\n]{0,160}? -p [\"']?(?P<s>[^\s\"']{4,128})"),
        ("impacket-psexec", r"impacket-\S+ \S{1,64}:(?P<s>[^\s@]{4,128})@"),
        ("sudo -S", r"sudo -S"),
        ("chpasswd", r"chpasswd"),
        *((program, program) for program in ("passwd", "smbpasswd", "vncpasswd", "kinit", "cryptsetup", "gpg")),
        ("--password-stdin", r"--password-stdin"),
        ("IDENTIFIED BY", r"IDENTIFIED (?:WITH \S{1,40} )?(?:BY|AS) (?:PASSWORD )?[\"'](?P<s>[^\"']{4,128})"),
        ("IDENTIFIED WITH", r"IDENTIFIED WITH \S{1,40} (?:BY|AS) [\"'](?P<s>[^\"']{4,128})"),
        ("identified with", r"identified with \S{1,40} (?:by|as) [\"'](?P<s>[^\"']{4,128})"),
        ("sp_addlogin", rf"sp_addlogin (?:@\w+ ?= ?)?N?'[^'\n]{{1,64}}', ?(?:@\w+ ?= ?)?N?{_V}"),
        ("identified by", r"identified (?:with \S{1,40} )?(?:by|as) (?:password )?[\"'](?P<s>[^\"']{4,128})"),
        ("SET PASSWORD", r"SET PASSWORD[^\n=]{0,80}= ?(?:PASSWORD\()?[\"'](?P<s>[^\"']{4,128})"),
        ("PASSWORD(", r"PASSWORD\([\"'](?P<s>[^\"']{4,128})"),
        ("requirepass", r"requirepass [\"']?(?P<s>[^\s\"']{4,128})"),
        ("masterauth", r"masterauth [\"']?(?P<s>[^\s\"']{4,128})"),
        ("AUTH ", r"AUTH (?:\S{1,64} )?[\"']?(?P<s>[^\s\"']{8,128})(?=[\"'\s]|\Z)"),
        ("PASS ", r"PASS (?P<s>[^\s:]{4,128})(?=\s|\Z)"),
        ("IDENTIFY ", r"IDENTIFY (?:\S{1,32} )?(?P<s>[^\s]{6,128})"),
        ("add-authtoken", r"add-authtoken (?P<s>\S{16,128})"),
        ("IDENTIFIED BY", r"IDENTIFIED BY (?!(?:PASSWORD|VALUES|EXTERNALLY)\b)(?P<s>[^\s;,'\"]{4,128})"),
        ("ssh-keygen", rf"ssh-keygen{_NOT_LINE}-[NP] {_V}"),
        ("openssl passwd", r"openssl passwd (?:-\w+ ){0,4}(?P<s>[^\s-]\S{3,128})"),
        ("reg add", r"reg add [^\n]{1,160}/v \w{0,24}(?i:password|pwd|secret)\w{0,8} [^\n]{0,40}?/d [\"']?(?P<s>[^\s\"']{4,128})"),
        ("SecureString", r"SecureString[^\n]{0,80}? --value [\"']?(?P<s>[^\s\"']{4,256})"),
        ("rclone obscure", r"rclone obscure (?P<s>\S{4,128})"),
        ("hostednetwork", r"hostednetwork [^\n]{0,80}?\bkey=[\"']?(?P<s>[^\s\"']{8,64})"),
        ("secrets set", r"secrets set [^\n]{0,80}?\w=[\"']?(?P<s>[^\s\"']{8,256})"),
        ("config:set", r"config:set [^\n]{0,80}?\w=[\"']?(?P<s>[^\s\"']{16,256})"),
        ("--from-literal", r"--from-literal[= ][\"']?[\w.-]{1,64}=(?P<s>[^\s\"']{4,256})"),
        ("vault login", r"vault login (?:-\S+ )*(?P<s>[^\s=-][^\s=]{15,128})(?!\S)"),
        ("service install", r"service install (?P<s>\S{32,512})"),
        *((program, rf"{program}{_NOT_LINE}-{flag} {_V}") for program in ("snmpwalk", "snmpget", "snmpset", "snmpbulkwalk", "snmptrap") for flag in "AX"),
        ("isql", r"isql \S{1,64} \S{1,64} (?P<s>[^\s-]\S{3,64})"),
        *((program, rf"{program} (?:-\S+ )?[\"']?[\w.$#]{{1,64}}/[\"']?(?P<s>(?<=\")[^\"\n]{{4,64}}(?=\")|[^\s/@\"']{{4,64}})[\"']?(?=@|\s|\Z)") for program in ("sqlplus", "impdp", "expdp", "sqlldr", "rman", "sqlcl")),
        *((program, rf"{program}{_NOT_LINE}-p ?{_V}") for program in "twine cqlsh hydra medusa netexec nxc crackmapexec evil-winrm rdesktop ncrack vncdo smbmap bloodhound-python mongoimport mongoexport mongorestore influx arangosh couchbase-cli rabbitmqadmin ipmitool mongofiles mongostat cbc cadaver ncftp ncftpput zabbix_get clickhouse-client duplicity veracrypt useradd usermod".split()),
        *((program, rf"{program}{_NOT_LINE}-P ?{_V}") for program in "mosquitto_rr mosquitto_passwd pdftk kcat".split()),
        *((program, rf"{program}[^\n]{{0,120}}?<<< ?[\"']?(?P<s>[^\s\"']{{4,128}})") for program in "vncpasswd kinit passwd sudo su cryptsetup ssh-add gpg smbpasswd docker podman".split()),
        ("expect", r"expect[^\n]{0,160}?send(?:line)? \\?[\"'](?P<s>[^\"'\\\s]{4,128})\\[rn]"),
        ("thin:", r"thin:[\w.$#]{1,64}/(?P<s>[^\s/@\"']{4,64})@"),
        # words that follow others: a user and a password, a key and its value
        ("mc alias", rf"mc alias set \S+ \S+ \S+ {_V}"),
        ("mc config host", rf"mc config host add \S+ \S+ \S+ {_V}"),
        ("addauth digest", rf"addauth digest [^\s:]{{1,64}}:{_V}"),
        ("signtool", rf"signtool{_NOT_LINE}/p {_V}"),
        ("certutil", rf"certutil{_NOT_LINE}-p {_V}"),
        ("pkcs12", rf"pkcs12{_NOT_LINE}-(?:passin|passout|password) pass:{_V}"),
        ("xfreerdp", rf"xfreerdp[^\n]{{0,200}}? /p:{_V}"),
        ("wfreerdp", rf"wfreerdp[^\n]{{0,200}}? /p:{_V}"),
        ("slmgr", r"slmgr(?:\.vbs)? [/-]ipk (?P<s>[A-Z0-9-]{20,40})"),
        ("rabbitmqctl", rf"rabbitmqctl{_NOT_LINE}(?:add_user|change_password|authenticate_user) \S{{1,64}} {_V}"),
        ("ftp_login(", rf"ftp_login\([^,\n]{{1,80}},[^,\n]{{1,80}}, ?{_V}"),
        ("ACL SETUSER", r"ACL SETUSER \S{1,64} [^\n]{0,200}?(?<=\s)[>#](?P<s>[^\s>]{4,128})"),
        ("createUser", rf"createUser \S{{1,64}} (?:MD5|SHA\S{{0,4}}) {_V}"),
        ("createUser", rf"createUser \S{{1,64}} (?:MD5|SHA\S{{0,4}}) \S{{4,80}} (?:DES|AES\S{{0,4}}) {_V}"),
        *((word, rf"{word} {_V}") for word in ("rocommunity", "rwcommunity", "rocommunity6", "rwcommunity6", "trapcommunity")),
        ("com2sec", rf"com2sec \S{{1,64}} \S{{1,64}} {_V}"),
        ("MONITOR ", r"MONITOR \S{1,80} \d+ \S{1,64} (?P<s>[^\s\"']{4,128}) (?:primary|secondary|master|slave)"),
        ("insecure-password", rf"insecure-password {_V}"),
        ("plaintext \"", rf"plaintext {_V}"),
        ("message-digest-key", rf"message-digest-key \d+ md5 (?:\d )?{_V}"),
        ("psk ascii", rf"psk ascii {_V}"),
        ("nickserv ", rf"nickserv (?:identify )?{_V}"),
        ("clear ", rf"(?<== )clear {_V}"),
        ("rootpw ", rf"rootpw (?:--plaintext |--iscrypted )?{_V}"),
        ("--passphrase", rf"--passphrase[= ]{_V}"),
        ("--wallet-password", rf"--wallet-password[= ]{_V}"),
        ("secret set", r"secret set [^\n]{0,80}?(?:-b|--body) ?[\"']?(?P<s>[^\s\"']{4,256})"),
    )
)  # fmt: skip
_PIPED: Final = re.compile(
    r"(?:echo|printf)\s+(?:-n\s+|-e\s+|'%s(?:\\n)?'\s+)?[\"']?(?:[\w.-]{1,64}:)?(?P<s>[^\s\"'|:$][^\s\"'|]{3,200})[\"']?\s*\|\s*[\w ./-]{0,80}\Z"
)
_USAGE: Final = re.compile(r"\[\w+\]\Z")
_IN_PROSE: Final = frozenset(("AUTH ", "PASS ", "IDENTIFY ", "nickserv ", "requirepass", "masterauth", "rootpw "))
"""Words that stand in sentences and in logs, too."""
_DIRECTIVES: Final = frozenset(("requirepass", "masterauth", "rootpw "))
"""Of these, those that begin a line of a configuration."""
_ANYTHING: Final = frozenset(
    {
        "IDENTIFIED BY",
        "identified by",
        "IDENTIFIED WITH",
        "identified with",
        "net use",
        "SET PASSWORD",
        "PASSWORD(",
        "curl",
        "mysql",
    }
)


_BY_ANCHOR: Final[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}
for _word, _anchor, _shape in _COMMANDS:
    _BY_ANCHOR.setdefault(_anchor, []).append((_word, _shape))
ANCHORS: Final = tuple(_BY_ANCHOR)


def command_spans(page: Page) -> Iterator[Span]:
    for anchor in page.held & _BY_ANCHOR.keys():
        for word, shape in _BY_ANCHOR[anchor]:
            if not any(page.is_word(at, at + len(word)) for at in page.occurrences(anchor)):
                continue
            for match in matches(page, anchor, shape):
                if shape.groups:
                    yield from _given(anchor, match)
                else:
                    yield from _piped(page.text, match.start())


def _piped(text: str, at: int) -> Iterator[Span]:
    """`echo secret | sudo -S …`"""
    if (piped := _PIPED.search(text, max(0, at - 300), at)) and not is_placeholder(piped["s"]):
        yield Span(piped.start("s"), piped.end("s"), "command_password")


def _given(anchor: str, match: re.Match[str]) -> Iterator[Span]:
    value = match["s"]
    is_line = anchor in _DIRECTIVES and match.string[max(0, match.start() - 1) : match.start()] in ("", "\n")
    if (is_line and is_chosen(value, is_quoted=True)) or _is_password(anchor, value):
        yield Span(match.start("s"), match.end("s"), "command_password")


def _is_password(anchor: str, value: str) -> bool:
    if anchor in _ANYTHING:
        return not is_placeholder(value)
    if is_plausible(value, is_quoted=True):
        return not _USAGE.match(value)
    is_odd = anchor not in _IN_PROSE or is_no_identifier(value.rstrip(",;"))
    return is_odd and is_chosen(value, is_quoted=True)
