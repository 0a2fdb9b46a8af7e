"""What reaches other people, money, or the house."""

import re
from collections.abc import Mapping
from typing import Any, Final

from server.hooks.policy.danger.leaves import leaves
from server.hooks.policy.danger.spoken import judge_order
from server.hooks.policy.redaction.words import words_of

_EVERYBODY: Final = re.compile(
    r"(?:^|[^a-z])(?:all|everyone|everybody|all[-_. ]?(?:staff|hands|users|customers|employees|company|members|team)|company|staff|press|list|newsletter|subscribers|customers|here|channel|general|announcements?|public|world|broadcast|\*|alle|tous|todos|全体|所有人|全员|全社員)(?:[^a-z]|$)|@all|@channel|@here|@everyone|<!(?:channel|here|everyone)>|all_",
    re.IGNORECASE,
)


_EMERGENCY: Final = re.compile(
    r"^\+?(?:112|911|999|110|119|000|15|17|18|101|102|103|108|100|113|118|190|192|193)$|^\+?(?:1?900|0900|0190|\+49900|0137)"
)


_NETWORKS: Final = frozenset(
    "twitter x facebook instagram linkedin reddit mastodon bluesky threads tiktok youtube medium blog wordpress public weibo telegram".split()
)


_PUBLIC_SAYING: Final = re.compile(
    r"\b(?:i quit|i resign|resignation|we are bankrupt|fraud|you(?:'re| are) fired|password|passwort|passcode|2fa|one-time code|the code is|verification code|pin is|iban|credit card|kündige|kündigung)\b",
    re.IGNORECASE,
)


_MONEY: Final = re.compile(
    r"\b(?:transfer|payment|checkout|purchase|pay|order|donation|überweisung|virement|transferencia|buy now|place order|subscribe)\b",
    re.IGNORECASE,
)


def by_money(tool: str, given: Mapping[str, Any]) -> str | None:
    """Forms and buttons that pay."""
    if not set(words_of(tool)) & {"submit", "click", "press", "tap", "confirm", "form"}:
        return None
    for _, value in leaves(given):
        for item in value if isinstance(value, list) else [value]:
            if (
                isinstance(item, str)
                and len(item) < 200
                and (_MONEY.search(item) or judge_order(item))
                and "://" not in item
            ):
                return "spends money or cannot be taken back"
    return None


_WHO: Final = frozenset(
    "to cc bcc recipients channel channels numbers audience group list target chat room members segment attendees recipient users".split()
)


def by_audience(tool: str, given: Mapping[str, Any]) -> str | None:
    words = set(words_of(tool))
    if words & {"draft", "drafts", "label", "search", "read", "list"} or not words & frozenset(
        "send post message sms email mail notify reply broadcast invite share publish announce slack discord telegram teams whatsapp chat call phone dial comment forward".split()
    ):
        return None
    if words & {"post", "publish", "share"} and any(
        isinstance(v, str) and v.lower() in _NETWORKS
        for k, v in leaves(given)
        if k in ("platform", "network", "site", "service", "to", "where", "channel")
    ):
        return "speaks in public"
    if words & {"call", "phone", "dial", "sms"} and any(
        _EMERGENCY.match(re.sub(r"[\s()/-]", "", str(v))) for _, v in leaves(given) if isinstance(v, (str, int))
    ):
        return "calls for help, or at a price"
    for key, value in leaves(given):
        items = value if isinstance(value, list) else [value]
        many = len(items) > 10 or any(isinstance(item, str) and _EVERYBODY.search(item) for item in items)
        if key in _WHO and many:
            return "speaks to many"
        if (
            key in ("attachments", "attachment", "files", "attach")
            and items not in ([], [None])
            and words & {"email", "mail", "send"}
            and any(items)
        ):
            return "sends files away"
        if isinstance(value, str) and key in ("text", "body", "subject", "message", "content"):
            if re.search(r"<!(?:channel|here|everyone)>|@(?:everyone|channel|here|all)\b", value):
                return "speaks to many"
            if _PUBLIC_SAYING.search(value):
                return "says what cannot be taken back"
    return None


_GUARDS: Final = re.compile(
    r"alarm|lock|door|gate|garage|camera|siren|security|smoke|valve|oven|stove|freezer|fridge|heater|pump|cover\.(?:garage|gate)",
    re.IGNORECASE,
)


def by_home(tool: str, given: Mapping[str, Any]) -> str | None:
    words = words_of(tool)
    named = next((w for w in ("off", "on", "open", "unlock", "disarm") if w in words), "")
    service = str(
        given.get("service")
        or given.get("action")
        or given.get("state")
        or given.get("command")
        or given.get("value")
        or named
    ).lower()
    what = (
        " ".join(
            str(given.get(k, ""))
            for k in ("domain", "entity_id", "entity", "device", "target", "zone", "device_id", "appliance", "name")
        )
        + " "
        + tool
    )
    heat = next(
        (
            v
            for k, v in leaves(given)
            if k in ("temperature_c", "temperature", "target_temperature", "degrees", "celsius")
            and isinstance(v, (int, float))
        ),
        None,
    )
    if (
        heat is not None
        and heat >= 40
        and re.search(r"thermostat|heating|climate|boiler|sauna", what, re.IGNORECASE)
        and "_f" not in " ".join(given)
    ):
        return "heat without anybody there"
    if not _GUARDS.search(what):
        return None
    is_lock = re.search(r"lock|door|gate|garage|cover", what, re.IGNORECASE)
    if service in ("unlock", "open", "unlocked", "disarm", "alarm_disarm", "open_cover", "disarmed", "unlatch") or (
        is_lock and service in ("turn_off", "off", "0", "false") and "light" not in what
    ):
        return "opens the house"
    if (
        service in ("off", "turn_off", "disable", "disabled", "stop", "mute")
        and re.search(r"alarm|camera|siren|security|smoke|freezer|fridge", what, re.IGNORECASE)
        and "clock" not in what
        and "set_alarm" not in what
    ):
        return "switches a guard off"
    if service in ("on", "turn_on", "start", "preheat", "open") and re.search(
        r"oven|stove|heater|valve|gas|siren", what, re.IGNORECASE
    ):
        return "heat, gas or water without anybody there"
    return None
