"""server/gateway/auth.py: tokens and cookies in requests"""

import contextlib

import pytest
from aiohttp.test_utils import make_mocked_request
from aiohttp.web import Request, Response
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from server.errors import AuthError
from server.gateway.auth import KEY_HEADER, bearer_of, cookie_of, give_cookie, key_of


def request(*headers: tuple[str, str]) -> Request:
    return make_mocked_request("GET", "/ws?token=in-the-address", headers=CIMultiDict(headers))


@pytest.mark.parametrize(
    ("headers", "token"),
    [
        ([], None),
        ([("Authorization", "Bearer abc")], "abc"),
        ([("Authorization", "BEARER  abc ")], "abc"),
        ([("Authorization", "Bearer")], ""),
        ([("Authorization", "Basic abc")], None),
        ([("Authorization", "Basic abc"), ("Authorization", "Bearer def")], "def"),
        ([("Sec-WebSocket-Protocol", "parley.v1, parley.bearer.abc")], "abc"),
        ([("Sec-WebSocket-Protocol", "parley.v1"), ("Sec-WebSocket-Protocol", "parley.bearer.a.b.c")], "a.b.c"),
        ([("Sec-WebSocket-Protocol", "parley.bearer.")], ""),
        ([("Sec-WebSocket-Protocol", "parley.v1, xparley.bearer.abc")], None),
        ([("Authorization", "Bearer abc"), ("Sec-WebSocket-Protocol", "parley.bearer.abc")], "abc"),
    ],
)
def test_a_token_is_found_in_its_two_places(headers: list[tuple[str, str]], token: str | None) -> None:
    assert bearer_of(request(*headers)) == token


@pytest.mark.parametrize(
    "headers",
    [
        [("Authorization", "Bearer abc"), ("Authorization", "Bearer def")],
        [("Authorization", "Bearer abc"), ("Sec-WebSocket-Protocol", "parley.bearer.def")],
        [("Sec-WebSocket-Protocol", "parley.bearer.abc, parley.bearer.def")],
    ],
)
def test_of_two_tokens_none_is_chosen(headers: list[tuple[str, str]]) -> None:
    with pytest.raises(AuthError, match="two tokens"):
        bearer_of(request(*headers))


@pytest.mark.parametrize(
    ("cookie", "plain", "secure"),
    [
        ("parley=a", "a", None),
        ("__Host-parley=b; parley=a", "a", "b"),
        ("x=1;parley=a;y", "a", None),
        ("parley=a; parley=a", None, None),
        ("parley=a; Parley=b", "a", None),
        ("parley", "", None),
        (" parley = a=b ", "a=b", None),
        ('parley="a; parley=b"', None, None),
        ("", None, None),
    ],
)
def test_the_cookie_is_found_by_its_whole_name(cookie: str, plain: str | None, secure: str | None) -> None:
    assert cookie_of(request(("Cookie", cookie)), is_secure=False) == plain
    assert cookie_of(request(("Cookie", cookie)), is_secure=True) == secure


def test_cookies_of_several_headers_count_together() -> None:
    made = request(("Cookie", "parley=a"), ("Cookie", "parley=b"))

    assert cookie_of(made, is_secure=False) is None


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ([], None),
        ([(KEY_HEADER, "abc")], "abc"),
        ([("Sec-WebSocket-Protocol", "parley.v1, parley.key.a-b_c")], "a-b_c"),
        ([("Sec-WebSocket-Protocol", "parley.v1, parley.bearer.abc")], None),
        ([(KEY_HEADER, "abc"), ("Sec-WebSocket-Protocol", "parley.key.abc")], "abc"),
        ([(KEY_HEADER, "abc"), ("Sec-WebSocket-Protocol", "parley.key.def")], None),
        ([(KEY_HEADER, "abc"), (KEY_HEADER, "def")], None),
    ],
)
def test_the_session_key_is_found_in_its_two_places(headers: list[tuple[str, str]], key: str | None) -> None:
    assert key_of(request(*headers)) == key


@given(st.text(max_size=80), st.booleans())
def test_no_header_makes_it_fail(text: str, is_secure: bool) -> None:
    made = request(*((name, text) for name in ("Cookie", "Sec-WebSocket-Protocol", "Authorization", KEY_HEADER)))

    assert isinstance(key_of(made), str | None)
    assert isinstance(cookie_of(made, is_secure=is_secure), str | None)
    with contextlib.suppress(AuthError):
        assert isinstance(bearer_of(made), str | None)


def test_over_tls_the_cookie_is_of_this_host_and_of_tls_alone() -> None:
    answer = Response()
    give_cookie(answer, "v1.a.b", lasts_s=60, is_secure=True)

    assert answer.cookies.output(header="").split("; ") == [
        " __Host-parley=v1.a.b",
        "HttpOnly",
        "Max-Age=60",
        "Path=/",
        "SameSite=Strict",
        "Secure",
    ]
