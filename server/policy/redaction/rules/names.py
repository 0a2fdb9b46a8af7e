"""Where a text names a secret: words such as `DB_PASSWORD`, `client-secret`, `API key`, `Kennwort`, `密码`."""

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from server.policy.redaction.key_names import SECOND_WORDS, STRONG, Strength, strength_of
from server.policy.redaction.page import Page

# The parts by which names are found; whether such a name promises a secret is for `strength_of` to say.
_STEMS: Final = frozenset(
    "bearer csrf xsrf pass pwd pw psk secret token key cred auth cookie sess sid jwt pin puk cvv cvc otp tan code mnemonic seed magic "
    "signature license kennwort parol senha wachtwoord hesl hasl sifre losen adgangskode sala jelsz lozink _pat -pat sandi mdp "
    "schluessel clave chave remember webhook geheimnis zugangs salt community contrasen authenticator parool geslo zaporka slaptazod laluan kennw kwort psw paswoord kodeord tunnussana salas contrasinal pasahitza fjal lykil palavra losung jeton geheim privkey appkey skey ticket codigo codice chiave llave klucz klic kljuc sleutel nyckel nokkel anahtar schlussel".split()
)
_WHOLE: Final = frozenset(("PAT", "pat"))
_FOREIGN_STEMS: Final = frozenset(
    "passwört contraseñ jelszó hasł şifre lösen khẩu пароль парол токен κωδικός סיסמה סיסמא المرور 密码 密碼 口令 令牌 密钥 密鑰 秘钥 "
    "पासवर्ड رمز السر گذرواژه парола лозинк キー slaptažod ססמה parolă "
    "ключ кодовое գաղտնաբառ পাসওয়ার্ড پسورد συνθηματικ lösen løsen klíč fjalë cuvânt シークレット トークン 加签 パスワード 合言葉 暗証番号 비밀번호 비번 암호 토큰 รหัสผ่าน 验证码 schlüssel clé".split()
)
ANCHORS: Final = (*_STEMS, *_WHOLE, *_FOREIGN_STEMS)
_LONGEST: Final = 64
_BACKWARDS: Final = re.compile(r"[\w.\-]*")
_AFTER: Final = re.compile(r"[\w\-]{0,48}+(?:\.[\w\-]{1,32}+)*+")
_FIRST_WORDS: Final = frozenset(
    "otp totp wpa wpa2 wifi wlan network pin api access secret private auth master encryption signing recovery seed pass de clé clave chave mật kata kod enable "
    "refresh id bot session webhook client deploy security verification license pairing".split()
)
_VERBS: Final = frozenset("use using no with without have has change verify show need forgot".split())
_SECOND_WORD: Final = re.compile(
    r" (?:(?:word|code|phrase|hash|content|string)(?![\w])|key(?=[:= ])|id(?=[ \t]{0,8}[:=]))", re.IGNORECASE
)
_MODIFIER: Final = re.compile(
    r" (?:(?:d['’]|(?:de|di|du|del|della|do|da|für|for|of|voor|til|för|от|для) (?:the |la |el |le |il |o |a )?)[^\W\d_][\w-]{1,15}"
    r"|utente|usuario|utilisateur|chiave|wi-?fi|wlan|admin|root|доступа|dostępu|πρόσβασης)(?=[\"']?[ \t]{0,3}[:：=\t|])",
    re.IGNORECASE,
)
"""Whose it is, or of what, between a name and its sign: `chiave di rete:`, `password utente =`."""
_ESCAPES: Final = frozenset("nrt")
KEY_OR_PASSWORD: Final = frozenset("clave chave clé cle chiave".split())
"""Words for both: weak, unless a verb leads to the value."""
_EDGE: Final = ".-~$"
_NO_VALUE_AFTER: Final = frozenset("./[!;#+*")
_PASSES_BEFORE: Final = re.compile(
    r"\b(?:to|can|cannot|must|should|would|could|will|may|might|shall|do|does|not|n't|don't|now|also|just|only|either|we|you|they|which|that|please) \Z",
    re.IGNORECASE,
)
_PASSES_AFTER: Final = re.compile(
    r" :?[`:]| (?:to|down|on|by|through|over|along|up|around|a|an|the|any|all|no|it|them|this|these|implements)\b"
    r"| (?:[\w./*&()-]{1,60}|[\"'`][^\"'`\n]{1,60}[\"'`]) (?:to|as|into|through|down|instead|along|directly)\b"
)
_A_PASS: Final = re.compile(r"\b(?:first|second|third|single|next|last|final|each|one|every) \Z", re.IGNORECASE)
_PASS_AND_COMMENT: Final = re.compile(r" {1,2}(?:#|//) ")
"""Around `pass` where it is a verb, a statement of Python or a step of a compiler."""
_SIZED: Final = re.compile(r"\[\w{0,16}\]\s?[:=]")
_BLANKS: Final = frozenset(" \t\r\n,")
_LEADS_ON: Final = re.compile(rf"[ ]{{2}}|\s{{0,7}}[=:]| (?:is |ist|est|es )|(?i:{_SECOND_WORD.pattern})")
"""A sign, a verb, or the rest of the name."""


_ID_OF: Final = re.compile(r"\bid (?:della|der|des|of the|of|du|de la|del|da|van de) \Z", re.IGNORECASE)
_Kind = Literal["none", "signed", "any"]
"""What a word may be: no name, one whose value stands behind a sign or is none, one with whatever behind it."""


