"""Secrets by the words around them: commands' own flags, tables, codes in a message, keys that somebody points at."""

import re
from collections.abc import Generator, Iterator
from typing import Final

from server.hooks.policy.redaction.key_names import strength_of
from server.hooks.policy.redaction.plausible import is_placeholder, is_plausible, is_random
from server.hooks.policy.redaction.spans import Page, Span, matches, occurrences

_V: Final = r"[\"']?(?P<s>[^\s\"'|;&]{4,256})"
_NOT_LINE: Final = r"[^\n|;&]{0,200}?\s"

# (the word that must be there, what follows from it on); manuals of the programs
_COMMANDS: Final = tuple(
    (anchor.split("(")[0].split()[0], anchor, re.compile(shape))
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
        ("ldapsearch", rf"ldapsearch{_NOT_LINE}-w {_V}"),
        ("ldapmodify", rf"ldapmodify{_NOT_LINE}-w {_V}"),
        ("ldapadd", rf"ldapadd{_NOT_LINE}-w {_V}"),
        ("mosquitto_pub", rf"mosquitto_pub{_NOT_LINE}-P {_V}"),
        ("mosquitto_sub", rf"mosquitto_sub{_NOT_LINE}-P {_V}"),
        ("ipmitool", rf"ipmitool{_NOT_LINE}-P {_V}"),
        ("lftp", rf"lftp{_NOT_LINE}-u ?[^\s,]{{1,64}},(?P<s>[^\s\"']{{4,128}})"),
        ("xfreerdp", r"xfreerdp[^\n]{0,200}? /p:(?P<s>\S{4,128})"),
        ("wget", rf"wget{_NOT_LINE}--(?:http-|ftp-)?password[= ]{_V}"),
        ("7z", r"7z[a]? [^\n|;]{0,160}? ?-p(?P<s>[^\s-]\S{3,128})"),
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
        ("passwd --stdin", r"passwd --stdin"),
        ("--password-stdin", r"--password-stdin"),
        ("IDENTIFIED BY", r"IDENTIFIED (?:WITH \S{1,40} )?(?:BY|AS) (?:PASSWORD )?[\"'](?P<s>[^\"']{4,128})"),
        ("identified by", r"identified (?:with \S{1,40} )?(?:by|as) (?:password )?[\"'](?P<s>[^\"']{4,128})"),
        ("SET PASSWORD", r"SET PASSWORD[^\n=]{0,80}= ?(?:PASSWORD\()?[\"'](?P<s>[^\"']{4,128})"),
        ("PASSWORD(", r"PASSWORD\([\"'](?P<s>[^\"']{4,128})"),
        ("requirepass", r"requirepass [\"']?(?P<s>[^\s\"']{4,128})"),
        ("masterauth", r"masterauth [\"']?(?P<s>[^\s\"']{4,128})"),
        ("AUTH ", r"AUTH (?:\S{1,64} )?[\"']?(?P<s>[^\s\"']{8,128})(?=[\"'\s]|\Z)"),
        ("PASS ", r"PASS (?P<s>[^\s:]{4,128})(?=\s|\Z)"),
        ("IDENTIFY ", r"IDENTIFY (?:\S{1,32} )?(?P<s>[^\s]{6,128})"),
        ("add-authtoken", r"add-authtoken (?P<s>\S{16,128})"),
        ("secret set", r"secret set [^\n]{0,80}?(?:-b|--body) ?[\"']?(?P<s>[^\s\"']{4,256})"),
    )
)  # fmt: skip
_PIPED: Final = re.compile(
    r"(?:echo|printf)\s+(?:-n\s+|-e\s+|'%s(?:\\n)?'\s+)?[\"']?(?:[\w.-]{1,64}:)?(?P<s>[^\s\"'|:$][^\s\"'|]{3,200})[\"']?\s*\|\s*[\w ./-]{0,80}\Z"
)
_PIPES: Final = frozenset({"sudo -S", "chpasswd", "passwd --stdin", "--password-stdin"})
_ANYTHING: Final = frozenset(
    {"IDENTIFIED BY", "identified by", "net use", "SET PASSWORD", "PASSWORD(", "curl", "mysql"}
)


def command_spans(page: Page) -> Iterator[Span]:
    text = page.text
    for word, anchor, shape in _COMMANDS:
        if word not in page.words:
            continue
        for match in matches(text, anchor, shape):
            if anchor in _PIPES:
                at = match.start()
                if (piped := _PIPED.search(text, max(0, at - 300), at)) and not is_placeholder(piped["s"]):
                    yield Span(piped.start("s"), piped.end("s"), "command_password")
                continue
            value = match["s"]
            if not is_placeholder(value) if anchor in _ANYTHING else is_plausible(value, is_quoted=True):
                yield Span(match.start("s"), match.end("s"), "command_password")


