"""`name = value` in all the ways that texts write it: INI, .env, YAML, JSON, code, headers, flags, prose, tables.

The parts of names that promise a secret are searched for, which is fast; what
stands around a hit is read by patterns that look at a bounded stretch only.
"""

import re
from collections.abc import Iterator
from typing import Final

from server.hooks.policy.redaction.key_names import STRONG, Strength, strength_of
from server.hooks.policy.redaction.plausible import is_placeholder, is_plausible, is_random, is_word
from server.hooks.policy.redaction.spans import Page, Span, occurrences

_STEMS: Final = tuple(
    (stem, stem.isascii())
    for stem in (
    "pass pwd pw psk secret token key cred auth cookie sess sid jwt pin puk cvv cvc otp tan code mnemonic seed magic "
    "signature license kennwort parol contrase senha wachtwoord haslo hasło sifre şifre losen lösen adgangskode sala "
    "jelsz lozink sandi mdp khẩu пароль парол токен κωδικός סיסמה סיסמא المرور 密码 密碼 口令 令牌 密钥 密鑰 秘钥 パスワード "
    "合言葉 暗証番号 비밀번호 암호 토큰 รหัสผ่าน 验证码 schlüssel schluessel clave clé chave remember webhook heslo "
    "geheimnis zugangs salt community"
    ).split()
)  # fmt: skip
_LONGEST_NAME: Final = 64
_BACKWARDS: Final = re.compile(r"[\w.\-]*")
_SECOND_WORD: Final = re.compile(r" (?:(?:word|code|phrase|hash)(?![\w])|key(?=[:= ]))", re.IGNORECASE)
_AFTER: Final = re.compile(r"[\w\-]{0,48}+(?:\.[\w\-]{1,32}+)*+")
_FIRST_WORDS: Final = frozenset(
    "wpa wpa2 wifi wlan network pin api access secret private auth master encryption signing recovery seed pass de clé clave chave mật kata kod enable "
    "refresh id bot session webhook client deploy security verification license pairing".split()
)

