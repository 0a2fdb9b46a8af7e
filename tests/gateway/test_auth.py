"""server/gateway/auth.py"""

import re
from dataclasses import replace
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request
from aiohttp.web import Request

from server import config
from server.accounts.accounts import Accounts
from server.accounts.principal import Principal
from server.bounded.fair_share import Share
from server.config import Secret
from server.errors import AuthError, ConfigError
from server.gateway.auth import Authenticator
from server.gateway.routes import Access
from tests.support.page_sessions import MemorySessions

TOKEN = config.UserToken(user="anna", token=Secret("annas-token-0123456789"))


def build_authenticator(*, host: str = "127.0.0.1", proxies: tuple[str, ...] = (), **security: object) -> Authenticator:
    settings = config.SecuritySettings(**security)  # type: ignore[arg-type]  # a table of settings
    return Authenticator(
        config.ListenSettings(host=host),
        settings,
        proxies,
        Accounts(settings, [b"a key of the server"], MemorySessions()),
    )


def request(peer: str = "127.0.0.1", **headers: str) -> Request:
    named = {name.replace("_", "-"): value for name, value in {"Host": "localhost:8765", **headers}.items()}
    made = make_mocked_request("GET", "/ws", headers=named)
    return made.clone(remote=peer)


@pytest.mark.parametrize(
    ("peer", "headers", "is_local"),
    [
        ("127.0.0.1", {}, True),
        ("127.8.8.8", {}, True),
        ("::1", {"Host": "[::1]:8765"}, True),
        ("::ffff:127.0.0.1", {"Host": "127.0.0.1"}, True),
        ("192.168.1.7", {}, False),
        ("127.0.0.1", {"Host": "parley.example"}, False),
        ("127.0.0.1", {"Host": "localhost.evil.example"}, False),
        ("127.0.0.1", {"Host": "127.0.0.1.evil.example"}, False),
        ("127.0.0.1", {"Forwarded": "for=1.2.3.4"}, False),
        ("127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}, False),
        ("127.0.0.1", {"X-Forwarded-Proto": "https"}, False),
        ("127.0.0.1", {"X-Real-IP": "127.0.0.1"}, False),
        ("127.0.0.1", {"Via": "1.1 proxy"}, False),
        ("", {}, False),
    ],
)
def test_local_is_a_loopback_peer_that_nothing_was_forwarded_for(
    peer: str, headers: dict[str, str], is_local: bool
) -> None:
    assert build_authenticator().principal(request(peer, **headers)).is_local is is_local


def test_without_trust_in_loopback_nobody_is_local() -> None:
    assert not build_authenticator(trust_loopback=False, auth="none").principal(request()).is_local


@pytest.mark.parametrize(
    ("listen", "header", "is_known"),
    [
        ("127.0.0.1", "localhost", True),
        ("127.0.0.1", "LOCALHOST:1", True),
        ("127.0.0.1", "localhost.:8765", True),
        ("127.0.0.1", "[::1]:8765", True),
        ("127.0.0.1", "192.168.1.2:8765", False),
        ("127.0.0.1", "evil.example", False),
        ("127.0.0.1", "named.example:8765", True),
        ("127.0.0.1", "", False),
        ("127.0.0.1", "localhost:x", False),
        ("192.168.1.2", "192.168.1.2:8765", True),
        ("192.168.1.2", "192.168.1.3:8765", False),
        ("0.0.0.0", "192.168.1.3:8765", True),
        ("::", "[fe80::1]:8765", True),
        ("0.0.0.0", "evil.example", False),
    ],
)
def test_a_host_must_be_a_name_of_ours(listen: str, header: str, is_known: bool) -> None:
    authenticator = build_authenticator(host=listen, auth="none", hosts=["Named.example"])

    refusal = authenticator.refusal(request(Host=header))

    assert (refusal is None) is is_known
    assert is_known or "security.hosts" in str(refusal)


@pytest.mark.parametrize(
    ("host", "origin", "is_ours"),
    [
        ("localhost:8765", "http://localhost:8765", True),
        ("localhost:8765", "http://LOCALHOST:8765", True),
        ("localhost", "http://localhost", True),
        ("localhost:80", "http://localhost", True),
        ("localhost", "https://localhost:443", True),
        ("[::1]:8765", "http://[::1]:8765", True),
        ("localhost:8765", "http://localhost:3000", False),
        ("localhost:8765", "http://localhost", False),
        ("localhost:8765", "http://127.0.0.1:8765", False),
        ("localhost:8765", "http://evil.example", False),
        ("localhost:8765", "null", False),
        ("localhost:8765", "http://localhost:99999999", False),
        ("localhost:8765", "file://", False),
        ("localhost:8765", "", False),
        ("localhost:8765", "https://app.example", True),
    ],
)
def test_an_origin_must_be_the_page_we_served(host: str, origin: str, is_ours: bool) -> None:
    authenticator = build_authenticator(origins=["https://App.example/"])

    assert (authenticator.refusal(request(Host=host, Origin=origin)) is None) is is_ours


def test_only_trusted_proxies_may_tell_the_address() -> None:
    authenticator = build_authenticator(proxies=("10.0.0.0/8",), auth="none")

    def address(peer: str, forwarded: str) -> str:
        return authenticator.principal(request(peer, X_Forwarded_For=forwarded)).address

    assert address("10.0.0.1", "1.2.3.4") == "1.2.3.4"
    assert address("10.0.0.1", "9.9.9.9, 1.2.3.4, 10.0.0.2") == "1.2.3.4"
    assert address("7.7.7.7", "1.2.3.4") == "7.7.7.7"
    assert address("10.0.0.1", "") == "10.0.0.1"
    assert address("10.0.0.1", "1.2.3.4:5678") == "1.2.3.4"
    assert address("10.0.0.1", "[2001:db8::1]:5678") == "2001:db8::1"
    assert address("10.0.0.1", "2001:db8::1") == "2001:db8::1"
    assert address("10.0.0.1", "1.2.3.4, anna\tis here") == "10.0.0.1", "what is no address is nobody's"


@pytest.mark.parametrize(
    ("hosts", "origins", "key"),
    [
        (["good.example:8443", "https://chat.example"], [], "hosts[1]"),
        (["chat.example/"], [], "hosts[0]"),
        ([], ["app.example"], "origins[0]"),
        ([], ["https://app.example/talk"], "origins[0]"),
    ],
)
def test_a_host_or_origin_that_no_request_could_name_is_refused(hosts: list[str], origins: list[str], key: str) -> None:
    with pytest.raises(ConfigError, match=rf"^security\.{re.escape(key)}: write it as "):
        build_authenticator(auth="none", hosts=hosts, origins=origins)


@pytest.mark.parametrize(
    ("peer", "proto", "is_secure"),
    [
        ("10.0.0.1", "https", True),
        ("10.0.0.1", "HTTPS", True),
        ("10.0.0.1", "http", False),
        ("10.0.0.1", "https, http", False),
        ("10.0.0.1", "http, https", True),
        ("10.0.0.1", "", False),
        ("7.7.7.7", "https", False),
    ],
)
def test_only_trusted_proxies_may_tell_that_the_visitor_speaks_tls(peer: str, proto: str, is_secure: bool) -> None:
    authenticator = build_authenticator(proxies=("10.0.0.0/8",), auth="none")

    assert authenticator.is_secure(request(peer, X_Forwarded_Proto=proto)) is is_secure


def test_a_page_over_tls_takes_no_plain_page_of_its_own_name_for_itself() -> None:
    authenticator = build_authenticator(proxies=("10.0.0.1",), auth="none", hosts=["chat.example"])

    def refusal(scheme: str) -> str | None:
        headers = {"Host": "chat.example", "Origin": f"{scheme}://chat.example", "X_Forwarded_Proto": "https"}
        return authenticator.refusal(request("10.0.0.1", **headers))

    assert refusal("https") is None
    assert "foreign Origin" in str(refusal("http"))


def test_a_server_that_others_could_reach_needs_a_word_about_them() -> None:
    with pytest.raises(ConfigError, match=r"security\.auth: none"):
        build_authenticator(host="0.0.0.0")
    with pytest.raises(ConfigError, match=r"security\.auth: none"):
        build_authenticator(trust_loopback=False)

    build_authenticator(host="0.0.0.0", auth="none")
    build_authenticator(
        host="0.0.0.0", tokens=[config.UserToken(user="anna", token=config.Secret("annas-token-0123456789"))]
    )
    build_authenticator(host="localhost")


def test_a_proxy_must_be_an_address() -> None:
    with pytest.raises(ConfigError, match="proxies: 'nginx'"):
        build_authenticator(proxies=("nginx",))


def key_of(user: Principal, **security: object) -> str:
    settings = config.SecuritySettings(**security)  # type: ignore[arg-type]  # a table of settings
    return Accounts(settings, [b"a key of the server"], MemorySessions()).issue_realtime_key(
        user, b"{}", lasts_s=60, name="shop"
    )[0]


def realtime_request(key: str, *, peer: str, host: str = "localhost") -> Request:
    headers = {"Host": host, "Authorization": f"Bearer {key}"}
    return make_mocked_request("GET", "/v1/realtime", headers=headers).clone(remote=peer)


LOCAL = Principal("127.0.0.1", is_local=True, is_operator=True)


async def test_a_key_made_locally_lets_others_in_and_makes_them_no_operators() -> None:
    authenticator = build_authenticator(hosts=["chat.example"], tokens=[TOKEN])
    key = key_of(LOCAL)

    far = await authenticator.admit(realtime_request(key, peer="192.0.2.7", host="chat.example"), Access.KEY)
    near = await authenticator.admit(realtime_request(key, peer="127.0.0.1"), Access.KEY)

    assert (far.user_id, far.is_operator, far.is_local, far.may_enter) == ("local/shop", False, False, True)
    assert far.limited_share == Share("local", "shop"), "all who come with such keys share the limits of a user"
    assert replace(near, address=far.address) == far, "a key has no rights of where it is used"


@pytest.mark.parametrize(
    "security", [{"auth": "token", "tokens": [TOKEN]}, {"trust_loopback": False, "tokens": [TOKEN]}]
)
async def test_a_key_made_locally_ends_when_local_requests_need_a_login(security: dict[str, Any]) -> None:
    with pytest.raises(AuthError, match="needed by now"):
        await build_authenticator(**security).admit(realtime_request(key_of(LOCAL), peer="192.0.2.7"), Access.KEY)


async def test_a_key_made_by_an_anonymous_visitor_takes_from_the_share_of_its_maker() -> None:
    key = key_of(Principal("192.0.2.1", is_local=False, user_id="anonymous@192.0.2.1"), auth="none")

    found = await build_authenticator(auth="none").admit(realtime_request(key, peer="192.0.2.7"), Access.KEY)

    assert (found.user_id, found.is_logged_in) == ("anonymous@192.0.2.1/shop", False)
    assert found.limited_share == Share("anonymous@192.0.2.1", "shop")
    with pytest.raises(AuthError, match="needed by now"):
        await build_authenticator(tokens=[TOKEN]).admit(realtime_request(key, peer="192.0.2.7"), Access.KEY)


async def test_a_key_beside_another_token_is_one_too_many() -> None:
    made = realtime_request(key_of(LOCAL), peer="127.0.0.1")
    both = make_mocked_request(
        "GET", "/v1/realtime", headers={**made.headers, "Sec-WebSocket-Protocol": "openai-insecure-api-key.other"}
    )

    with pytest.raises(AuthError, match="two tokens"):
        await build_authenticator().admit(both.clone(remote="127.0.0.1"), Access.KEY)
