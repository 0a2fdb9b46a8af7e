"""Is what stands where a secret was promised one, or does it stand for one? Placeholders and code are not."""

import re
from itertools import islice, pairwise
from typing import Final

_NOTHING: Final = re.compile(
    r"(?:null|nil|none|undefined|true|false|yes|no|on|off|n/?a|tbd|todo|fixme|required|optional|string|str|number|int|"
    r"integer|u?int\d{1,3}|float\d\d|bool|boolean|any|bytes|object|secret|token|password|passwort|key|value|redacted|masked|hidden|removed|"
    r"empty|unset|not set|not shown|unknown|default|changeme|change[-_ ]?me|change[-_ ]?it|example|placeholder|sample|dummy|"
    r"foo|bar|baz|abc|xyz|test|include|same-origin|omit|basic|bearer|digest)\W*\Z",
    re.IGNORECASE,
)
_PLACEHOLDER: Final = re.compile(
    r"<[^<>]{1,80}>|(?:required|nullable|sometimes|confirmed)\|"  # <token>, rules of a form
    r"|\$\{|\$\(|\$[A-Za-z_][\w:.]*|\$\$"  # shells, templates
    r"|\{\{|\{%|\{[\w.]+\}|%[A-Za-z_]\w*%|%\(|%s|@[\w.]+@|\#\{|#[A-Z_]+#|__[A-Z_]+__"
    r"|!(?:secret|vault|Ref|Sub|env|include|reference)\b|ENC\[|sops|\(\(|\[\[|ref\+|op://|vault:|vault://|arn:|keyring:|"
    r"env[:.(]|env\.|file:|file/|secrets?\.[A-Za-z_]|secretKeyRef|valueFrom|ssm:|awssm|gcpsm|azkv|akv|kms:|"
    r"projects/[^/]+/secrets|@Microsoft\.KeyVault|AQICAH|cmd:|keychain:|pass:[A-Z_$]|"
    r"@[\w./~-]+\.\w{2,5}\Z|\[[a-z _-]{3,24}\]\Z|\[[^\W\d_]{4,16}\]\Z|age1[a-z0-9]{50}|\?[^\W\d_]+\Z|\[(?:REDACTED|redacted|FILTERED|filtered|MASKED|masked|HIDDEN|hidden|removed|secret)|\(redacted|\(hidden"
    r"|#[0-9a-fA-F]{6}(?:[0-9a-fA-F]{2})?\Z|\d{1,5}/(?:tcp|udp|sctp|dccp)\Z|RW[A-Za-z0-9+/_-]{54}\Z|BASE(?:32|64)[A-Z]*\Z"  # colours, ports, public keys of minisign
    r"|(?:return|continue|break|raise|throw|yield|finally)\Z|(?:[Ll]ist|[Dd]ict|set|[Tt]uple|frozenset|type|Optional|Union|Sequence|Iterable|Mapping|Final|ClassVar)\[\w"
    r"|process\.env|os\.environ|os\.getenv|getenv|ENV\[|System\.|Deno\.env|import\.meta|std::env",
)
_STANDS_FOR: Final = re.compile(
    r"^\W?(?:sk-|pk-|ghp_)?(?:your|my|ihre?|dein\w?|tu|su|votre|the|some|any|insert|enter|paste|replace|put|fill|example|sample|dummy|fake|placeholder|"
    r"redacted|masked|todo|xxx+)(?:[-_ .:](?!\d)|(?-i:[A-Z])|\Z)|[-_ .](?:here|goes[-_ ]here|example|placeholder|redacted)\W?\Z|your[-_ ]|example\.(?:com|org|net)",
    re.IGNORECASE,
)
_PATH: Final = re.compile(
    r"(?:~|\.{1,2})?/[\w./~@+-]*\Z|[A-Za-z]:\\[\w\\ .~-]*\Z|[\w./-]+\.(?:txt|pem|key|crt|json|ya?ml|env|md|py|js|ts)\Z"
)
_VERSION: Final = re.compile(r"(?:[A-Za-z]+/)?[\^~>=<v ]*\d+(?:\.\d+){1,3}[-\w.]*\Z")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[T ][\d:.,+Z-]*)?\Z")
_CODE: Final = re.compile(
    r"[A-Za-z_][\w.]*(?:\?\.|->|::)\w|"  # a?.b, a->b, a::b
    r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+\Z|"  # settings.DB_PASSWORD
    r"(?:[A-Za-z_$][\w$.]*)?!?\(|"  # generate_key()
    r"[A-Za-z_][\w.]*\[|"  # row["password"]
    r"&(?:mut )?\w+\Z|\|\||&&|=>|==|\?\?|"
    r"(?:async|await|new|function|lambda|return|self|this|if|for|not|or|and|is|raise|def|let|var|const|null|typeof)\b"
)
_RULE: Final = re.compile(
    r"\b(?:characters?|chars|digits?|letters?|least|must|should|zeichen|signs?|minimum|only|bytes?|bits?)\b",
    re.IGNORECASE,
)
_APP_PASSWORD: Final = re.compile(r"[a-z]{4}(?: [a-z]{4}){3}\Z")
_WORDS: Final = re.compile(r"[a-z]+(?: [a-z]+){11,23}\Z")
_SAME: Final = re.compile(r"(.)\1*\Z", re.DOTALL)
_MASK: Final = re.compile(r"[*•●xX.…_\-#?]{3,}")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_]+\Z")
_BASE32: Final = re.compile(r"[A-Z2-7]{16,}\Z")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\Z")