_COOKIE_HEADER: Final = re.compile(r"cookie[\"']?\s*[:=\u2192]>?\s*[\"']?(?P<s>[^\r\n]{8,4096})", re.IGNORECASE)
_COOKIE_FLAG: Final = re.compile(r"(?:-b|--cookie) [\"'](?P<s>[^\"'\n]{8,4096})")
_COOKIE: Final = re.compile(r"(?P<n>[\w.%\-]{1,64})=(?P<v>[^;\s\"',]{12,2048})")
_NO_SESSION: Final = re.compile(
    r"_?(?:ga|gid|gat|fbp|fbc|gcl|utm|hj|ajs|mp|amplitude|optimizely|_utm|consent|locale|lang|theme|ab|tz|path|domain|expires)",
    re.IGNORECASE,
)


def cookie_spans(page: Page) -> Iterator[Span]:
    for anchor, shape in (("cookie", _COOKIE_HEADER), ("-b ", _COOKIE_FLAG)):
        done = 0
        for at in occurrences(page.lower, anchor):
            if at < done or (header := shape.match(page.text, at)) is None:
                continue
            done = header.end()
            for cookie in _COOKIE.finditer(page.text, header.start("s"), header.end("s")):
                value = cookie["v"]
                if not _NO_SESSION.match(cookie["n"]) and is_random(value, at_least=16) and not value.startswith("GA1"):
                    yield Span(cookie.start("v"), cookie.end("v"), "cookie")


# --- codes for one login

_CODE_WORDS: Final = tuple(
    "one-time code kode codigo código codice код otp pin tan 验证码 驗證碼 認証コード 確認コード 인증번호 인증코드".split()
)
_FOUR_DIGITS: Final = re.compile(r"\d{4}|\d{3}[ -]\d{3}")
_CODE_NEAR: Final = re.compile(
    r"(?P<b>(?:door|gate|alarm|lock|safe|entry|garage|voicemail|tür|haus|tor|tresor|verification|security|log-?in|sign-?in|one[- ]time|confirmation|authenti\w+|2fa|access|pairing|sms|"
    r"bestätigungs|verifizierungs|sicherheits|anmelde|einmal|vérification|verificación|verifica|verificação|проверки|подтверждения|"
    r"(?:your|ihr|dein|votre|tu|su|seu|vaš|ваш)(?: \w{2,16})?)[- ]?(?:code|kode|codigo|código|codice|код|passcode|password|passwort|pin|tan|otp)"
    r"|otp|验证码|驗證碼|認証コード|確認コード|인증번호)"
    r"[^\d\n]{0,24}(?P<s>\d{3}[ -]\d{3}|\d{4,8})(?![\w.:/-])",
    re.IGNORECASE,
)
_CODE_BEFORE: Final = re.compile(
    r"(?<![\w.:/#+-])(?:[A-Z]-)?(?P<s>\d{3}[ -]\d{3}|\d{4,8})(?=[^\d\n]{1,40}?(?:verification|security|log-?in|one[- ]time|"
    r"confirmation|authenti\w+|bestätigungs|sicherheits|验证|驗證|認証|인증)\w*[- ]?(?:code|pin|码|碼|コード|번호))",
    re.IGNORECASE,
)
_CODE_YOURS: Final = re.compile(
    r"(?<![\w.:/#+-])(?P<s>\d{3}[ -]\d{3}|\d{4,8})(?=\s(?:is|ist|est|es|é|è)\s(?:your|the|ihr|dein|votre|ton|tu|su|il tuo|seu)\b[^\n]{0,24}(?:code|pin|otp|kode|código|codice))",
    re.IGNORECASE,
)
_CODE_TO: Final = re.compile(
    r"(?:code|pin|otp)\s(?P<s>\d{3}[ -]\d{3}|\d{4,8})(?=\s(?:to|for)\s(?:log|sign|verif|confirm|complete|authoriz|access|your))",
    re.IGNORECASE,
)
_RECOVERY: Final = re.compile(
    r"(?:recovery|backup|one[- ]time|einmal|rescue|emergency|scratch|wiederherstellungs|notfall|ersatz|secours|recuperación|recuperação|恢复|備用|备用|回復|リカバリー)"
    r"[-_ ]?(?:codes?|keys?|schlüssel|códigos|码|代码|コード)(?:[^\n:：]{0,80}[:：\n]|\s)",
    re.IGNORECASE,
)
_RECOVERY_WORDS: Final = (
    "one-time",
    "einmal",
    "recovery",
    "backup",
    "rescue",
    "emergency",
    "scratch",
    "wiederherst",
    "notfall",
    "ersatz",
    "secours",
    "recupera",
    "恢复",
    "備用",
    "备用",
    "回復",
    "リカバリー",
)
_SHORT_CODE_WORDS: Final = frozenset(("kode", "codigo", "otp", "pin", "tan"))
_RECOVERY_FIRST: Final = frozenset(
    f"{word}{end}"
    for word in "one-time einmal recovery backup rescue emergency scratch wiederherstellungs notfall ersatz secours".split()
    for end in ("", "-code", "-codes", "_code", "_codes", "code", "codes", "-key", "_key", "-keys", "_keys")
)
_RECOVERY_ITEM: Final = re.compile(
    r"[A-Za-z0-9]{3,12}(?:-[A-Za-z0-9]{3,12}){1,7}\Z|(?=[A-Za-z]*\d)[A-Za-z0-9]{5,16}\Z|\d{4}\Z"
)
_BULLET: Final = re.compile(r"(?:[-*•#|]|\d{1,2}[.)]?|)\Z")
_TOKEN: Final = re.compile(r"[^\s,;]+")
_SEED: Final = re.compile(
    r"(?:seed|mnemonic|phrase|wallet|words?|wörter)[\"']?[^\n:=]{0,60}?(?:[:=]|\bis\b)[ \t\r\n\"'\[]{0,8}"
    r"(?P<s>(?:\d{1,2}[.):]\s?)?[a-z]{3,8}(?:[ ,\"'\r\n\t]{1,4}(?:\d{1,2}[.):]\s?)?[a-z]{3,8}){11,23})(?![a-z])",
    re.IGNORECASE,
)
_SEED_WORDS: Final = ("seed", "mnemonic", "phrase", "wallet", "words:", "wörter:")


