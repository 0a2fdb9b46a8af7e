"""Spoken yes and no: closed lists of whole utterances in each language; anything else is neither."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Final, NamedTuple


class Words(NamedTuple):
    """Whole utterances of a language, normalised."""

    yes: frozenset[str]
    no: frozenset[str]
    lasting_yes: frozenset[str]
    """A yes that is to count for the whole conversation."""


_NO_WORD: Final = re.compile(r"[\W_]+")


def _normal(text: str) -> str:
    """Return the text without case, punctuation, white space and repetition: `No, no!` is `no`."""
    text = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("'", "")
    words = _NO_WORD.sub(" ", text).split()
    return "".join(word for at, word in enumerate(words) if at == 0 or word != words[at - 1])


def _words(yes: str, no: str, lasting_yes: str) -> Words:
    return Words(*(frozenset(_normal(phrase) for phrase in phrases.split("|")) for phrases in (yes, no, lasting_yes)))


# A yes that is the beginning or the end of a usual refusal ("do it", "of course", うん beside ううん) is left out:
# a microphone may lose a syllable, and a wrong no costs less than a wrong yes. Chinese cannot do without 好 and 可以.
# Phrases that mean yes to some and no to others (いいです, 大丈夫, 괜찮아요) are left out, too.
LANGUAGES: Final[Mapping[str, Words]] = {
    "en": _words(
        "yes|yeah|yep|yup|yes please|yes sure|yes do it|yes go ahead|yes of course|yes you may|yes that's fine|yes ok|"
        "yes okay|sure|sure thing|ok|okay|ok go ahead|okay go ahead|all right|alright|go ahead|go for it|"
        "approved|I approve|yes I approve|confirm|confirmed|I confirm|affirmative|sounds good",
        "no|nope|nah|no thanks|no thank you|no don't|no please don't|don't|do not|please don't|don't do it|"
        "do not do it|don't do that|never|no way|no never|deny|denied|refuse|I refuse|reject|rejected|cancel|cancel it|"
        "cancel that|no cancel|negative|not now|rather not|I'd rather not|better not|of course not|certainly not|"
        "absolutely not",
        "yes always|yes always allow it|yes always allow this|yes for this conversation",
    ),
    "zh": _words(
        "是|是的|对|对的|對|對的|好|好的|好吧|好啊|好呀|好好|好好好|行|行的|可以|可以的|同意|我同意|确认|確認|确定|確定|允许|允許|"
        "没问题|沒問題|当然可以|當然可以|要|ok",
        "不|不不|不不不|不是|不要|不行|不可以|不能|不好|不用|不用了|不了|不同意|我不同意|拒绝|拒絕|取消|别|別|别做|別做|不允许|"
        "不允許|不确认|不確認|算了|否|当然不|當然不|当然不行|當然不行",
        "是的以后都可以|好的以后都可以|可以以后都可以|是的總是允許|是的总是允许",
    ),
    "ja": _words(
        "はい|はいはい|はいどうぞ|はいお願いします|はいいいです|ええ|いいよ|いいですよ|お願いします|どうぞ|オーケー|オッケー|ok|了解|了解です|"
        "承認|承認します|許可します|もちろん|もちろんです|そうしてください",
        "いいえ|いえ|いえいえ|いや|ううん|だめ|だめです|ダメ|ダメです|駄目|駄目です|やめて|やめてください|やめておきます|"
        "しないで|しないでください|結構です|キャンセル|キャンセルしてください|拒否|拒否します|却下|ノー",
        "はいいつも許可します|はい今後も許可します",
    ),
    "de": _words(
        "ja|ja bitte|ja gerne|ja klar|ja natürlich|ja mach das|ja machen Sie das|ja okay|ja ok|ja in Ordnung|jawohl|jep|"
        "klar|na klar|ok|okay|in Ordnung|einverstanden|gerne|genehmigt|bestätigt|passt|leg los|nur zu",
        "nein|nein danke|nein bitte nicht|nein lieber nicht|nö|nee|auf keinen Fall|nein auf keinen Fall|lieber nicht|"
        "bitte nicht|nicht|abbrechen|abgelehnt|ablehnen|niemals|mach das nicht|machen Sie das nicht|natürlich nicht|"
        "jetzt nicht",
        "ja immer|ja immer erlauben|ja für dieses Gespräch",
    ),
    "fr": _words(
        "oui|ouais|oui s'il te plaît|oui s'il vous plaît|oui bien sûr|oui vas-y|oui allez-y|oui d'accord|d'accord|ok|okay|"
        "vas-y|allez-y|je confirme|confirmé|approuvé|entendu|ça marche",
        "non|non merci|non surtout pas|surtout pas|pas maintenant|jamais|annule|annulez|annuler|refusé|je refuse|"
        "bien sûr que non|ne le fais pas|ne le faites pas|non ne le fais pas|non ne le faites pas|pas question",
        "oui toujours|oui pour cette conversation",
    ),
    "es": _words(
        "sí|si|sí por favor|sí claro|sí adelante|sí hazlo|sí hágalo|sí de acuerdo|claro que sí|vale|de acuerdo|ok|okay|"
        "adelante|aprobado|confirmo|confirmado",
        "no|no gracias|no por favor|nunca|jamás|cancela|cancelar|cancélalo|mejor no|no lo hagas|no lo haga|claro que no|"
        "por supuesto que no|rechazado|de ninguna manera|ahora no",
        "sí siempre|sí para esta conversación",
    ),
    "it": _words(
        "sì|si|sì grazie|sì per favore|sì certo|sì va bene|d'accordo|ok|okay|confermo|confermato|approvato|procedi|proceda",
        "no|no grazie|assolutamente no|mai|annulla|annullare|meglio di no|non farlo|non lo faccia|certo che no|rifiuto|"
        "non ora",
        "sì sempre|sì per questa conversazione",
    ),
    "pt": _words(
        "sim|sim por favor|sim claro|sim pode|ok|okay|confirmo|confirmado|aprovado|de acordo",
        "não|nao|não obrigado|não obrigada|nunca|jamais|cancela|cancele|cancelar|melhor não|não faça isso|claro que não|"
        "agora não|recuso",
        "sim sempre|sim para esta conversa",
    ),
    "nl": _words(
        "ja|ja graag|ja hoor|ja prima|ja doe maar|ok|oké|okay|akkoord|prima|ga je gang|bevestigd|goedgekeurd",
        "nee|nee bedankt|nee dank je|nee dank u|liever niet|niet doen|nooit|annuleer|annuleren|geweigerd|nu niet",
        "ja altijd|ja voor dit gesprek",
    ),
    "ko": _words(
        "네|예|네네|네 좋아요|네 그래요|네 해주세요|그래요|좋아요|알겠습니다|승인|승인합니다|확인|물론이죠|오케이|ok",
        "아니요|아니오|아뇨|아니|아니아니|안 돼요|안돼|안 됩니다|하지 마세요|하지 마|취소|취소해 주세요|거부|거부합니다|싫어요",
        "네 항상|네 항상 허용해 주세요",
    ),
    "ru": _words(
        "да|да пожалуйста|да конечно|да хорошо|ладно|подтверждаю|давай|давайте|окей|ок",
        "нет|нет спасибо|не надо|нет не надо|ни в коем случае|отмена|отмени|отмените|не делай|не делайте|никогда|"
        "не разрешаю|запрещаю|не сейчас|конечно нет",
        "да всегда|да для этого разговора",
    ),
}

_ANY: Final = Words(
    yes=frozenset().union(*(words.yes for words in LANGUAGES.values())),
    no=frozenset().union(*(words.no for words in LANGUAGES.values())),
    lasting_yes=frozenset().union(*(words.lasting_yes for words in LANGUAGES.values())),
)


def yes_or_no(text: str, language: str | None) -> bool | None:
    """Return True for a yes, False for a no, None for neither; the whole utterance counts, never a part of it.

    language: BCP 47. None, or one without a list: the words of every language.
    """
    words, normal = _words_of(language), _normal(text)
    if normal in words.yes or normal in words.lasting_yes:
        return True
    return False if normal in words.no else None


def is_lasting_yes(text: str, language: str | None) -> bool:
    """Tell whether a yes is to count for the rest of the conversation ("yes, always")."""
    return _normal(text) in _words_of(language).lasting_yes


def _words_of(language: str | None) -> Words:
    return LANGUAGES.get((language or "").partition("-")[0].lower(), _ANY)
