"""URLs that one user can open for a while."""

from urllib.parse import parse_qs, urlsplit

import pytest

from server.media.references import OWNER_CHARS, URL_LIFE_S, UrlSigner

ID, OTHER_ID = "a" * 32, "b" * 32
NOW_S = 1_000_000.0


def fields(url: str) -> dict[str, str]:
    query = {key: values[0] for key, values in parse_qs(urlsplit(url).query, strict_parsing=True).items()}
    return {"user": query["u"], "expires": query["e"], "signature": query["s"]}


def is_valid(
    signer: UrlSigner,
    url: str,
    *,
    item: str = ID,
    user_id: str = "ann",
    at_s: float = NOW_S,
    changed: dict[str, str] | None = None,
) -> bool:
    given = fields(url) | (changed or {})
    return signer.is_valid(
        item,
        user_id=user_id,
        user=given["user"],
        expires=given["expires"],
        signature=given["signature"],
        now_s=at_s,
    )


@pytest.fixture
def signer() -> UrlSigner:
    return UrlSigner([b"k" * 32])


def test_a_url_is_valid_for_its_item_and_user_until_its_time_is_over(signer: UrlSigner) -> None:
    url = signer.url(ID, "ann", now_s=NOW_S)

    assert urlsplit(url).path == f"/media/{ID}"
    assert is_valid(signer, url)
    assert is_valid(signer, url, at_s=NOW_S + URL_LIFE_S - 1)
    assert not is_valid(signer, url, at_s=NOW_S + URL_LIFE_S)
    assert not is_valid(signer, url, item=OTHER_ID)
    assert not is_valid(signer, url, user_id="bob")


@pytest.mark.parametrize(
    "changed",
    [
        {"expires": "99999999999"},
        {"expires": ""},
        {"expires": "nan"},
        {"user": ""},
        {"signature": ""},
        {"signature": "ä\ud800"},
        {"user": "x", "signature": "x", "expires": "x"},
    ],
)
def test_nothing_of_a_url_can_be_changed(signer: UrlSigner, changed: dict[str, str]) -> None:
    assert not is_valid(signer, signer.url(ID, "ann", now_s=NOW_S), changed=changed)


def test_a_url_does_not_name_its_user(signer: UrlSigner) -> None:
    assert "ann" not in signer.url(ID, "ann@example.org", now_s=NOW_S)


def test_urls_of_the_key_before_stay_valid(signer: UrlSigner) -> None:
    url = signer.url(ID, "ann", now_s=NOW_S)
    renewed = UrlSigner([b"n" * 32, b"k" * 32])

    assert is_valid(renewed, url)
    assert not is_valid(signer, renewed.url(ID, "ann", now_s=NOW_S))


def test_an_owner_has_one_tag_which_does_not_name_them(signer: UrlSigner) -> None:
    assert signer.owner_tag("ann") == signer.owner_tag("ann") != signer.owner_tag("bob")
    assert len(bytes.fromhex(signer.owner_tag("ann"))) * 2 == OWNER_CHARS
    assert UrlSigner([b"other" * 8]).owner_tag("ann") != signer.owner_tag("ann")