def code_spans(page: Page) -> Iterator[Span]:
    text = page.text
    has_code = _FOUR_DIGITS.search(text) is not None
    for word in _CODE_WORDS if has_code else ():
        if word in _SHORT_CODE_WORDS and word not in page.low_words:
            continue
        for at in occurrences(page.lower, word):
            start, end = max(0, at - 64), at + len(word) + 40
            if not _FOUR_DIGITS.search(text, start, end):
                continue
            for shape in (_CODE_NEAR, _CODE_BEFORE, _CODE_YOURS, _CODE_TO):
                for match in shape.finditer(text, start, end):
                    if not text[match.end("s") : match.end("s") + 1].isdigit():
                        yield Span(match.start("s"), match.end("s"), "one_time_code")
    yield from _recovery_codes(page)
    for word in (
        _SEED_WORDS
        if any(part in page.lower for part in ("seed", "mnemonic", "phrase", "wallet", "words:", "wörter:"))
        else ()
    ):
        for at in occurrences(page.lower, word):
            if phrase := _SEED.match(text, at):
                yield Span(phrase.start("s"), phrase.end("s"), "seed_phrase")


def _recovery_codes(page: Page) -> Iterator[Span]:
    if page.text.isascii() and not page.low_words & _RECOVERY_FIRST:
        return
    for word in _RECOVERY_WORDS:
        done = 0
        for at in occurrences(page.lower, word):
            if at < done or (heading := _RECOVERY.match(page.text, at)) is None:
                continue
            items: list[Span] = []
            for token in _TOKEN.finditer(page.text, heading.end(), heading.end() + 800):
                value = token[0].strip("\"'`.[]")
                if _RECOVERY_ITEM.match(value):
                    begin = token.start() + token[0].index(value)
                    items.append(Span(begin, begin + len(value), "recovery_code"))
                elif not _BULLET.match(value):
                    break
            done = items[-1].end if items else heading.end()
            with_digits = sum(any(c.isdigit() for c in page.text[item.start : item.end]) for item in items)
            if len(items) >= 2 and with_digits * 2 >= len(items):
                yield from items


# --- a generated key that the words beside it call one

_LONG_WORDS: Final = (
    "key",
    "token",
    "secret",
    "password",
    "credential",
    "passwor",
    "schlüssel",
    "api:",
    "密钥",
    "令牌",
    "clé",
    "clave",
)
_PUBLIC: Final = (
    "public key",
    "ssh-",
    "aaaa",
    "page_token",
    "pagetoken",
    "next",
    "cursor",
    "sha",
    "nonce",
    "tracking",
    "request",
    "etag",
    "verification=",
    "kid",
    "key id",
    "key_id",
    "token id",
    "fingerprint",
    "integrity",
    "public_key",
    "publickey",
    "cid=",
    "price_",
    "p=mi",
)


_LONG_ENOUGH: Final = range(28, 129)
_IN_A_PATH: Final = frozenset("/+=@%#?&\\")


