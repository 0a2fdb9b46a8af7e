"""server/media/store.py: which files make room for a new one"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from server import config
from server.media.references import MediaError
from server.media.store import HELD_S, MAX_ITEMS, Coming, Kept, choose_leaving

NOW_S = 10_000.0


def settings(**limits: int) -> config.MediaSettings:
    return replace(config.MediaSettings(max_item_bytes=1024), **limits)


def kept(owner: str, age_s: float, size: int = 1000) -> Kept:
    return Kept(f"{owner}{age_s}", owner, NOW_S - age_s, size)


def test_without_need_only_what_is_too_old_goes() -> None:
    old, young = kept("a", 1801), kept("a", 1799)

    assert choose_leaving([young, old], settings(), now_s=NOW_S) == [old]
    assert choose_leaving([young, old], settings(), now_s=NOW_S, coming=Coming("a", 1000)) == [old]


def test_a_full_share_gives_up_its_own_longest_unused_as_few_as_will_do() -> None:
    mine = [kept("a", age_s) for age_s in (100, 300, 200)]
    others = [kept("b", 1000)]

    leaving = choose_leaving([*mine, *others], settings(max_user_bytes=3500), now_s=NOW_S, coming=Coming("a", 1024))
    assert leaving == [mine[1]]
    leaving = choose_leaving([*mine, *others], settings(max_user_items=2), now_s=NOW_S, coming=Coming("a", 1))
    assert leaving == [mine[1], mine[2]]


def test_what_is_held_is_not_given_up_for_a_later_file() -> None:
    mine = [kept("a", 100), kept("a", HELD_S - 1)]
    one = settings(max_user_items=1)

    with pytest.raises(MediaError, match="wait a minute"):
        choose_leaving(mine, one, now_s=NOW_S, coming=Coming("a", 1))
    assert choose_leaving(mine, one, now_s=NOW_S, coming=Coming("b", 1)) == []
    assert choose_leaving(mine, one, now_s=NOW_S + 2, coming=Coming("a", 1)) == mine


def test_a_full_folder_gives_up_the_longest_unused_of_all() -> None:
    items = [kept("a", 100), kept("b", 300), kept("c", 5)]

    leaving = choose_leaving(items, settings(max_total_bytes=3000), now_s=NOW_S, coming=Coming("c", 1000))
    assert leaving == [items[1]]
    many = [kept("a", float(age_s), 1) for age_s in range(1, MAX_ITEMS + 1)]
    assert [i.used_s for i in choose_leaving(many, settings(max_age_s=86_400), now_s=NOW_S, coming=Coming("b", 1))] == [
        NOW_S - MAX_ITEMS
    ]


ITEMS = st.lists(
    st.builds(kept, st.sampled_from("abc"), st.floats(0, 2000, allow_nan=False), st.integers(0, 1024)), max_size=12
)


@given(items=ITEMS, size=st.integers(1, 1024), most=st.integers(1, 6))
def test_what_stays_and_comes_fits_every_limit(items: list[Kept], size: int, most: int) -> None:
    limits = settings(max_user_items=most, max_user_bytes=2048, max_total_bytes=4096)
    items = list({item.item_id: item for item in items}.values())

    try:
        leaving = choose_leaving(items, limits, now_s=NOW_S, coming=Coming("a", size))
    except MediaError:
        assert any(item.owner == "a" and item.used_s > NOW_S - HELD_S for item in items)
        return
    staying = [item for item in items if item not in leaving]
    own = [item for item in staying if item.owner == "a"]
    assert len(leaving) + len(staying) == len(items)
    assert len(own) + 1 <= most
    assert sum(item.size for item in own) + size <= 2048
    assert sum(item.size for item in staying) + size <= 4096
    assert all(item.used_s >= NOW_S - 1800 for item in staying)
