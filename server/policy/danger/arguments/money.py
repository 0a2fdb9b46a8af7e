"""Forms and buttons that pay."""

import re
from typing import Final

from server.policy.danger.anchored import Anchored
from server.policy.danger.arguments.call import Call
from server.policy.danger.arguments.orders import judge_order

_CLICKING: Final = frozenset(
    "submit click press tap confirm form dblclick select choose type fill computer press_key".split()
)
_SUBMITTING: Final = frozenset("submit click press tap confirm computer".split())
_FILLING: Final = frozenset("form fill type input".split())
_PAYING: Final = re.compile(
    r"\b(?:transfer|payment|checkout|purchase|pay|order|donation|überweisung|virement|transferencia|buy now|place order|subscribe|sign up|enrol|accept (?:all )?terms|agree"
    r"|verbindlich\w*|kostenpflichtig\w*|zahlungspflichtig\w*|jetzt (?:kaufen|bestellen|buchen|zahlen|bezahlen|abschließen|wechseln|spenden)|absenden und \w+|abschicken"
    r"|commander|payer|acheter|réserver|valider (?:la|ma|mon|le)\b|souscrire|s'abonner|pagar|comprar|reservar|contratar|suscribir\w*|finalizar|paga ora|acquista|compra|prenota|ordina|conferma ordine"
    r"|finalizar compra|assinar|bestellen|betalen|kopen|zapłać|kupuję|zamawiam|оплатить|купить|заказать|оформить заказ|подтвердить|satın al|öde)\b"
    r"|立即购买|提交订单|确认(?:支付|付款|注销|删除|下单)|去支付|支付|購入|注文を確定|予約を確定|支払|退会|解約|구매|결제|주문",
    re.IGNORECASE,
)
_BUTTONS: Final = Anchored([(_PAYING, True)])
_CREDENTIAL: Final = re.compile(
    r"\b(?:pin|tan|cvc2?|cvv2?|card[_ -]?number|kartennummer|kreditkarte\w*|iban|kontonummer|account[_ -]?number|ssn|social security|seed[_ -]?phrase|private[_ -]?key|mnemonic|passport|ausweisnummer"
    r"|steuer[_ -]?id|numéro de carte|número de tarjeta|codice fiscale)\b",
    re.IGNORECASE,
)
"""Names of fields that nobody fills in without a thought."""
_SEARCHING: Final = re.compile(
    r"search|such|busc|cherch|cerca|zoek|szuka|поиск|検索|搜索|검색|filter|query|#q\b", re.IGNORECASE
)
_FIELD_KEYS: Final = ("name", "field", "label", "selector", "element", "id", "key", "form", "button")
_MAX_LABEL_CHARS: Final = 200


def by_money(call: Call) -> str | None:
    if _FILLING & set(call.words) and any(_CREDENTIAL.search(text) for key, text in call.texts if key in _FIELD_KEYS):
        return "gives credentials or bank details to a page"
    if _CLICKING.isdisjoint(call.words):
        return None
    is_typing = bool(_FILLING & set(call.words))
    labels = [text for key, text in call.texts if not is_typing or key in _FIELD_KEYS]
    if (
        is_typing
        and not _SUBMITTING & set(call.words)
        and (call.given.get("submit") is not True or any(map(_SEARCHING.search, labels)))
    ):
        return None
    return "spends money or cannot be taken back" if any(map(is_button, labels)) else None


def is_button(text: str) -> bool:
    """A label of what pays, binds or deletes."""
    if len(text) >= _MAX_LABEL_CHARS or "://" in text:
        return False
    return bool(_BUTTONS.first(text) or judge_order(text.replace("?", " ")))
