"""Arguments that are a request: `method`, `url`, `body`, by these or other names."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from server.hooks.policy.danger.arguments.call import Call
from server.hooks.policy.danger.names.kinds import kind_of
from server.hooks.policy.danger.requests import holds_private_file, judge_request

_METHOD_KEYS: Final = ("method", "verb", "http_method", "httpMethod")
_URL_KEYS: Final = ("url", "path", "endpoint", "uri", "href")
_BODY_KEYS: Final = ("body", "json", "data", "payload", "query", "variables", "form", "fields")
_POSTING: Final = frozenset("post webhook".split())


def by_http(call: Call) -> str | None:
    method = _first_text(call.given, _METHOD_KEYS).upper()
    url = _first_text(call.given, _URL_KEYS)
    body = _body(call.given)
    if _overrides(call.given.get("headers")):
        return "deletes over HTTP"
    is_http = kind_of(call.tool) == "http"
    if is_http and not method and _POSTING & set(call.words):
        method = "POST"
    if "://" in url and body and holds_private_file(body):
        return "sends away what is private"
    return judge_request(method, url, body, is_http=is_http)


def _first_text(given: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((given[key] for key in keys if isinstance(given.get(key), str)), "")


def _body(given: Mapping[str, Any]) -> str:
    body = next((given[key] for key in _BODY_KEYS if given.get(key) is not None), "")
    return body if isinstance(body, str) else json.dumps(body, default=str)


def _overrides(headers: Any) -> bool:
    if not isinstance(headers, Mapping):
        return False
    return any(str(k).lower() == "x-http-method-override" and str(v).upper() == "DELETE" for k, v in headers.items())