_ADDRESSES: Final = ("http://", "https://")
_LONG_PART: Final = re.compile(r"(?<!\w)(?=[A-Za-z]*\d)[A-Za-z0-9]{24}")
_DIGIT: Final = re.compile(r"\d")


def has_digit(value: str) -> bool:
    return _DIGIT.search(value) is not None


def is_placeholder(value: str) -> bool:
    """Stands for a value, refers to one, or says that there is none."""
    return bool(
        not value
        or _SAME.match(value)
        or _NOTHING.match(value)
        or _PLACEHOLDER.match(value)
        or _STANDS_FOR.search(value[:120])
        or (_MASK.search(value[:200]) and len(_MASK.sub("", value[:200])) <= 12)
        or value.startswith(("\u2026", "..."))
        or value.endswith(("\u2026", "..."))
    )


def is_path(value: str) -> bool:
    """And no run of base64 that begins with a slash."""
    return _PATH.match(value) is not None and not (len(value) >= 32 and "." not in value and _changes(value) >= 12)


def is_plausible(value: str, *, is_quoted: bool) -> bool:
    """For a strong name: whether a person or a program may have chosen this as a secret."""
    if len(value) < 4 or is_placeholder(value) or is_path(value) or _VERSION.match(value) or _DATE.match(value):
        return False
    if value.startswith(_ADDRESSES):
        return False
    if not is_quoted and _CODE.match(value):
        return False
    if is_quoted and "(" in value and _CODE.match(value) and value.endswith(")"):
        return False
    if _GROUPS.match(value) or _APP_PASSWORD.match(value) or _WORDS.match(value):
        return True
    is_numbered = has_digit(value)
    if " " in value.strip():
        return is_quoted and is_numbered and not _RULE.search(value) and len(value) <= 100
    if is_numbered:
        return not value.isdigit() or len(value) >= 6
    if is_quoted and is_jumbled(value):
        return True
    if _IDENTIFIER.match(value):  # letters alone: a word, a type, a name
        if len(value) >= 20 and value.islower() and "_" not in value:
            return True
        return len(value) >= 12 and "_" not in value and _changes(value) >= 0.45 * len(value)
    if value.isalpha():
        return False
    signs = set(value) - {"-", "_", ".", ",", ";", ":", " ", "'", '"', "(", ")", "/"}
    if any(not letter.isalnum() for letter in signs):
        return (
            len(value) >= 6 and value[-1] not in ".,;:" and sum(1 for _ in islice(filter(str.isalpha, value), 3)) == 3
        )
    if any(is_jumbled(part) for part in re.split(r"[-_.]", value)):
        return True
    return is_quoted and value.count("-") >= 2 and len(value) >= 16


