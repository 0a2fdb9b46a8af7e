"""A file or folder that becomes a link, and itself again, as fast as a thread can."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def swapped_for_a_link(place: Path, leads_to: Path, aside: Path) -> Iterator[None]:
    """Swap `place` again and again until the block ends; `aside` is a new folder on the same disk."""
    aside.mkdir()
    spare, kept = aside / "link", aside / "kept"
    spare.symlink_to(leads_to)
    is_over = threading.Event()

    def swap() -> None:
        while not is_over.is_set():
            place.rename(kept)
            os.link(spare, place, follow_symlinks=False)
            place.unlink()
            kept.rename(place)

    swapping = threading.Thread(target=swap, name="swap")
    swapping.start()
    try:
        yield
    finally:
        is_over.set()
        swapping.join()
