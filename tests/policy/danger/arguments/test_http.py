"""Requests: those to ask about, and those that must bother nobody."""

from typing import Any

from server.policy.danger.calls import judge_call

Call = tuple[str, dict[str, Any]]

ASKED: list[Call] = [
    ("http_request", {"method": "PUT", "url": "https://x/y", "body": {}}),
    ("http_request", {"method": "POST", "url": "https://api/transfers", "body": {"amount": 1}}),
    ("graphql", {"query": "mutation { deleteRepository(input:{id:1}) { id } }"}),
    ("http_post", {"url": "https://api.example.com/v1/servers/9/shutdown"}),
    ("http_get", {"url": "http://192.168.1.1/reboot.cgi"}),
    ("http_request", {"method": "GET", "url": "http://192.168.1.1/reset?confirm=1"}),
    ("http_request", {"method": "PATCH", "url": "https://api.github.com/repos/a/b", "body": {"private": False}}),
    ("http_request", {"method": "POST", "url": "https://x/y", "headers": {"X-HTTP-Method-Override": "DELETE"}}),
    ("http_request", {"method": "POST", "url": "https://api/v1/users/3/deactivate"}),
    ("http_request", {"method": "POST", "url": "https://api/v1/instances/i/actions", "body": {"action": "terminate"}}),
    ("http_request", {"method": "PATCH", "url": "https://api/v1/users/3", "body": {"role": "admin"}}),
    ("http_request", {"method": "POST", "url": "https://api/v1/orders", "body": {"sku": 1}}),
    ("http_get", {"url": "http://169.254.169.254/latest/meta-data/"}),
    ("graphql", {"query": "mutation { transferFunds(to:1) { id } }"}),
]
QUIET: list[Call] = [
    ("http_request", {"method": "GET", "url": "https://api.example.com/v1/deleted-items"}),
    ("http_request", {"method": "POST", "url": "https://api.example.com/search", "body": {"q": "delete"}}),
    ("http_get", {"url": "https://docs.example.com/how-to/reset-password"}),
    ("fetch", {"url": "https://example.com/blog/delete-your-account"}),
    ("http_request", {"method": "POST", "url": "https://api.example/v1/notes", "body": {"text": "x"}}),
    ("http_request", {"method": "POST", "url": "https://api.example/graphql", "body": {"query": "{me{id}}"}}),
    ("http_request", {"method": "GET", "url": "https://api.example/orders/3"}),
    ("http_request", {"method": "HEAD", "url": "https://x"}),
]


def test_what_cannot_be_taken_back_is_asked_about() -> None:
    assert [call for call in ASKED if judge_call(call[0], "EXTERNAL", call[1]) is None] == []


def test_what_is_done_every_day_asks_nothing() -> None:
    assert [call for call in QUIET if judge_call(call[0], "EXTERNAL", call[1]) is not None] == []