_CLOSE: Final = r"(?:\\{0,3}[\"'`\]]){0,3}\*{0,2}"
_SEPARATOR: Final = re.compile(
    rf"""{_CLOSE}[ \t\u3000]*(?:
      (?P<assign>:=|=>|->|={{1,3}}|[:：＝]|%3D|%3A|\u2192)
    | (?P<is>\s(?:is|are|was|ist|lautet|sind|est|es|é|è|to|是|为|為|は|est\s:)[ :：]|是|为|は)
    | (?P<argument>,[ ]?(?=[\"'`])|,\ do:\s*|\)?,\s*|\((?=[\"']))
    | (?P<element>(?<=[\"'`])\s+(?=[\"'`])|>)
    | (?P<space>[ \t])
    | (?P<line>[ \t]*\r?\n[ \t]*(?:-[ ]+|>[ ]+)?)
    )[ \t\u3000]*(?:\\[nrt])*""",
    re.VERBOSE | re.IGNORECASE,
)
_LIST_FOLLOWS: Final = re.compile(r"\[?\s*(?:\r?\n[ \t]*-[ ]+|(?=[\"']))")
_LIST_ITEM: Final = re.compile(r"[ \t]*\r?\n[ \t]*-[ ]+|\s*,\s*(?=[\"'])")
_WRAPPED: Final = re.compile(
    r"\{[^{}]{0,160}?\\{0,3}[\"']?(?:value|default|plaintext|plain)\\{0,3}[\"']?\s*[:=]\s*(?=\\{0,3}[\"'])",
    re.IGNORECASE,
)
_VALUE_KEY: Final = re.compile(
    r"\\{0,3}[\"'],?\s{0,40}(?:<[/\w]+>\s*)*[\{<,]?\s*\\{0,3}[\"']?(?:value|string)\\{0,3}[\"']?\s*[:=>]\s*|\s*\n\s*value: *",
    re.IGNORECASE,
)
_PREFIXES: Final = re.compile(
    r"(?:String|str|bytes|SecretStr|Some|Secret)\(\s*(?=[\"'])|(?:base64:|hex:|0x)(?=[\"'A-Za-z0-9+/])|[ubrf$@](?=[\"'])|(?:\w{1,24}: ?)?(?:&(?:'static )?str|String|str|string|char \*)\s*=\s*|Bearer |Basic |Token |token ",
    re.IGNORECASE,
)
_TYPE: Final = re.compile(r"[\w.\[\]<>| ]{1,40}\s=\s?(?=[\"'])")
_QUOTED: Final = re.compile(
    r"\\{0,3}([\"'`\u201c\u201e\u2018\u00ab])(?P<v>(?:(?!\\{0,3}\1)[^\r\n\u201d]){0,2048})\\{0,3}[\"'`\u201d\u201c\u2019\u00bb]"
)
_BARE: Final = re.compile(r"[^\s\"'`,;<>{}|\\&\u3002\uff0c\uff1b)]{1,1024}+(?:[,;&|{}<>\\)][^\s\"'`<>]{0,256})?")
_URL_BARE: Final = re.compile(r"(?:(?!%26)[^\s\"'`,;<>&#)]){1,1024}")
_FIRST_WITHOUT_SPACES: Final = "\u2e80"  # Chinese and Japanese write on without a space
_NEVER_STRONG: Final = frozenset("auth cookie sess sid jwt magic signature license remember webhook salt".split())
_SPACES: Final = frozenset(" \t\r\n,")
_ASSIGNS: Final = frozenset("=:")
_NO_VALUE_AFTER: Final = frozenset("./[?!;#+*")
_INDENTED: Final = re.compile(r"\r?\n[ \t]+\S+[ \t]*(?:\r?\n|\Z)")
_TWO_ON_A_LINE: Final = re.compile(r"[ \t]*[\w.-]{2,40}[ \t]+(?=\S*[\d!#$%&*+?@^~])\S{6,80}[ \t]*(?:\r?\n|\Z)")
_ENDS_ELEMENT: Final = re.compile(r"[^<\n]{1,2048}</")
_TO_THE_END: Final = re.compile(r"[^\r\n\"']{1,120}")
_DIGITS: Final = re.compile(r"[\"']?(?P<v>\d{3,8}|\d{3}[- ]\d{3})(?![\w.:])")
_GETENV: Final = re.compile(r"(?:getenv|environ\.get|ENV\.fetch|env|get|getOrElse|getProperty)\(\s*[\"'][\w.]*\Z")


def named_spans(page: Page) -> Iterator[Span]:
    text, lower = page.text, page.lower
    is_ascii = text.isascii()
    ends: set[int] = set()
    for stem, stem_is_ascii in _STEMS:
        if (is_ascii and not stem_is_ascii) or (stem_is_ascii and stem not in page.low_index):
            continue
        done = 0  # names inside a value that was taken out need no look
        for at in occurrences(lower, stem):
            if at < done:
                continue
            end = at + len(stem)
            if stem_is_ascii or stem[0] < _FIRST_WITHOUT_SPACES:
                end = _AFTER.match(text, end).end()  # type: ignore[union-attr]  # it fits the empty text
            following = text[end : end + 1]
            if end in ends or following in _NO_VALUE_AFTER:
                continue
            if stem in _NEVER_STRONG and following in _SPACES and text[end : end + 8].lstrip()[:1] not in _ASSIGNS:
                continue
            ends.add(end)
            start, end = _whole_name(text, at, end)
            name = text[start:end].strip(" .-")
            if len(name) > _LONGEST_NAME or "---" in text[start:end]:  # -----BEGIN PUBLIC KEY-----
                continue
            if (strength := strength_of(name)) is not None:
                for span in _values(text, start, end, strength):
                    done = span.end
                    yield span


