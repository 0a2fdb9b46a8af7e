"""Messages, posts and calls: whom they reach, and what they say."""

import re
from typing import Any, Final

from server.hooks.policy.danger.arguments.call import Call

_LOOKING: Final = frozenset("draft drafts label search read list".split())
_SPEAKING: Final = frozenset(
    "send post message sms email mail notify reply broadcast invite share publish announce slack discord telegram teams "
    "whatsapp chat call phone dial comment forward".split()
)
_POSTING: Final = frozenset("post publish share".split())
_CALLING: Final = frozenset("call phone dial sms".split())
_MAILING: Final = frozenset("email mail send".split())
_NETWORKS: Final = frozenset(
    "twitter x facebook instagram linkedin reddit mastodon bluesky threads tiktok youtube medium blog wordpress public weibo "
    "telegram".split()
)
_NETWORK_KEYS: Final = ("platform", "network", "site", "service", "to", "where", "channel")
_WHO: Final = frozenset(
    "to cc bcc recipients channel channels numbers audience group list target chat room members segment attendees recipient users".split()
)
_FILES: Final = ("attachments", "attachment", "files", "attach")
_SAYING: Final = ("text", "body", "subject", "message", "content")
_MANY: Final = 10
_EVERYBODY: Final = re.compile(
    r"(?:^|[^a-z])(?:all|everyone|everybody|all[-_. ]?(?:staff|hands|users|customers|employees|company|members|team)|company|staff|press|list|newsletter"
    r"|subscribers|customers|here|channel|general|announcements?|public|world|broadcast|\*|alle|tous|todos|全体|所有人|全员|全社員)(?:[^a-z]|$)"
    r"|@all|@channel|@here|@everyone|<!(?:channel|here|everyone)>|all_",
    re.IGNORECASE,
)
_MENTIONS_ALL: Final = re.compile(r"<!(?:channel|here|everyone)>|@(?:everyone|channel|here|all)\b")
_FOR_GOOD: Final = re.compile(
    r"\b(?:i quit|i resign|resignation|we are bankrupt|fraud|you(?:'re| are) fired|password|passwort|passcode|2fa|one-time code|the code is"
    r"|verification code|pin is|iban|credit card|kündige|kündigung)\b",
    re.IGNORECASE,
)
# emergency numbers and those at a price
_DEAR_NUMBER: Final = re.compile(
    r"^\+?(?:112|911|999|110|119|000|15|17|18|101|102|103|108|100|113|118|190|192|193)$|^\+?(?:1?900|0900|0190|\+49900|0137)"
)
_BETWEEN_DIGITS: Final = re.compile(r"[\s()/-]")


def by_people(call: Call) -> str | None:
    words = frozenset(call.words)
    if words & _LOOKING or not words & _SPEAKING:
        return None
    if words & _POSTING and any(key in _NETWORK_KEYS and _is_network(value) for key, value in call.leaves):
        return "speaks in public"
    if words & _CALLING and any(_is_dear(value) for _, value in call.leaves):
        return "calls for help, or at a price"
    is_mail = bool(words & _MAILING)
    return next((reason for key, value in call.leaves if (reason := _reaches(key, value, is_mail=is_mail))), None)


def _is_network(value: Any) -> bool:
    return isinstance(value, str) and value.lower() in _NETWORKS


def _is_dear(value: Any) -> bool:
    return isinstance(value, (str, int)) and bool(_DEAR_NUMBER.match(_BETWEEN_DIGITS.sub("", str(value))))


def _reaches(key: str, value: Any, *, is_mail: bool) -> str | None:
    items = value if isinstance(value, list) else [value]
    if key in _WHO and (len(items) > _MANY or any(isinstance(i, str) and _EVERYBODY.search(i) for i in items)):
        return "speaks to many"
    if key in _FILES and is_mail and any(items):
        return "sends files away"
    if key in _SAYING and isinstance(value, str):
        if _MENTIONS_ALL.search(value):
            return "speaks to many"
        if _FOR_GOOD.search(value):
            return "says what cannot be taken back"
    return None
