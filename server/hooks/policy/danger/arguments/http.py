"""Requests that delete, spend, expose or stop something."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from server.hooks.policy.danger.arguments.call import Call
from server.hooks.policy.danger.names.kinds import kind_of

_METHOD_KEYS: Final = ("method", "verb", "http_method", "httpMethod")
_URL_KEYS: Final = ("url", "path", "endpoint", "uri", "href")
_BODY_KEYS: Final = ("body", "json", "data", "payload", "query", "variables", "form", "fields")
_CHANGING: Final = ("POST", "PUT", "PATCH")

_MUTATION: Final = re.compile(
    r"\bmutation\b[^{]{0,200}\{[\s\S]{0,2000}?\b\w*(?:delete|remove|destroy|transfer|archive|disable|revoke|close|merge|drop|cancel|purge|unlink)\w*\s*[({]",
    re.IGNORECASE,
)
_ACTING_URL: Final = re.compile(
    r"[/_?&=.](?:delete|remove|destroy|shutdown|reboot|restart|reset|factory[-_]?reset|_delete_by_query|unsubscribe|logout_all|wipe|format|erase|purge"
    r"|transfer|pay|checkout|cancel|close|disable|revoke|unlock|terminate|drop|flush)(?:[/?&=.]|$)",
    re.IGNORECASE,
)
_WEIGHTY_URL: Final = re.compile(
    r"/(?:payments?|payouts?|transfers?|charges?|refunds?|orders?|checkout|purchases?|withdrawals?|invoices?/[^/]+/pay|admin"
    r"|users?/[^/]+/(?:role|permissions|ban)|releases?|deployments?|merge|keys|collaborators|publish|tweets|statuses)(?:/|\?|\Z)",
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
    r"\"(?:action|op|operation|method|command|cmd)\" ?: ?\"(?:delete|remove|destroy|shutdown|reboot|wipe|reset|drop|transfer|pay|unlock)",
    re.IGNORECASE,
)
_WEIGHTY_BODY: Final = re.compile(
    r"\"(?:visibility|access|acl)\" ?: ?\"public|\"private\" ?: ?false|\"(?:is_)?admin\" ?: ?true|\"role\" ?: ?\"(?:admin|owner|root)|\"amount",
    re.IGNORECASE,
)
_SWITCHING_OFF: Final = re.compile(
    r"\"(?:archived|disabled|suspended|deleted|locked)\" ?: ?true|\"(?:replicas|desired_count|size)\" ?: ?0|\"(?:enabled|active)\" ?: ?false"
)


def by_http(call: Call) -> str | None:
    given = call.given
    method = _first_text(given, _METHOD_KEYS).upper()
    url = _first_text(given, _URL_KEYS)
    body = _body(given)
    if method in ("DELETE", "PURGE") or _overrides(given.get("headers")):
        return "deletes over HTTP"
    if _MUTATION.search(body.replace("\\n", "\n")):
        return "deletes over GraphQL"
    if (method or kind_of(call.tool) == "http") and _acts(method, url):
        return "does something for good over HTTP"
    return _changes(method, url, body) if method in _CHANGING else None


def _acts(method: str, url: str) -> bool:
    """The address says what is done."""
    if not _ACTING_URL.search(url.split("#", maxsplit=1)[0]) or url.endswith(_PAGES):
        return False
    if method in _CHANGING:
        return True
    is_get = method in ("", "GET") and not _SEARCH.search(url) and not _PROSE.search(url)
    return is_get and _ACTING_GET.search(url) is not None


def _changes(method: str, url: str, body: str) -> str | None:
    if _ACTING_BODY.search(body):
        return "does something for good over HTTP"
    if _WEIGHTY_URL.search(url) or _WEIGHTY_BODY.search(body):
        return "spends, publishes or changes rights over HTTP"
    if method == "PUT" or _SWITCHING_OFF.search(body):
        return "overwrites or switches off over HTTP"
    return None


def _first_text(given: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((given[key] for key in keys if isinstance(given.get(key), str)), "")


def _body(given: Mapping[str, Any]) -> str:
    body = next((given[key] for key in _BODY_KEYS if given.get(key) is not None), "")
    return body if isinstance(body, str) else json.dumps(body, default=str)


def _overrides(headers: Any) -> bool:
    if not isinstance(headers, Mapping):
        return False
    return any(str(k).lower() == "x-http-method-override" and str(v).upper() == "DELETE" for k, v in headers.items())
