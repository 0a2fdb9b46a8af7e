"""What an HTTP request would do: its method, its address and its body say it, whoever makes it."""

import re
from typing import Final

from server.policy.danger.anchored import Anchored
from server.policy.danger.lexicon.meanings import meanings
from server.policy.danger.names.judge import judge_name
from server.policy.danger.paths import is_private

CHANGING: Final = ("POST", "PUT", "PATCH")

_MUTATION: Final = re.compile(r"\bmutation\b[^{]{0,200}\{", re.IGNORECASE)
_TAKING_FIELD: Final = re.compile(
    r"\b\w{0,60}?(?:delete|remove|destroy|transfer|archive|disable|revoke|close|merge|drop|cancel|purge|unlink)\w{0,60}\s{0,9}[({]",
    re.IGNORECASE,
)
_FIELD: Final = re.compile(r"\b([A-Za-z_]\w{2,60})\s{0,9}[({]")
_MAX_FIELDS: Final = 20
_ACTING_URL: Final = re.compile(
    r"[/_?&=.:-](?:delete|remove|destroy|shutdown|reboot|restart|reset|factory[-_]?reset|_delete_by_query|_update_by_query|unsubscribe|logout_all|wipe|format|erase|purge"
    r"|transfer|pay|checkout|cancel|close|disable|revoke|unlock|terminate|drop|flush|stop|kill|deactivate|suspend|rollback|empty|clear|truncate|uninstall|ban|kick|withdraw|refund|send"
    r"|publish|deploy|merge|approve|sign|force[-_]?push)(?:[/?&=.]|$)",
    re.IGNORECASE,
)
_ORDERS: Final = Anchored([(_ACTING_URL, True)])
_WEIGHTY_URL: Final = re.compile(
    r"/(?:job/[^/]{1,100}/build|payments?|payment[-_]intents|payouts?|transfers?|charges?|refunds?|orders?|checkout|purchases?|withdrawals?|bookings?|donations?|invoices?/[^/]+/pay|admin|subscriptions?"
    r"|users?/[^/]+/(?:role|roles|permissions|ban|password|email)|roles?|permissions|invitations?|releases?|deployments?|merge|keys|tokens|collaborators|members(?:hips)?|publish|tweets|statuses"
    r"|posts|broadcasts?|campaigns?|messages/send|sendMessage|chat\.postMessage|firewall[-_\w]*|dns[-_\w]*|zones/[^/]+/records?|webhooks|hooks)(?:/|\?|\Z)",
    re.IGNORECASE,
)
_MENTIONS_ALL: Final = re.compile(r"<!(?:channel|here|everyone)>|@(?:everyone|channel)\b")
_CHATS: Final = re.compile(
    r"//(?:hooks\.slack\.com|(?:\w+\.)?discord(?:app)?\.com/api/webhooks|api\.telegram\.org/bot[^/]*/send|slack\.com/api/chat\.post|graph\.facebook\.com|api\.(?:twitter|x)\.com"
    r"|api\.(?:sendgrid|mailgun|postmarkapp|twilio|resend)\.(?:com|net)|outlook\.office\.com/webhook)",
    re.IGNORECASE,
)
_SEARCH: Final = re.compile(r"[?&](?:q|query|search|s|term|title)=", re.IGNORECASE)
_PAGES: Final = (".html", ".md", ".pdf")
_PROSE: Final = re.compile(
    r"wiki|docs?\.|/docs?/|/articles?/|/blog/|stackoverflow|search|/questions/|how-?to", re.IGNORECASE
)
# a GET that acts, as small devices have them: the verb is a parameter of its own, or ends the path
_ACTING_GET: Final = re.compile(
    r"(?:[?&](?:action|cmd|do|op|command|act)=|/(?:api|cgi-bin|admin|goform|control|system|device|cm|relay)/[^?]*)"
    r"(?:delete|reboot|restart|reset|shutdown|factory|wipe|unlock|erase|disable|format|remove|poweroff)"
    r"|/(?:reboot|shutdown|reset|factory[-_]?reset|restart|_shutdown|unsubscribe|erase)(?:\.cgi|\.asp|\.htm|\.php)?(?:\?|/?\Z)",
    re.IGNORECASE,
)
_ACTING_BODY: Final = re.compile(
    r"[\"']?\b(?:action|op|operation|method|command|cmd|event|state|status)\b[\"']? ?[:=] ?[\"']?(?:delete|remove|destroy|shutdown|reboot|wipe|reset|drop|transfer|pay|unlock"
    r"|terminate|disable|cancel|stop|purge|erase|restart|suspend|deactivate|revoke)",
    re.IGNORECASE,
)
_WEIGHTY_BODY: Final = re.compile(
    r"\b(?:visibility|access|acl)\b[\"']? ?[:=] ?[\"']?public|\bprivate\b[\"']? ?[:=] ?false|\b(?:is_)?admin\b[\"']? ?[:=] ?true|\brole\b[\"']? ?[:=] ?[\"']?(?:admin|owner|root)"
    r"|\bamount(?:_cents)?\b[\"']? ?[:=]|\bmerge_method\b",
    re.IGNORECASE,
)
_SWITCHING_OFF: Final = re.compile(
    r"\b(?:archived|disabled|suspended|deleted|locked)\b[\"']? ?[:=] ?true|\b(?:replicas|desired_count|size)\b[\"']? ?[:=] ?0\b|\b(?:enabled|active)\b[\"']? ?[:=] ?false"
)
_ACTING: Final = "does something for good over HTTP"
_WEIGHTY: Final = "spends, publishes or changes rights over HTTP"
_OVERWRITING: Final = "overwrites or switches off over HTTP"
_BY_BODY: Final = Anchored(((_ACTING_BODY, _ACTING), (_WEIGHTY_BODY, _WEIGHTY), (_SWITCHING_OFF, _OVERWRITING)))
_PLACES: Final = re.compile(r"(?<![\w/.~-])@?((?:~|\.{0,2})/?[\w.~/-]{3,200})")
_CREDENTIALS_OF_A_CLOUD: Final = re.compile(
    r"//(?:169\.254\.169\.254|metadata\.google\.internal|169\.254\.170\.2|100\.100\.100\.200)\b"
)


