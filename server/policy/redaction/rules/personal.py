"""What only its owner should know, and a bank asks for: the first pet, the mother's maiden name, a word agreed upon."""

import re
from collections.abc import Iterator
from typing import Final

from server.policy.redaction.page import Page
from server.policy.redaction.plausible import SAID_OF_PASSWORDS
from server.policy.redaction.spans import Span

ANCHORS: Final = (
    "security question",
    "security q",
    "security answer",
    "secret question",
    "secret answer",
    "sicherheitsfrage",
    "geheimfrage",
    "pregunta de seguridad",
    "question secrète",
    "question de sécurité",
    "domanda di sicurezza",
    "pergunta de segurança",
    "maiden name",
    "mädchenname",
    "first pet",
    "pet's name",
    "name of your pet",
    "haustier",
    "memorable place",
    "memorable word",
    "memorable name",
    "mother's city",
    "favourite teacher",
    "favorite teacher",
    "first school",
    "place of birth of",
    "street you grew up",
    "nome da mãe",
    "nombre de soltera",
    "nom de jeune fille",
    "premier animal",
    "prima mascotte",
    "nome da nubile",
    "safe word",
    "safeword",
    "code word",
    "codeword",
    "codewort",
    "kennwort für",
    "losungswort",
    "tel. word",
    "telephone word",
    "mot de code",
    "palabra clave",
    "palabra de seguridad",
    "parola d'ordine",
    "parola chiave",
    "palavra-passe de segurança",
    "voice passcode",
    "verbal password",
    "phone password",
    "telephone password",
    "duress",
    "合言葉",
    "合い言葉",
    "暗号",
    "秘密の質問",
    "контрольное слово",
    "кодовое слово",
    "секретный вопрос",
    "девичья фамилия",
    "hasło telefoniczne",
    "hasło do odbioru",
    "kódové slovo",
    "암호말",
)
_TOLD: Final = re.compile(
    r"[^\n\x00:：=→?]{0,60}\??(?:\s?(?:[:：=→]|->|=>)\s{0,2}|\s(?:is|was|ist|lautet|war|est|es|è|é|je|jest|это)\s|[ ](?=[\"“„«「]|[A-Z][\w'-]{2,20}[ \t]*(?:\n|\Z|\")))[\"'“„«「]?(?P<s>[^\W\d_][^\n\x00\"”“»」.,;()（）|<>{}]{2,40}?)"
    r"(?=[\"”“»」]|\s?[(（]|[.,;](?:\s|\Z)|\s*(?:\n|\\n|\Z|\x00)| [–—])",
)
_NOTHING: Final = re.compile(
    r"\b(?:the|your|you|a|an|we|they|please|must|will|should|can|is|are|not|if|to|be|required|agreed|bitte|wird|nicht|Sie|ist|mit|und|das|der|die|una?|la|el|le|les|de|est|pas|vous|por|que|no)\b|[<>{}$_*•…]|\.\.\.",
    re.IGNORECASE,
)


def personal_spans(page: Page) -> Iterator[Span]:
    for word in page.held.intersection(ANCHORS):
        for at in page.occurrences(word):
            found = _TOLD.match(page.text, at + len(word))
            if found is None:
                continue
            value = found["s"].strip()
            if (
                len(value) >= 3
                and not _NOTHING.search(value)
                and value.lower() not in SAID_OF_PASSWORDS
                and len(value.split(" ")) <= 4
            ):
                yield Span(found.start("s"), found.start("s") + len(found["s"].rstrip()), "personal")
