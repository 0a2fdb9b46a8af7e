"""What a message says that cannot be taken back: it ends or concludes a contract, owns up to something, gives away codes or what others keep to themselves."""

import re
from typing import Final

from server.policy.danger.anchored import Anchored


def _any(*shapes: str) -> re.Pattern[str]:
    return re.compile("|".join(shapes), re.IGNORECASE)


_ENDING: Final = _any(
    # English
    r"\b(?:i|we) (?:hereby |am |are |would like to |wish to )?(?:quit\b(?! \w+ing\b)(?=\W|$)(?= (?:my|the|this) (?:job|position|company|team|role|firm)|[.,!;]|\s*$| as\b| effective| with)|resign|cancel\w*|terminat\w+|withdraw\w*|revoke|give (?:you )?(?:\w+ )?notice|giving (?:you )?(?:\w+ )?notice|object to|renounce|decline the|reject the|accept (?:the|your) (?:offer|settlement|terms|contract|quote|job))\b",
    r"\b(?:notice of (?:termination|cancellation|resignation)|resignation letter|my resignation|letter of resignation|you(?:'re| are) fired|we are (?:bankrupt|letting you go)|your (?:employment|contract) (?:is|ends|will be) terminat\w+|stop all deliveries)\b",
    r"\b(?:we|i) (?:hereby )?(?:confirm|place|commit to|agree to) (?:the |our |an? |your )?(?:binding |firm )?(?:order|purchase|booking|contract|sale|price|offer)\b",
    r"\b(?:this is (?:a )?(?:binding|legally binding)|signed contract attached|please (?:charge|debit|transfer|wire|pay))\b",
    # German
    r"\b(?:kündig(?:e|en|t|ung)\b|hiermit (?:widerruf\w*|bestell\w*|beauftrag\w*|bestätig\w*|nehm\w*|verzicht\w*|trete|treten|erklär\w*|beantrag\w*|kauf\w*)|widerrufe? ich|(?:verbindlich|fest) (?:zu|bestell\w*|beauftrag\w*|buch\w*|gekauft)|nehme(?:n wir)? (?:ihr|das|dein) angebot|zum nächstmöglichen|fristlos|ich verzichte|sie sind entlassen|storniere\w*)",
    # French, Spanish, Italian, Portuguese
    r"\b(?:je (?:vous )?(?:donne|résilie|démissionne|renonce|confirme l'achat|m'engage)|(?:vous )?donne congé|ma démission|résiliation|préavis|nous (?:confirmons|passons) (?:la |une )?commande|bon pour accord)\b",
    r"\b(?:renuncio|presento mi (?:renuncia|dimisión)|mi dimisión|rescindir|doy de baja|baja del contrato|confirmamos (?:en firme )?(?:la |el )?(?:compra|pedido)|compra en firme|aceptamos (?:la |su )oferta|orden firmada)\b",
    r"\b(?:rinuncia(?:re|mo)?|dimissioni|disdetta|recedo|recediamo|confermiamo l'ordine|accettiamo l'offerta|con la presente (?:dichiaro|chiedo|comunico|rinuncio)|peço demissão|minha demissão|rescindo|rescisão|confirmamos a (?:compra|encomenda))\b",
    # Dutch, Polish, Czech, Scandinavian, Turkish
    r"\b(?:hierbij (?:zeg|ontbind|bestel|bevestig)\w*|zeg (?:ik|wij) .{0,40}\bop\b|ontslag|opzegging|wypowiada(?:m|my)|wypowiedzenie|rezygnuj\w+|składam (?:rezygnację|zamówienie)|zamawiam\w*|podávám výpověď|vypovídám|säger (?:härmed )?upp|uppsägning|siger (?:hermed )?op|opsigelse|sier (?:herved )?opp|istifa\w*|feshed\w*)",
    # Russian, Ukrainian
    r"(?:прошу (?:прекратить|уволить|расторгнуть|закрыть|перевести|списать)|увольняюсь|расторга\w+|отказываюсь от|заявление об увольнении|подтверждаем заказ|звільняюсь|розрива\w+ договір)",
    # Chinese, Japanese, Korean
    r"辞职|离职|解除合同|终止合同|退租|确认订购|同意购买|解雇|退職|辞職|解約|契約を解除|発注いたします|注文いたします|正式に依頼|辞退|사직|퇴사|해지|계약을 해제|발주",
)
_OWNING_UP: Final = _any(
    r"\b(?:it was (?:our|my) fault|we (?:admit|accept (?:full )?liability)|i (?:confess|admit)|i did it|wir (?:haften|erkennen)|schuldanerkenntnis|nous reconnaissons|admito|reconozco|fraud|insolven\w+|bankrupt\w*)\b",
)
_CODES: Final = _any(
    r"\b(?:password|passwort|kennwort|passcode|2fa|one-time code|the code is|verification code|pin is|iban|credit card|mot de passe|contraseña|senha|wachtwoord|hasło|пароль|密码|暗証|パスワード|비밀번호|seed phrase|private key|api[ _-]?key|recovery phrase)\b",
    r"\b(?:code(?! ?(?:review|base|freeze|style|line|snippet|change|owner))|pin|tan|código|codigo|codice|kod|kód|clave|cvc|cvv|код|пин)\b[^\n]{0,60}?(?<!PR )(?<!#)(?<!issue )\b\d[\d -]{2,7}\b",
    r"(?:验证码|密码|暗証番号|認証コード|인증번호|口令)\D{0,20}\d{3,8}",
    r"\bsk-[\w-]{10,}|\bghp_\w{10,}|\bAKIA\w{12,}|-----BEGIN",
)
_OF_OTHERS: Final = _any(
    r"\b(?:diagnos\w*|hiv|schwanger\w*|pregnan\w*|embaraz\w*|enceinte|therap(?:y|ie)|krank(?:heit\w*|geschrieben|meldung\w*)|medical record|befund\w*|salar(?:y|ies)|gehalt\w*|gehälter|salaire\w*|sal[áa]rio\w*|sueldo\w*|stipendi\w*|zarobki|зарплат\w*"
    r"|noten(?:liste|spiegel)\w*|grades of|marks of|calificaciones|notes des élèves|schulden|schuldner\w*|debtors?|deudor\w*|débiteurs|должник\w*|zaległo\w*|zadłuż\w*|vorstraf\w*|criminal record|home address|privatadresse\w*|social security number)\b|工资|诊断|病历|給与|診断|성적표",
)
_CALLING_OFF: Final = _any(
    r"\b(?:abgesagt|fällt (?:leider )?aus|entfällt|storniert|is (?:off|cancel+ed)|are cancel+ed|called off|annulé\w*|cancelad[oa]s?|suspendid[oa]s?|annullat[oa]|afgelast|geannuleerd|odwołan\w+|отмен\w+|переведите|überweist|send me \d+|lend me)\b|中止|取消了|キャンセルになりました|취소되",
)
_TO_ANYBODY: Final = Anchored(
    (
        (_ENDING, "ends or concludes a contract"),
        (_OWNING_UP, "says what cannot be taken back"),
        (_CODES, "gives codes or passwords away"),
    )
)
_PRIVATE: Final = Anchored([(_OF_OTHERS, True)])
_TO_OTHERS: Final = Anchored(((_CALLING_OFF, "calls something off"), (_OF_OTHERS, "tells many what is private")))
_MAX_CHARS: Final = 5000


def judge_statement(text: str, *, is_to_others: bool) -> str | None:
    """`is_to_others`: more than one person reads it."""
    head = text[:_MAX_CHARS]
    return _TO_ANYBODY.first(head) or (_TO_OTHERS.first(head) if is_to_others else None)


def tells_of_others(text: str) -> bool:
    """Illness, money, marks: what people keep to themselves."""
    return _PRIVATE.first(text[:_MAX_CHARS]) is not None