def pointed_spans(page: Page) -> Iterator[Span]:
    text = page.text
    for at, run in page.runs:
        value = run.rstrip(".~$-")
        if len(value) not in _LONG_ENOUGH or not _is_generated(value):
            continue
        end = at + len(value)
        if text[max(0, at - 1) : at] in _IN_A_PATH or text[end : end + 1] in _IN_A_PATH:
            continue
        first = max(page.text.rfind("\n", 0, at) + 1, at - 60)
        last = text.find("\n", end, end + 60)
        near = f"{page.lower[first:at]} {page.lower[end : last if last >= 0 else end + 60]}"
        if any(word in near for word in _LONG_WORDS) and not any(word in near for word in _PUBLIC):
            yield Span(at, end, "named")


def _is_generated(value: str) -> bool:
    return (
        any(c.isdigit() for c in value)
        and not value.islower()
        and not value.isupper()
        and "." not in value
        and is_random(value, at_least=28)
    )


_MAIL_AND: Final = re.compile(
    r"@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}(?:\s{1,3}/\s{1,3}|:(?!//)|\s\|\s)(?P<s>[^\s,;|<>\"'/]{6,64})(?=[\s,;|\"']|\Z)"
)


_USER_AND: Final = re.compile(r" / (?P<s>[^\s,;|<>\"'/]{6,64})(?=[\s,;|\"']|\Z)")
_USER: Final = re.compile(
    r"(?:^|[\s:=])(?:admin|root|user|guest|administrator|login|benutzer|deploy|service)\w{0,8}\Z", re.IGNORECASE
)


def pair_spans(page: Page) -> Iterator[Span]:
    """`anna@example.org / secret` and `admin / secret`, as people send logins to each other."""
    for match in matches(page.text, " / ", _USER_AND):
        head = page.text[max(0, match.start() - 24) : match.start()]
        if _USER.search(head) and is_plausible(match["s"], is_quoted=False) and any(c.isdigit() for c in match["s"]):
            yield Span(match.start("s"), match.end("s"), "login")
    for match in matches(page.text, "@", _MAIL_AND):
        value = match["s"]
        if is_plausible(value, is_quoted=False) and any(c.isdigit() for c in value) and any(c.isalpha() for c in value):
            yield Span(match.start("s"), match.end("s"), "login")


# --- tables with a column of secrets

_CELL: Final = re.compile(r"[\w .\-/]{0,40}")


_MOST_ROWS: Final = 5000
_LONGEST_HEADER: Final = 400
_COLUMN_WORDS: Final = (
    "passw",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "pin",
    "kennwort",
    "senha",
    "contrase",
    "密码",
    "密碼",
    "パスワード",
)


def table_spans(page: Page) -> Iterator[Span]:
    text = page.text
    done = 0
    for word in _COLUMN_WORDS:
        for at in occurrences(page.lower, word):
            start = text.rfind("\n", 0, at) + 1
            end = text.find("\n", at)
            if start < done or end < 0 or end - start > _LONGEST_HEADER:
                continue
            if (header := _header(text[start:end])) is not None:
                done = yield from _rows(text, end + 1, header)


def _rows(text: str, at: int, header: tuple[str, list[int], int]) -> Generator[Span, None, int]:
    """The lines below a header, as long as they have as many cells; gives where they end."""
    sign, columns, count = header
    for _ in range(_MOST_ROWS):
        end = text.find("\n", at)
        line = text[at : end if end >= 0 else len(text)]
        if line.count(sign) + 1 == count and line.strip():
            yield from _cells(line.split(sign), columns, at)
        elif not line or not set(line.strip()) <= set("|-+: ="):
            break
        if end < 0:
            break
        at = end + 1
    return at


def _header(line: str) -> tuple[str, list[int], int] | None:
    if "(" in line or "=" in line:
        return None  # code
    for sign in ("|", "\t", ",", ";"):
        if sign not in line:
            continue
        cells = line.split(sign)
        if len(cells) < 2 or not all(_CELL.fullmatch(cell.strip().strip("\"'")) for cell in cells):
            continue
        columns = [
            i
            for i, cell in enumerate(cells)
            if strength_of(cell.strip().strip("\"'")) in ("password", "strong", "code")
        ]
        if columns:
            return sign, columns, len(cells)
    return None


def _cells(cells: list[str], columns: list[int], at: int) -> Iterator[Span]:
    starts = [at]
    for cell in cells:
        starts.append(starts[-1] + len(cell) + 1)
    for column in columns:
        cell = cells[column]
        value = cell.strip().strip("\"'")
        if is_plausible(value, is_quoted=False) or (value.isdigit() and 4 <= len(value) <= 8):
            start = starts[column] + cell.index(value)
            yield Span(start, start + len(value), "table")
