"""Requests that delete, spend, expose or stop something."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from server.hooks.policy.danger.names.kinds import kind_of

_DANGEROUS_URL: Final = re.compile(
    r"[/_?&=.](?:delete|remove|destroy|shutdown|reboot|restart|reset|factory[-_]?reset|_delete_by_query|unsubscribe|logout_all|wipe|format|erase|purge|transfer|pay|checkout|cancel|close|disable|revoke|unlock|terminate|drop|flush)(?:[/?&=.]|$)",
    re.IGNORECASE,
)


_SEARCHY: Final = re.compile(r"[?&](?:q|query|search|s|term|title)=", re.IGNORECASE)


_MUTATION: Final = re.compile(
    r"\bmutation\b[^{]{0,200}\{[\s\S]{0,2000}?\b\w*(?:delete|remove|destroy|transfer|archive|disable|revoke|close|merge|drop|cancel|purge|unlink)\w*\s*[({]",
    re.IGNORECASE,
)


def judge_http(tool: str, given: Mapping[str, Any]) -> str | None:
    method = next(
        (str(given[k]) for k in ("method", "verb", "http_method", "httpMethod") if isinstance(given.get(k), str)), ""
    ).upper()
    url = next((str(given[k]) for k in ("url", "path", "endpoint", "uri", "href") if isinstance(given.get(k), str)), "")
    body = next(
        (
            given[k]
            for k in ("body", "json", "data", "payload", "query", "variables", "form", "fields")
            if given.get(k) is not None
        ),
        None,
    )
    if method in ("DELETE", "PURGE"):
        return "deletes over HTTP"
    headers = given.get("headers")
    if isinstance(headers, Mapping) and any(
        str(k).lower() == "x-http-method-override" and str(v).upper() == "DELETE" for k, v in headers.items()
    ):
        return "deletes over HTTP"
    text = body if isinstance(body, str) else json.dumps(body, default=str) if body is not None else ""
    if _MUTATION.search(text.replace("\\n", "\n")):
        return "deletes over GraphQL"
    is_http = bool(method) or kind_of(tool) == "http"
    if (
        is_http
        and url
        and _DANGEROUS_URL.search(url.split("#")[0])
        and not (_SEARCHY.search(url) and method in ("", "GET"))
        and not url.endswith((".html", ".md", ".pdf"))
        and (method in ("POST", "PUT", "PATCH") or (method in ("", "GET") and _is_action(url)))
    ):
        return "does something for good over HTTP"
    if method in ("POST", "PUT", "PATCH"):
        if re.search(
            r"\"(?:action|op|operation|method|command|cmd)\" ?: ?\"(?:delete|remove|destroy|shutdown|reboot|wipe|reset|drop|transfer|pay|unlock)",
            text,
            re.IGNORECASE,
        ):
            return "does something for good over HTTP"
        if re.search(
            r"/(?:payments?|payouts?|transfers?|charges?|refunds?|orders?|checkout|purchases?|withdrawals?|invoices?/[^/]+/pay|admin|users?/[^/]+/(?:role|permissions|ban)|releases?|deployments?|merge|keys|collaborators|publish|tweets|statuses)(?:/|\?|\Z)",
            url,
            re.IGNORECASE,
        ):
            return "spends, publishes or changes rights over HTTP"
        if re.search(
            r"\"(?:visibility|access|acl)\" ?: ?\"public|\"private\" ?: ?false|\"(?:is_)?admin\" ?: ?true|\"role\" ?: ?\"(?:admin|owner|root)|\"amount",
            text,
            re.IGNORECASE,
        ):
            return "spends, exposes or changes rights over HTTP"
        if method == "PUT" or re.search(
            r"\"(?:archived|disabled|suspended|deleted|locked)\" ?: ?true|\"(?:replicas|desired_count|size)\" ?: ?0|\"(?:enabled|active)\" ?: ?false",
            text,
        ):
            return "overwrites or switches off over HTTP"
    return None


def _is_action(url: str) -> bool:
    """A GET that acts, as small devices have them: the verb is the last part of the path or a parameter of its own."""
    return bool(
        re.search(
            r"(?:[?&](?:action|cmd|do|op|command|act)=|/(?:api|cgi-bin|admin|goform|control|system|device|cm|relay)/[^?]*)(?:delete|reboot|restart|reset|shutdown|factory|wipe|unlock|erase|disable|format|remove|poweroff)",
            url,
            re.IGNORECASE,
        )
        or re.search(
            r"/(?:reboot|shutdown|reset|factory[-_]?reset|restart|_shutdown|unsubscribe|erase)(?:\.cgi|\.asp|\.htm|\.php)?(?:\?|/?\Z)",
            url,
            re.IGNORECASE,
        )
    ) and not re.search(
        r"wiki|docs?\.|/docs?/|/articles?/|/blog/|stackoverflow|search|/questions/|how-?to", url, re.IGNORECASE
    )
