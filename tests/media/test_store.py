"""The files of turns."""

import asyncio
import base64
import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from server import config
from server.media.references import OWNER_CHARS, MediaError, UrlSigner
from server.media.store import MAX_ITEMS, MediaItem, MediaStore

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


SMALL = config.MediaSettings(max_item_bytes=5000, max_total_bytes=10_000, max_age_s=60)


@dataclass
class Clock:
    now_s: float = 1_700_000_000.0

    def __call__(self) -> float:
        self.now_s += 0.01  # no two things happen at once
        return self.now_s


@dataclass
class Shop:
    folder: Path
    settings: config.MediaSettings = SMALL
    clock: Clock = field(default_factory=Clock)

    async def store(self) -> MediaStore:
        (self.folder / "shown").mkdir(exist_ok=True)
        store = MediaStore(
            self.settings,
            self.folder / "media",
            sources=[self.folder / "shown"],
            signer=UrlSigner([b"k" * 32]),
            clock_s=self.clock,
        )
        await store.start()
        return store

    @property
    def files(self) -> list[str]:
        return [path.name for path in (self.folder / "media" / "items").iterdir()]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def data_url(data: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


async def add(store: MediaStore, data: bytes = PNG, *, user_id: str = "ann", name: str | None = None) -> MediaItem:
    return await store.register(data_url(data), user_id=user_id, session_id="s", name=name)


async def is_there(store: MediaStore, item: MediaItem, *, user_id: str = "ann") -> bool:
    return await store.find(item.ref.removeprefix("media://"), user_id=user_id) is not None


async def test_a_data_url_becomes_an_item_that_its_user_finds(shop: Shop) -> None:
    store = await shop.store()

    item = await add(store, name="cat.png")

    assert (item.content_type, item.name, item.size) == ("image/png", "cat.png", len(PNG))
    found = await store.find(item.ref.removeprefix("media://"), user_id="ann")
    assert found is not None
    assert found[0].read_bytes() == PNG
    assert found[0].stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("umask", [0, 0o022, 0o277])
async def test_its_folders_are_private_whatever_the_umask(shop: Shop, umask: int) -> None:
    (shop.folder / "shown").mkdir()
    usual = os.umask(umask)
    try:
        await shop.store()
    finally:
        os.umask(usual)

    media = shop.folder / "media"
    assert [path.stat().st_mode & 0o777 for path in (media, media / "items", media / "inbox")] == [0o700] * 3


async def test_a_folder_that_others_may_enter_is_reported_with_the_cure(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    media = shop.folder / "media"
    media.mkdir(mode=0o755)
    await shop.store()
    assert [record.getMessage() for record in caplog.records] == [
        f"other users of this machine may enter {media}; run chmod 700 on it"
    ]


async def test_a_file_of_an_allowed_folder_is_copied(shop: Shop) -> None:
    store = await shop.store()
    source = shop.folder / "shown" / "notes.txt"
    source.write_text("hello")

    item = await store.register("notes.txt", user_id="ann", session_id="s")
    source.unlink()

    assert (item.content_type, item.name) == ("text/plain", "notes.txt")
    assert await is_there(store, item)


async def test_a_hook_may_put_its_files_into_the_inbox_but_reads_no_items_by_path(shop: Shop) -> None:
    store = await shop.store()
    inbox = shop.folder / "media" / "inbox"
    (inbox / "a.png").write_bytes(PNG)
    item = await store.register(str(inbox / "a.png"), user_id="ann", session_id="s")

    stolen = shop.folder / "media" / "items" / item.ref.removeprefix("media://")
    for path in (str(stolen), f"../items/{stolen.name}", f"{stolen}.json"):
        with pytest.raises(MediaError, match="no such file"):
            await store.register(path, user_id="bob", session_id="s")


async def test_an_item_is_registered_again_by_its_user_alone(shop: Shop) -> None:
    store = await shop.store()
    item = await add(store)

    again = await store.register(item.ref, user_id="ann", session_id="another")

    assert (again.ref, again.size) == (item.ref, item.size)
    with pytest.raises(MediaError, match="is gone"):
        await store.register(item.ref, user_id="bob", session_id="s")
    assert not await is_there(store, item, user_id="bob")


async def test_files_of_a_key_take_from_its_makers_share_and_are_its_own(shop: Shop) -> None:
    store = await shop.store()
    makers, keys = await add(store), await add(store, user_id="ann/visitor")

    assert len({name[:OWNER_CHARS] for name in shop.files}) == 1
    assert not await is_there(store, makers, user_id="ann/visitor")
    assert not await is_there(store, keys)


@pytest.mark.parametrize("reference", ["http://example.org/a.png", "https://example.org/a.png", "ftp://x/y"])
async def test_nothing_is_fetched_from_elsewhere(shop: Shop, reference: str) -> None:
    with pytest.raises(MediaError, match="only data: URLs, media:// ids and paths"):
        await (await shop.store()).register(reference, user_id="ann", session_id="s")


@pytest.mark.parametrize(
    ("data", "problem"), [(b"", "the file is empty"), (bytes(5001), r"larger than .* \(media\.max_item_bytes\)")]
)
async def test_what_is_empty_or_too_large_is_refused(shop: Shop, data: bytes, problem: str) -> None:
    store = await shop.store()

    with pytest.raises(MediaError, match=problem):
        await add(store, data)

    assert shop.files == []


async def test_an_item_without_a_name_gets_one(shop: Shop) -> None:
    store = await shop.store()

    assert [(await add(store, data)).name for data in (PNG, b"?")] == ["image.png", "file.bin"]


async def test_the_longest_unused_goes_when_there_is_no_room(shop: Shop) -> None:
    store = await shop.store()
    first, second = await add(store, bytes(4000)), await add(store, bytes(4000))
    assert await is_there(store, first)  # a use

    third = await add(store, bytes(4000))

    assert [await is_there(store, item) for item in (first, second, third)] == [True, False, True]
    assert len(shop.files) == 4


async def test_at_a_users_limit_the_users_longest_unused_goes_and_nobody_elses(shop: Shop) -> None:
    shop.settings = config.MediaSettings(max_item_bytes=5000, max_user_bytes=10_000, max_age_s=600)
    store = await shop.store()
    of_bob = await add(store, bytes(4000), user_id="bob")
    first, second = await add(store, bytes(4000)), await add(store, bytes(4000))
    shop.clock.now_s += 61
    assert await is_there(store, first)  # a use

    third = await add(store, bytes(4000))

    assert [await is_there(store, item) for item in (first, second, third)] == [True, False, True]
    assert await is_there(store, of_bob, user_id="bob")


async def test_what_a_user_was_just_shown_makes_no_room_for_more(shop: Shop) -> None:
    shop.settings = config.MediaSettings(
        max_item_bytes=1 << 20, max_user_bytes=2 << 20, max_user_items=2, max_age_s=600
    )
    store = await shop.store()
    shown = [await add(store) for _ in range(2)]

    with pytest.raises(MediaError, match=r"\(2 MiB, 2 files: media\.max_user_bytes, .*\); give fewer .* wait a minute"):
        await add(store)
    assert [await is_there(store, item) for item in shown] == [True, True]
    assert await is_there(store, await add(store, user_id="bob"), user_id="bob")
    assert len(shop.files) == 6
    shop.clock.now_s += 61
    assert await is_there(store, await add(store))


async def test_a_users_limit_holds_for_what_is_added_at_once(shop: Shop) -> None:
    shop.settings = config.MediaSettings(max_user_bytes=20 << 20)
    store = await shop.store()

    (shop.folder / "shown" / "large").write_bytes(bytes(4 << 20))  # written while others look for room

    shown = (store.register("large", user_id="ann", session_id="s") for _ in range(40))
    added = await asyncio.gather(*shown, return_exceptions=True)

    assert sum(isinstance(item, MediaItem) for item in added) == 5
    assert sum(isinstance(item, MediaError) for item in added) == 35
    assert len(shop.files) == 10


async def test_a_users_limit_holds_on_every_replica(shop: Shop) -> None:
    shop.settings = config.MediaSettings(max_user_items=1)
    first = await add(await shop.store())
    shop.clock.now_s += 61
    replica = await shop.store()

    second = await add(replica)

    assert [await is_there(replica, item) for item in (first, second)] == [False, True]


async def test_there_are_never_more_items_than_can_be_looked_through(shop: Shop) -> None:
    store = await shop.store()
    items = shop.folder / "media" / "items"
    for number in range(MAX_ITEMS):
        path = items / f"{number:032x}.json"
        path.touch()
        os.utime(path, (shop.clock.now_s + number / 1000, shop.clock.now_s + number / 1000))

    item = await add(store)

    assert await is_there(store, item)
    assert len({name.removesuffix(".json") for name in shop.files}) == MAX_ITEMS
    assert f"{0:032x}.json" not in shop.files


async def test_an_item_that_nobody_uses_is_gone_after_its_time(shop: Shop) -> None:
    store = await shop.store()
    item, used = await add(store), await add(store)
    shop.clock.now_s += 40
    assert await is_there(store, used)
    shop.clock.now_s += 40

    assert [await is_there(store, item), await is_there(store, used)] == [False, True]
    with pytest.raises(MediaError, match=r"kept for 1 minutes .* \(media\.max_age_s\)"):
        await store.register(item.ref, user_id="ann", session_id="s")


async def test_what_is_too_old_and_what_a_crash_left_is_removed_when_an_item_is_added(shop: Shop) -> None:
    store = await shop.store()
    await add(store)
    for rest in (".draft", "0" * 32, f"{'1' * 32}.json"):
        path = shop.folder / "media" / "items" / rest
        path.touch()
        os.utime(path, (shop.clock.now_s, shop.clock.now_s))
    shop.clock.now_s += 100

    item = await add(store)

    identity = item.ref.removeprefix("media://")
    assert sorted(shop.files) == sorted([identity, f"{identity}.json"])


async def test_another_replica_serves_and_opens_what_this_one_took(shop: Shop) -> None:
    item = await add(await shop.store())
    replica = await shop.store()

    assert await is_there(replica, item)
    assert await replica.open_image(item.ref) == ("image/png", PNG)


async def test_only_images_that_models_read_are_opened_for_one(shop: Shop) -> None:
    shop.settings = config.MediaSettings()
    store = await shop.store()
    text = await add(store, b"hello")
    large = await add(store, PNG + bytes(5 << 20))

    with pytest.raises(MediaError, match="accept only PNG, JPEG and WebP"):
        await store.open_image(text.ref)
    with pytest.raises(MediaError, match="larger than 5 MiB: scale it down"):
        await store.open_image(large.ref)
    with pytest.raises(MediaError, match="is gone"):
        await store.open_image(f"media://{'0' * 32}")
    with pytest.raises(MediaError, match="is gone"):
        await store.open_image("/etc/passwd")


async def test_a_disk_that_takes_nothing_costs_the_file_only(shop: Shop) -> None:
    store = await shop.store()
    items = shop.folder / "media" / "items"
    items.rmdir()
    items.write_text("in the way")

    with pytest.raises(MediaError, match="cannot be stored here"):
        await add(store)


async def test_a_folder_that_cannot_be_made_is_said_at_start(shop: Shop) -> None:
    (shop.folder / "media").write_text("in the way")

    with pytest.raises(MediaError, match="the folder cannot be created"):
        await shop.store()


async def test_half_an_item_is_none(shop: Shop) -> None:
    store = await shop.store()
    item = await add(store)
    (shop.folder / "media" / "items" / item.ref.removeprefix("media://")).unlink()

    assert not await is_there(store, item)
