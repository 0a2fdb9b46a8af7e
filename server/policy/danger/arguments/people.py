"""Messages, posts and calls: whom they reach, and what they say."""

import re
from typing import Any, Final

from server.policy.danger.arguments.call import Call
from server.policy.danger.arguments.statements import judge_statement

_LOOKING: Final = frozenset("draft drafts label search read list".split())
_SPEAKING: Final = frozenset(
    "send post message sms email mail notify reply broadcast invite share publish announce slack discord telegram teams "
    "whatsapp signal matrix messenger line wechat viber threema imessage telegraph chat call phone dial comment forward letter fax pec twilio vonage newsletter campaign mailing imap smtp".split()
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
    "to cc bcc recipients channel channels numbers audience group list target chat room team members segment attendees recipient users".split()
)
_GROUPS: Final = frozenset("group channel chat room chat_name space forum topic team".split())
"""Where several people read."""
_FILES: Final = ("attachments", "attachment", "files", "attach")
_SAYING: Final = ("text", "body", "subject", "message", "content", "caption", "title")
_MANY: Final = 10
_EVERYBODY: Final = re.compile(
    r"(?:^|[^a-z])(?:all|everyone|everybody|all[-_. ]?(?:staff|hands|users|customers|employees|company|members|team)|company|staff|press|list|newsletter"
    r"|subscribers|customers|here|channel|general|announcements?|public|world|broadcast|\*|alle|alla|allen|tous|todos|tutti|todas|wszyscy|wszystkich|все|всем|всi|全体|所有人|全员|全社員|みなさん|전체|mailinglist|verteiler|announce|staff|team|board|vorstand|presse|media|redaktion)(?:[^a-z]|$)"
    r"|@all|@channel|@here|@everyone|<!(?:channel|here|everyone)>|all_",
    re.IGNORECASE,
)
_MENTIONS_ALL: Final = re.compile(r"<!(?:channel|here|everyone)>|@(?:everyone|channel|here|all)\b")
# emergency numbers and those at a price
_DEAR_NUMBER: Final = re.compile(
    r"^\+?(?:112|911|999|110|119|000|15|17|18|101|102|103|108|100|113|118|190|192|193)$|^\+?(?:1?900|0900|0190|\+49900|0137)"
)
_NUMBER: Final = re.compile(r"\s*(?:\+|00|tel:)\d[\d\s()/-]{5,20}\Z")
_INVITED: Final = ("attendees", "invitees", "guests", "participants")
_OWN: Final = re.compile(r"(?:me|myself|self|moi|yo|io|ich|mich|eu|ja|ik|jag|я|自分|我)(?:@|\Z)", re.IGNORECASE)
"""Whoever writes it."""
_BETWEEN_DIGITS: Final = re.compile(r"[\s()/-]")


def by_people(call: Call) -> str | None:
    words = frozenset(call.words)
    if any(key in _INVITED and _reaches("to", value, is_mail=False, is_group=False) for key, value in call.leaves):
        return "speaks to many"
    if words & _LOOKING or not words & _SPEAKING:
        return None
    if words & _POSTING and any(key in _NETWORK_KEYS and _is_network(value) for key, value in call.leaves):
        return "speaks in public"
    if words & _CALLING and any(_is_dear(value) for _, value in call.leaves):
        return "calls for help, or at a price"
    is_mail = bool(words & _MAILING)
    if isinstance(chat := call.given.get("chat_id"), int) and chat < 0:  # Telegram: a group
        words |= {"group"}
    is_group = (
        "group" in words
        or not _GROUPS.isdisjoint(call.given)
        or any(_is_group(value) for key, value in call.leaves if key in _WHO)
    )
    reasons = (_reaches(key, value, is_mail=is_mail, is_group=is_group) for key, value in call.leaves)
    return next((reason for reason in reasons if reason), None)


def is_to_oneself(call: Call) -> bool:
    """A message whose only reader writes it, without files."""
    if _SPEAKING.isdisjoint(call.words) or any(key in _FILES and value for key, value in call.leaves):
        return False
    to = [
        item for key in ("to", "recipients", "recipient", "cc", "bcc", "à", "an") for item in _list(call.given.get(key))
    ]
    own = str(call.given.get("from", ""))
    return bool(to) and all(item == own or _OWN.match(item) for item in to)


def _list(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [value] if isinstance(value, str) else []


def _is_group(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1


def _is_network(value: Any) -> bool:
    return isinstance(value, str) and value.lower() in _NETWORKS


def _is_dear(value: Any) -> bool:
    return isinstance(value, (str, int)) and bool(_DEAR_NUMBER.match(_BETWEEN_DIGITS.sub("", str(value))))


def _reaches(key: str, value: Any, *, is_mail: bool, is_group: bool) -> str | None:
    items = value if isinstance(value, list) else [value]
    if key in _WHO and len(items) > 2 and all(isinstance(i, str) and _NUMBER.match(i) for i in items):
        return "speaks to many"
    if key in _WHO and (len(items) > _MANY or any(isinstance(i, str) and _EVERYBODY.search(i) for i in items)):
        return "speaks to many"
    if key in _FILES and is_mail and any(items):
        return "sends files away"
    if key in _SAYING and isinstance(value, str):
        if _MENTIONS_ALL.search(value):
            return "speaks to many"
        return judge_statement(value, is_to_others=is_group)
    return None