def _whole_name(text: str, at: int, end: int) -> tuple[int, int]:
    """The name that holds the part found, also where it is written as two words."""
    before = _BACKWARDS.match(text[max(0, at - _LONGEST_NAME) : at][::-1])
    start = at - (before.end() if before else 0)
    if start and text[start - 1] == "\\" and text[start] in "nrt" and at > start:
        start += 1  # an escaped line break before the name
    if start > 1 and text[start - 1] in " -":
        first = text[max(0, start - 16) : start - 1]
        first = first[max(first.rfind(" "), first.rfind("\n"), first.rfind('"')) + 1 :]
        if first.lower() in _FIRST_WORDS:
            start -= len(first) + 1
    if text[end : end + 1] == " " and (second := _SECOND_WORD.match(text, end)):
        end = second.end()
    return start, end


def _values(text: str, name_start: int, name_end: int, strength: Strength) -> Iterator[Span]:
    separator = _SEPARATOR.match(text, name_end)
    if separator is None:
        return
    how = separator.lastgroup or ""
    at = separator.end()
    if how == "argument" and separator["argument"].startswith(")"):
        return
    if (separator["element"] == ">" and text[name_end] != ">") or (
        separator["element"] == ">" and not _ENDS_ELEMENT.match(text, at)
    ):
        return  # no element's content
    if text[max(0, name_start - 1) : name_start] == ":" and "arn:" in text[max(0, name_start - 80) : name_start]:
        return
    whole = (
        how in ("line", "space") and text[name_start - 1 : name_start] in ("", "\n", "\t", " ") and strength in STRONG
    )
    stands_alone = whole and (
        _INDENTED.match(text, name_end)
        if how == "line"
        else _TWO_ON_A_LINE.match(text, text.rfind("\n", 0, name_start) + 1)
    )
    is_hash = text[name_start:name_end].lower().endswith("hash")
    if strength == "weak" and how in ("space", "line") and text[name_start : name_start + 1] != "-" and not is_hash:
        return
    is_flag = (
        is_hash
        or bool(stands_alone)
        or text[max(0, name_start - 2) : name_start] == "--"
        or text[name_start : name_start + 1] == "-"
    )
    if strength == "code":
        digits = _DIGITS.match(text, at) if how in ("assign", "is", "space", "line") else None
        if digits is not None and (len(digits["v"]) >= 4 or text[name_start:name_end].lower()[:2] == "cv"):
            yield Span(digits.start("v"), digits.end("v"), "code")
            return
        if how not in ("assign", "is"):
            return
        strength = "weak"
    if how == "assign":
        if wrapped := _WRAPPED.match(text, at):
            at = wrapped.end()
        if listing := _LIST_FOLLOWS.match(text, at):
            yield from _list(text, listing.end(), strength)
            if "\n" in listing[0]:
                return
            if text[at : at + 1] == "[":
                return
    if prefix := _PREFIXES.match(text, at):
        at = prefix.end()
    elif how == "assign" and separator["assign"] == ":" and (typed := _TYPE.match(text, at)):
        at = typed.end()
    elif how == "assign" and text[max(0, name_start - 1) : name_start] in "\"'" and (row := _VALUE_KEY.match(text, at)):
        at = row.end()
    yield from _one(text, at, strength, how, is_flag=is_flag)
    if how == "argument":
        return
    if row := _VALUE_KEY.match(text, name_end):  # {"name": "DB_PASSWORD", "value": …}
        yield from _one(text, row.end(), strength, "assign", is_flag=False)


def _list(text: str, at: int, strength: Strength) -> Iterator[Span]:
    for _ in range(64):
        span = next(_one(text, at, strength, "assign", is_flag=False), None)
        if span is not None:
            yield span
            at = span.end
        end = _QUOTED.match(text, at) or _BARE.match(text, at)
        if span is None:
            if end is None:
                return
            at = end.end()
        elif text[at : at + 1] in "\"'`":
            at += 1
        following = _LIST_ITEM.match(text, at)
        if following is None:
            return
        at = following.end()