_GROUPS_APART: Final = re.compile(r"(?:[A-Za-z0-9]{4,6} ){3,11}[A-Za-z0-9]{4,6}\Z")
_GROUPS: Final = re.compile(r"(?:[A-Z0-9]{2,8}-){3,11}[A-Z0-9]{4,8}\Z")
_WORD: Final = re.compile(r"[^\W\d_A-Z]{6,30}\Z")
_JOINED: Final = re.compile(r"[A-Za-z]{3,20}(?:[-_.][A-Za-z]{3,20}){1,5}\Z")
_IN_NAMES: Final = frozenset(
    "password passwd secret token key user name login auth path file config env var value field input text new old current "
    "confirm repeat hash reset change get set type default require required with from the and not none your example case sensitive".split()
)
SAID_OF_PASSWORDS: Final = frozenset(
    "required option options flag optional string number secret hidden masked redacted encrypted hashed plaintext invalid incorrect missing wrong "
    "correct strong medium changed updated expired expires disabled enabled unknown default prompt generate generated random "
    "inherit include password passwort passwords passwd username loginname example placeholder changeme stored salted bcrypt argon "
    "argonid scrypt pbkdf protected needed mandatory erforderlich pflichtfeld notwendig obligatoire requis obligatorio requerido "
    "getpass keyring keychain credential credentials authentication authenticated verification reset resetting policy manager "
    "newpassword oldpassword userpassword confirmpassword currentpassword account settings forgotten recovery publickey keyboard "
    "parameter argument interactive granted denied accepted rejected failed success successful matched matches nothing anything something whatever "
    "string bytes object undefined secretstr element control widget visible internal private public normal simple custom "
    "wrong fine okay blank short known shared safe secure visible broken expiring lost stolen obvious ready needed changing anders different elsewhere same below above attached enclosed unchanged deprecated ignored removed deleted minimum maximum characters letters digits length window dialog screen widget "
    # wrong, expired, required, changed, valid, empty, long, stored, missing
    "fehlt fehlend manque manquant falta mancante ontbreekt brakuje chybí saknas mangler puuttuu mismatch "
    "ungültig gültig falsch abgelaufen geändert gesperrt vergessen leer korrekt sicher unsicher gespeichert verschlüsselt zurückgesetzt bekannt unbekannt vergeben notiert hinterlegt verfügbar fehlerhaft gleich identisch "
    "invalide expiré expirée oublié oubliée modifié modifiée erroné erronée vide court courte longue obligatoire faux fausse bloqué identique "
    "inválida inválido incorrecta incorrecto caducada caducado olvidada obligatoria vacía vacío corta larga errónea misma "
    "incorreta incorreto expirada expirado esquecida obrigatória obrigatório vazia curta válida "
    "errata errato scaduta scaduto dimenticata obbligatoria obbligatorio vuota corta sbagliata valida "
    "onjuist verlopen ongeldig vergeten verplicht leeg gewijzigd fout opgeslagen beveiligd "
    "błędne nieprawidłowe wygasło wymagane puste zapomniane zmienione poprawne neplatné nesprávné špatné povinné prázdné zapomenuté platné "
    "felaktigt fel ogiltigt utgånget obligatoriskt tomt glömt forkert ugyldig udløbet påkrævet feil ugyldig utløpt påkrevd väärä virheellinen vanhentunut pakollinen tyhjä "
    "yanlış geçersiz gerekli boş süresi неверный неправильный истёк истек обязателен пустой забыт изменён сброшен".split()
)
_PASSWORDS: Final = ("passw", "kennw", "contras", "hasł", "haslo", "wachtw", "lösen")
_BETWEEN_WORDS: Final = frozenset(
    "for the and with not but from that this your are has have must can will may use leave empty none is of to in on at or an as be by if it no".split()
)