class Name(NamedTuple):
    start: int
    end: int
    strength: Strength


def names_id(text: str, name: Name) -> bool:
    """`the ID of the key`: no secret follows."""
    return _ID_OF.search(text, max(0, name.start - 20), name.start) is not None


def names_in(page: Page) -> tuple[Name, ...]:
    """In order; without most of those that no value can follow."""
    if page.is_ascii:
        return tuple(_names(page))
    found = {name.end: name for name in (*_names(page), *_foreign_names(page))}
    return tuple(found[end] for end in sorted(found))


def _names(page: Page) -> Iterator[Name]:
    text = page.text
    kinds: dict[str, _Kind] = {}
    for at, word in page.words_with(page.held & (_STEMS | _WHOLE)):
        kind = kinds.get(word)
        if kind is None:
            kind = kinds[word] = _kind(word)
        if kind == "none":
            continue
        end = at + len(word)
        following = text[end : end + 1]
        if (following in _NO_VALUE_AFTER and not _SIZED.match(text, end)) or (
            kind == "signed" and following in _BLANKS and not _LEADS_ON.match(text, end)
        ):
            continue
        if word in ("pass", "Pass") and _is_verb(text, at, end):
            continue
        name = _widened(text, at + len(word) - len(word.lstrip(_EDGE)), at + len(word.rstrip(_EDGE)))
        if name is not None:
            yield name


def _is_verb(text: str, start: int, end: int) -> bool:
    """Of `pass`."""
    if _PASS_AND_COMMENT.match(text, end) or _A_PASS.search(text, max(0, start - 12), start):
        return True
    return (
        text[end : end + 1] == " "
        and not _LEADS_ON.match(text, end)
        and (
            _PASSES_BEFORE.search(text, max(0, start - 12), start) is not None
            or _PASSES_AFTER.match(text, end) is not None
        )
    )


def _kind(word: str) -> _Kind:
    if word in _WHOLE:
        return "any"
    if not _may_name(word):
        return "none"
    return "signed" if _needs_sign(word) else "any"


def _may_name(word: str) -> bool:
    if len(word) > _LONGEST:
        return False
    plain = word.strip(_EDGE)
    return (
        strength_of(plain) is not None
        or plain.lower() in SECOND_WORDS
        or (plain[:1] in _ESCAPES and strength_of(plain[1:]) is not None)
    )


def _needs_sign(word: str) -> bool:
    """A word such as `session`, whose value stands behind `=` or `:` or is none."""
    plain = word.strip(_EDGE).lower()
    if plain.startswith("x-"):
        return False
    is_flag = word[0] == "-" or plain.endswith("hash")
    return strength_of(plain) == "weak" and not is_flag and plain not in SECOND_WORDS and plain not in KEY_OR_PASSWORD


def _foreign_names(page: Page) -> Iterator[Name]:
    for stem in page.held & _FOREIGN_STEMS:
        for at in page.occurrences(stem):
            end = at + len(stem)
            if not _writes_on(stem[0]):
                end = _AFTER.match(page.text, end).end()  # type: ignore[union-attr]  # it fits the empty text
                before = _BACKWARDS.match(page.text[max(0, at - _LONGEST) : at][::-1])
                at -= before.end() if before else 0
            if name := _widened(page.text, at, end):
                yield name


def _is_key(text: str, start: int, end: int) -> bool:
    return text[start:end].lower() in ("key", "keys") and text[start - 1] == " "


def _writes_on(letter: str) -> bool:
    """Chinese, Japanese and Thai write on without a space."""
    return letter >= "\u2e80" or "\u0e00" <= letter <= "\u0e7f"


def _widened(text: str, start: int, end: int) -> Name | None:
    """The whole name of which a word was found, also where it is written as two words."""
    if text[end : end + 1] > "\x7f" and not _writes_on(text[end - 1]):
        end = _AFTER.match(text, end).end()  # type: ignore[union-attr]  # it fits the empty text
    if (start and text[start - 1] > "\x7f") or text[start] > "\x7f":
        before = _BACKWARDS.match(text[max(0, start - _LONGEST) : start][::-1])
        start -= before.end() if before else 0
    if start and text[start - 1] == "\\" and text[start] in _ESCAPES and end > start + 1:
        start += 1  # an escaped line break before the name
    if start > 1 and text[start - 1] in " -":
        first = text[max(0, start - 16) : start - 1]
        first = first[max(first.rfind(" "), first.rfind("\n"), first.rfind('"')) + 1 :]
        if first.lower() in _FIRST_WORDS or (
            _is_key(text, start, end) and first.isalpha() and first.lower() not in _VERBS
        ):
            start -= len(first) + 1
    if text[end : end + 1] == " " and (second := _SECOND_WORD.match(text, end)):
        end = second.end()
    strength = strength_of(text[start:end].strip(" .-")) if end - start <= _LONGEST else None
    if (modified := _MODIFIER.match(text, end)) and modified.end() - start <= _LONGEST:
        of = strength_of(text[start : modified.end()])
        if of in ("password", "code"):
            return Name(start, modified.end(), of)
        if strength in STRONG:
            return Name(start, modified.end(), strength)
    return None if strength is None else Name(start, end, strength)