def _one(text: str, at: int, strength: Strength, how: str, *, is_flag: bool) -> Iterator[Span]:
    """The value that begins at `at`, if it is secret."""
    if quoted := _QUOTED.match(text, at):
        value, start = quoted["v"], quoted.start("v")
        if value.startswith(("base64:", "Bearer ", "Basic ", "Token ", "token ")):
            cut = value.index(":" if value.startswith("base64:") else " ") + 1
            value, start = value[cut:], start + cut
        if _is_secret(value, strength, how, is_quoted=True):
            yield Span(start, start + len(value), "named")
        return
    if how == "argument":
        return
    if (how == "assign" and text[max(0, at - 3) : at] in ("%3D", "%3d", "%3A")) or _is_in_url(text, at):
        bare = _URL_BARE.match(text, at)
    else:
        bare = _BARE.match(text, at)
    if bare is None:
        return
    if how in ("assign", "space", "line") and (line := _TO_THE_END.match(text, at)):
        whole = line[0].strip()
        if " " in whole and (
            (strength in STRONG and is_plausible_phrase(whole))
            or (strength == "password" and how == "assign" and is_word(whole))
        ):
            yield Span(at, at + len(whole), "named")
            return
    found = bare[0]
    if how == "is" and found[0].isascii() and not found.isascii():
        found = found[: next(i for i, letter in enumerate(found) if not letter.isascii())]
    value = found.rstrip(".,;:!?)]}") if how == "is" else found.rstrip(",;)]}\\")
    if how in ("assign", "space", "line") and value.endswith((".", ":")):
        value = value[:-1]
    if _is_secret(value, strength, how, is_quoted=False, is_flag=is_flag):
        yield Span(at, at + len(value), "named")


def is_plausible_phrase(value: str) -> bool:
    """Four times four letters, as app passwords are shown; twelve to twenty-four words of a wallet."""
    return is_plausible(value, is_quoted=True) and not any(letter.isdigit() for letter in value) and " " in value


def _is_in_url(text: str, at: int) -> bool:
    head = text[max(0, at - 200) : at]
    head = head[max(head.rfind(c) for c in " \t\r\n\"'<>") + 1 :]
    return "?" in head or "&" in head or "://" in head


def _is_secret(value: str, strength: Strength, how: str, *, is_quoted: bool, is_flag: bool = False) -> bool:
    if strength not in STRONG:
        return (how in ("assign", "argument", "element", "is") and is_random(value)) or (
            is_flag and is_random(value, at_least=20)
        )
    match how:
        case "assign" | "element":
            return is_plausible(value, is_quoted=is_quoted) or (strength == "password" and is_word(value))
        case "argument":
            return is_plausible(value, is_quoted=True) and (_has_digit(value) or is_random(value))
        case "is":
            return is_plausible(value, is_quoted=is_quoted) and (is_quoted or _is_mixed(value, 6))
        case "line":
            if is_quoted or not _is_mixed(value, 6):
                return False
            return (
                is_random(value, at_least=12)
                or is_flag
                or (_has_digit(value) and any(c in "!#?*%+~^§&" for c in value))
            )
    if is_quoted:
        is_told = _has_digit(value) or is_random(value) or any(sign in "!#$%&*+?@^~" for sign in value)
        return is_plausible(value, is_quoted=True) and is_told
    if is_flag:
        return is_plausible(value, is_quoted=True) or (strength == "password" and is_word(value))
    return is_plausible(value, is_quoted=False) and _is_mixed(value, 8) and not value.endswith("=")


def _has_digit(value: str) -> bool:
    return any(letter.isdigit() for letter in value)


def _is_mixed(value: str, at_least: int) -> bool:
    """Letters and digits, or letters and signs that no word has."""
    if len(value) < at_least or is_placeholder(value) or "@" in value or value[:1] in "([{-":
        return False
    has_letter = any(letter.isalpha() for letter in value)
    if value.isalpha():
        return is_plausible(value, is_quoted=False)  # a generator's letters
    return has_letter and (_has_digit(value) or any(letter in "!#?*%+~^§" for letter in value[:-1]))