def is_word(value: str) -> bool:
    """What people take as a password though it is a plain word, or several; nothing that is said of passwords."""
    if _WORD.match(value):
        return not value.startswith(_PASSWORDS) and value not in SAID_OF_PASSWORDS and not is_placeholder(value)
    if _JOINED.match(value):
        parts = re.split(r"[-_.]", value)
        is_named = all(part[:1].isupper() for part in parts)
        return (is_named or ("-" in value and len(parts) > 2)) and not {p.lower() for p in parts} & _IN_NAMES
    words = value.split(" ")
    return (
        3 <= len(words) <= 8
        and all(
            (len(word) >= 3 and word.isalpha() and word.islower()) or (index and word.isdigit())
            for index, word in enumerate(words)
        )
        and not set(words) & (SAID_OF_PASSWORDS | _BETWEEN_WORDS)
    )


_PARTS: Final = re.compile(r"[a-z]+|[A-Z]{2,4}(?![a-z])|[A-Z][a-z]*")
_NO_WORD: Final = re.compile(
    r"(?!\w*(?:ngth|ghts|rlds|nths|tchs|chn|schr|http))\w*?[b-df-hj-np-tv-xz]{4}|(?!Str|Ctx|Pwd|Cfg|Mgr|Src|Btn|Lbl|Txt|Ptr|Db|Pw)[A-Z][b-df-hj-np-tv-xz]{1,2}\Z",
)


def is_in_groups(value: str) -> bool:
    """Four to twelve groups with spaces between them, as secrets of authenticators are shown."""
    return _GROUPS_APART.match(value) is not None and has_digit(value)


def is_jumbled(value: str) -> bool:
    """Letters alone, great and small ones mixed as in no word and no name: `helmlcHVJGIS`."""
    if not (len(value) >= 8 and value.isascii() and value.isalpha()) or value.isupper() or value[1:].islower():
        return False
    parts = _PARTS.findall(value)
    return sum(len(part) for part in parts) < len(value) or any(map(_NO_WORD.match, parts))


def is_generated(value: str) -> bool:
    """As `is_random`, and plain enough to be told from ids: great and small letters and digits."""
    return is_random(value, at_least=14) and not value.islower() and not value.isupper() and has_digit(value)


_LONG_WITHOUT_DIGITS: Final = 24


def is_random(value: str, *, at_least: int = 16) -> bool:
    """Looks as if a generator had made it: one run, letters and digits mixed, not made of words."""
    if len(value) < at_least or " " in value:
        return False
    digits = sum(map(str.isdigit, value))
    is_grouped = _GROUPS.match(value) is not None
    if digits == 0 and not is_grouped and not (len(value) >= _LONG_WITHOUT_DIGITS and value.isalpha()):
        return False  # most names of programs, told before what costs more
    if is_placeholder(value) or is_path(value) or _DATE.match(value):
        return False
    if _CODE.match(value) and not _LONG_PART.search(value):
        return False
    if is_grouped and digits:
        return True
    if digits == 0 or digits == len(value):
        return digits == 0 and _changes(value) >= 8 and is_jumbled(value)
    if _UUID.match(value) or _BASE32.match(value):
        return True
    longest = max((len(part) for part in re.split(r"[-_.:/+=~%]", value)), default=0)
    return longest >= min(12, at_least) and (digits >= 2 or _changes(value) >= 4)


def _changes(value: str) -> int:
    """How often upper and lower case, letters and digits take turns."""
    kinds = [0 if c.isdigit() else 1 if c.isupper() else 2 for c in value[:80]]
    return sum(a != b for a, b in pairwise(kinds))
