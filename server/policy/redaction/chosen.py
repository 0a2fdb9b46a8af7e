"""What people choose as a password: nearly anything, once a name promises one.

So it is asked what it is not: a label, a sentence about passwords, a reference, program text.
"""

import re
from typing import Final

from server.policy.redaction.key_names import names_secret
from server.policy.redaction.plausible import is_path, is_placeholder
from server.policy.redaction.words import words_of

_LONGEST: Final = 100
_MOST_WORDS: Final = 8
_SAID: Final = frozenset(
    # what labels, messages, notes and types say, folded to plain letters
    "option options enter type choose confirm repeat retype invalid incorrect wrong missing required optional cannot forgot forgotten reset "
    "changed changes update updated expired expires empty none null nil true false string str number integer int bool boolean bytes object "
    "array list char varchar value field input hidden masked redacted encrypted hashed plaintext stored saved unchanged unknown "
    "default example placeholder changeme dummy fake sample todo tbd please pflichtfeld protected generated generate random username login account "
    "email mail file path env environ environment config settings variable var vars param parameter argument arg args self this request "
    "vault systemd compat sss keychain keyring keepass keepassxc bitwarden lastpass onepassword manager storage getpass prompt stdin secretstr validator schema min max length "
    "characters chars zeichen caracteres caratteri tekens znakow digits letters least rotated rotation policy unset disabled enabled separately "
    "eingeben eingabe bitte falsch ungultig wiederholen bestatigen vergessen geandert erforderlich hinterlegt gespeichert telefonisch "
    "saisir saisissez entrez oublie incorrecte invalide requis introduzca introduce ingrese escriba olvidada incorrecta obligatorio requerido "
    "digite insira informe esqueceu inserisci errata dimenticata richiesta wpisz podaj bledne voer onjuist vergeten "
    "введите неверныи забыли повторите".split()
)
_SENTENCES: Final = frozenset(
    # what only a sentence says; a password of several words joined by signs may have them
    "new old current must should change any text form data body setting store not set here there kept rotate rotates user phone sms post letter "
    "is are was has have been will be your our my their per via with without plain object "
    "neues altes aktuelles andern gleich wie unbekannt bekannt folgt steht liegt bei beim ihr dein leer keines keins "
    "votre nouveau ancien chez comme identique nueva antigua igual misma su tu come stare nowe vul "
    "новыи ".split()
)
_IN_IDENTIFIERS: Final = frozenset(
    "get make hash encode decode encrypt decrypt read load parse init result response row entry name options opts cfg conf props kwargs ctx context item raw "
    "tmp temp pw pwd db app my cur curr prev in out is has fn func cb callback ref ptr buf len size id key host url uri port class type".split()
)
"""Words that a variable's name has, and few passwords."""
_BEGINNINGS: Final = frozenset(
    "see ask known same as siehe voir demander ver pedir vedi chiedere zapytaj vraag zie см смотри спросить".split()
)
"""How a sentence that tells where the password is begins."""
_OPERATORS: Final = frozenset("= < > | + - * / || && == != => -> { }".split())
_SENTENCE_ENDS: Final = ("?", "…", "...", ":", ".", ",", ";")
_REFERS: Final = re.compile(
    r"[\w.-]*\$\{?\w|\{\w*\}|<[\w -]+>|%\w+%|[\w.-]+/[\w./-]+/|[\w./-]+\.(?:txt|pem|key|crt|json|ya?ml|env|md|py|js|ts|cfg|conf|ini|html?|php)\b|https?:|--\w|[a-z]{2,12}=|@|\w+::\w|[A-Za-z]+(?::[A-Za-z]+){2,}\Z|\w*\[:"
)
_WRITES_ON: Final = re.compile(r"[\u0e00-\u0e7f\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]")
"""Scripts in which a sentence has no spaces, and in which nobody writes a password."""
_IS_COMPOSED: Final = re.compile(r"[A-Z].*[-_+!#%=&.]|[-_&+!#%=.].*[-_+&!#%=.]|[A-Za-z\d][&+!#%][A-Za-z\d]")
_NO_IDENTIFIER: Final = re.compile(r"[^\w.:/@-]|[^\x00-\x7f]")
_CALL: Final = re.compile(r"[\w.:]+\((?:\)|[\"'$]|\w+\.)")
_PROGRAM: Final = re.compile(
    # text that a program reads: calls, members, operators
    r"[\w$.>:?!-]*[\w$]!?\(|[\w.$]+\[[\"'\w]*\]?|&?(?:mut )?(?a:[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)+(?=[^\w\x80-\U0010ffff]|\Z))|\$\w|@\w+\b|[({\[|]|!=|&&|\|\||[A-Z][A-Z0-9]*_[A-Z0-9_]+\Z|[a-z]+[A-Z]\w*\Z|--?\w"
)


def is_chosen(value: str, *, is_quoted: bool) -> bool:
    """For what stands, whole, behind the name of a password; quotes make sure that no program text is meant."""
    if (
        not 4 <= len(value) <= _LONGEST
        or value != value.strip()
        or is_placeholder(value)
        or is_path(value)
        or _REFERS.match(value)
    ):
        return False
    if not is_quoted and _PROGRAM.match(value):
        return False
    if is_quoted and _CALL.match(value):
        return False
    if _WRITES_ON.search(value):
        return False
    words = [word for word in words_of(value) if not word.isdigit()]
    if not is_quoted and "_" in value and not _IN_IDENTIFIERS.isdisjoint(words):
        return False
    if not words:
        return sum(letter.isdigit() for letter in value) >= 4
    parts = value.split()
    said = _SAID | _SENTENCES if len(parts) > 1 or len(words) == 1 else _SAID
    if not said.isdisjoint(words) or any(len(word) > 2 and names_secret(word) for word in (*words, value)):
        return False
    if len(parts) > 1:
        return (
            len(parts) <= _MOST_WORDS
            and words[0] not in _BEGINNINGS
            and not value.endswith(_SENTENCE_ENDS)
            and not any(p in _OPERATORS or p[-1] in (":=" if is_quoted else ":=,") for p in parts)
        )
    return len(words) > 1 or len(value) >= 6 or not value.isalpha()


def is_composed(value: str) -> bool:
    """More than a word, and than two joined in small letters: `Nebel-am-Teich`, `a+b`; not `read-only`, and no page."""
    return len(value) <= _LONGEST and _IS_COMPOSED.search(value) is not None


def is_named(value: str) -> bool:
    """Not the name of anything, such as `my-app-tls`: for what stands under the name of a secret that programs make."""
    return is_no_identifier(value) or (is_composed(value) and not value.islower() and not value.isupper())


def is_no_identifier(value: str) -> bool:
    """Not the name of anything: letters with accents, spaces, signs."""
    return _NO_IDENTIFIER.search(value) is not None