_QUERY: Final = re.compile(r"[?#]")
_HOST: Final = re.compile(r"^\w+://[^/]*")
_IS_NAME: Final = re.compile(r"[^\W\d][^\W]*(?:[-_.:][^\W\d]\w*){0,4}")
_MAX_PATH_CHARS: Final = 300
_TAKING_AWAY: Final = (("delete",), ("reset",), ("cancel",), ("resign",), ("off",), ("restart",), ("unlock",), ("pay",))


def judge_request(method: str, url: str, body: str, *, is_http: bool = True) -> str | None:
    """`method`: in capitals, or empty where none is told; `body`: as text. `is_http`: the address alone may say it."""
    if method in ("DELETE", "PURGE"):
        return "deletes over HTTP"
    if _CREDENTIALS_OF_A_CLOUD.search(url):
        return "reads the credentials of this machine"
    if body and (_MENTIONS_ALL.search(body) or (_CHATS.search(url) and method != "GET")):
        return "speaks to others in the user's name"
    if _mutates(body):
        return "deletes over GraphQL"
    if (method or is_http) and (_acts(method, url) or _says(method, url)):
        return _ACTING
    return _changes(method, url, body) if method in CHANGING else None


def _mutates(body: str) -> bool:
    """GraphQL: a mutation one of whose fields takes something away."""
    text = body.replace("\\n", "\n")
    start = _MUTATION.search(text)
    if start is None:
        return False
    fields = _FIELD.findall(text, start.end())[:_MAX_FIELDS]
    return _TAKING_FIELD.search(text, start.end()) is not None or any(map(judge_name, fields))


def holds_private_file(body: str) -> bool:
    return any(is_private(place) for place in _PLACES.findall(body[:10_000]))


def _acts(method: str, url: str) -> bool:
    """The address says what is done."""
    address = url.split("#", maxsplit=1)[0]
    if address.endswith(_PAGES) or not _ORDERS.first(address):
        return False
    if method in CHANGING:
        return not _SEARCH.search(url)
    is_get = method in ("", "GET") and not _SEARCH.search(url) and not _PROSE.search(url)
    return is_get and _ACTING_GET.search(url) is not None


def _says(method: str, url: str) -> bool:
    """A part of the path is an order in any language: `/kinder/118/loeschen`, `/guilds/7/prune`."""
    address = _QUERY.split(url, maxsplit=1)[0]
    if method not in (*CHANGING, "", "GET") or address.endswith(_PAGES) or _SEARCH.search(url) or _PROSE.search(url):
        return False
    last = [part for part in _HOST.sub("", address)[-_MAX_PATH_CHARS:].split("/") if part][-2:]
    if method in CHANGING:
        return any(judge_name(part) is not None for part in last if _IS_NAME.fullmatch(part))
    return "?" in url and last != [] and meanings(last[-1])[:1] in _TAKING_AWAY and meanings(last[-1])[0] != last[-1]


def _changes(method: str, url: str, body: str) -> str | None:
    reason = _BY_BODY.first(body)
    if reason != _ACTING and _WEIGHTY_URL.search(url):
        return _WEIGHTY
    return reason or (_OVERWRITING if method == "PUT" else None)
