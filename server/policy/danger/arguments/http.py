"""Arguments that are a request: `method`, `url`, `body`, by these or other names."""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from server.policy.danger.arguments.call import Call
from server.policy.danger.arguments.statements import judge_statement, tells_of_others
from server.policy.danger.names.kinds import kind_of
from server.policy.danger.requests import CHANGING, holds_private_file, judge_request

_METHOD_KEYS: Final = ("method", "verb", "http_method", "httpMethod")
_URL_KEYS: Final = ("url", "path", "endpoint", "uri", "href", "resource", "route", "link", "request", "rest", "call")
_BODY_KEYS: Final = tuple("mutation document body json data payload query variables form fields params".split())
_ENDPOINT_KEYS: Final = ("url", "endpoint", "route")
_NESTED: Final = ("options", "request", "init", "config", "req", "opts", "input", "params")
_WITH_METHOD: Final = re.compile(r"\s*(GET|HEAD|POST|PUT|PATCH|DELETE|PURGE)\s+(\S{1,2000})")
"""Method and address in one text: `PATCH /v1/plans`."""
_TOLD: Final = re.compile(r"[?&]\w{1,40}=([A-Za-z0-9+/]{16,2000})")
_VERBS_OF_HTTP: Final = frozenset("put patch".split())
_ABOUT_REQUESTS: Final = frozenset((*_METHOD_KEYS, "body", "headers", "url"))
_ABOUT_HTTP: Final = frozenset((*_METHOD_KEYS, *_URL_KEYS, *_BODY_KEYS, *_NESTED, "headers"))
_POSTING: Final = frozenset("post webhook".split())


def by_http(call: Call) -> str | None:
    if _ABOUT_HTTP.isdisjoint(call.given):
        return None
    given = _flat(call.given)
    method = _first_text(given, _METHOD_KEYS).upper()
    url = _first_text(given, _URL_KEYS)
    if told := _WITH_METHOD.match(url):
        method, url = told.groups()
    body = _body(given)
    if _overrides(given.get("headers")):
        return "deletes over HTTP"
    is_http = kind_of(call.tool) == "http"
    if not method and url and (told_by_tool := _VERBS_OF_HTTP.intersection(call.words)):
        method = next(iter(told_by_tool)).upper()
    if url and body and not method and any(key in given for key in _ENDPOINT_KEYS):
        method = "POST"
    if is_http and not method and _POSTING & set(call.words):
        method = "POST"
    if "://" in url and body and holds_private_file(body):
        return "sends away what is private"
    if "://" in url and method in CHANGING and tells_of_others(body):
        return "sends away what others keep to themselves"
    if _TOLD.search(url) and any(map(_is_telling, _TOLD.findall(url))):
        return "sends away what is private"
    return judge_request(method, url, body, is_http=is_http)


def _is_telling(encoded: str) -> bool:
    """Base64 of a text that gives something away."""
    try:
        text = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode()
    except ValueError:
        return False
    return judge_statement(text, is_to_others=True) is not None


def _flat(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """With what stands in `options` and its like."""
    inner = next((given[key] for key in _NESTED if isinstance(given.get(key), Mapping)), None)
    is_request = inner is not None and not _ABOUT_REQUESTS.isdisjoint(inner)
    return {**inner, **given} if inner is not None and is_request else given


def _first_text(given: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((given[key] for key in keys if isinstance(given.get(key), str)), "")


def _body(given: Mapping[str, Any]) -> str:
    body = next((given[key] for key in _BODY_KEYS if given.get(key) is not None), "")
    return body if isinstance(body, str) else json.dumps(body, default=str)


def _overrides(headers: Any) -> bool:
    if not isinstance(headers, Mapping):
        return False
    return any(str(k).lower() == "x-http-method-override" and str(v).upper() == "DELETE" for k, v in headers.items())
