"""The folders that tools may read, and the ways out of them."""

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from server.config import ToolsSettings
from server.errors import ToolError
from server.tools import folders as module
from server.tools.builtin import build_registry
from server.tools.folders import Folders
from skills_engine.files import open_beneath


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """first/ (a.txt, sub/b.txt) and, outside of it, secret.txt."""
    first = tmp_path / "first"
    (first / "sub").mkdir(parents=True)
    (first / "a.txt").write_text("a")
    (first / "sub" / "b.txt").write_text("b")
    (tmp_path / "secret.txt").write_text("secret")
    return first


@pytest.mark.parametrize(
    "path", ["a.txt", "./a.txt", "sub/../a.txt", "sub//../a.txt", "ROOT/a.txt", "ROOT/sub/../a.txt"]
)
def test_a_path_inside_a_root_is_found(root: Path, path: str) -> None:
    assert Folders([root]).find(path.replace("ROOT", str(root))) == root / "a.txt"


def test_folders_are_found_too(root: Path) -> None:
    assert Folders([root]).find("sub/") == root / "sub"
    assert Folders([root]).find("") == root


@pytest.mark.parametrize(
    "path",
    ["../secret.txt", "sub/../../secret.txt", "/etc/passwd", "OUT/secret.txt", "..", "/", "../first2", "../nothing"],
)
def test_a_path_that_leaves_the_root_is_refused(root: Path, path: str) -> None:
    (root.parent / "first2").mkdir()
    path = path.replace("OUT", str(root.parent))

    with pytest.raises(ToolError) as caught:
        Folders([root]).find(path)

    assert str(caught.value) == f"{path}: outside the folders that may be read; give a path relative to one of them"


@pytest.mark.parametrize("path", ["c.txt", "sub/c.txt", "a.txt/b", "~", "$HOME", "first/a.txt"])
def test_a_path_that_is_not_there_is_told_so(root: Path, path: str) -> None:
    with pytest.raises(ToolError, match="no such file; search_text finds files by their text") as caught:
        Folders([root]).find(path)

    assert str(caught.value).startswith(f"{path}: ")


def test_a_link_that_leads_out_is_refused_and_one_that_stays_is_followed(root: Path) -> None:
    (root / "out").symlink_to(root.parent / "secret.txt")
    (root / "up").symlink_to(root.parent)
    (root / "in").symlink_to(root / "sub" / "b.txt")

    for path in ("out", "up/secret.txt", "up"):
        with pytest.raises(ToolError, match="outside"):
            Folders([root]).find(path)
    assert Folders([root]).find("in") == root / "sub" / "b.txt"


def test_a_link_is_followed_into_another_root_and_not_out_of_all(root: Path) -> None:
    (root / "sub" / "link").symlink_to(root / "a.txt")

    assert Folders([root / "sub", root]).find("link") == root / "a.txt"

    with pytest.raises(ToolError, match="outside"):
        Folders([root / "sub"]).find("link")


@pytest.mark.parametrize(
    ("path", "reason"),
    [("loop", "loop"), ("x" * 300, "File name too long"), ("x/" * 3000, "File name too long")],
)
def test_what_the_system_refuses_is_told_without_the_root_s_own_path(root: Path, path: str, reason: str) -> None:
    (root / "loop").symlink_to("loop")

    with pytest.raises(ToolError) as caught:
        Folders([root]).find(path)

    assert reason in str(caught.value) or "no such file" in str(caught.value)  # Python 3.13 resolves a loop quietly
    assert str(root) not in str(caught.value)


def test_a_nul_is_refused(root: Path) -> None:
    with pytest.raises(ToolError, match="NUL"):
        Folders([root]).find("a.txt\0.png")


def test_the_first_root_that_has_it_counts(root: Path) -> None:
    second = root.parent / "second"
    second.mkdir()
    (second / "a.txt").write_text("other")
    (second / "c.txt").write_text("c")
    folders = Folders([root, second])

    assert folders.find("a.txt") == root / "a.txt"
    assert folders.find("c.txt") == second / "c.txt"
    assert folders.find(f"{second}/a.txt") == second / "a.txt"
    with pytest.raises(ToolError, match="no such file"):
        folders.find("d.txt")


def test_a_root_that_is_a_link_or_not_there_does_no_harm(root: Path) -> None:
    (root.parent / "alias").symlink_to(root)
    folders = Folders([root.parent / "gone", root.parent / "alias"])

    assert folders.find("a.txt") == root / "a.txt"
    assert [shown for shown, *_ in folders.files(None)] == ["a.txt", "sub/b.txt"]


def test_without_roots_nothing_is_there() -> None:
    with pytest.raises(ToolError, match="no such file"):
        Folders([]).find("a.txt")
    assert list(Folders([]).files(None)) == []


# --- walking ------------------------------------------------------------------------------------------------------


def shown(folders: Folders, start: str | None = None) -> list[str]:
    return [name for name, *_ in folders.files(start)]


def test_files_are_listed_in_order_below_the_start(root: Path) -> None:
    (root / "Z.txt").write_text("z")
    (root / "sub" / "a.txt").write_text("a")
    folders = Folders([root])

    assert shown(folders) == ["Z.txt", "a.txt", "sub/a.txt", "sub/b.txt"]
    assert shown(folders, "") == shown(folders)
    assert shown(folders, "sub") == ["sub/a.txt", "sub/b.txt"]
    assert shown(folders, "a.txt") == ["a.txt"]
    assert [file for *_, file in folders.files("sub")] == [root / "sub" / "a.txt", root / "sub" / "b.txt"]


def test_several_roots_are_listed_one_after_the_other(root: Path) -> None:
    second = root.parent / "second"
    second.mkdir()
    (second / "a.txt").write_text("other")

    assert shown(Folders([second, root])) == ["a.txt", "a.txt", "sub/b.txt"]
    assert shown(Folders([second, root]), "sub") == ["sub/b.txt"]


def test_a_start_outside_is_refused(root: Path) -> None:
    with pytest.raises(ToolError, match="outside"):
        list(Folders([root]).files(".."))


def test_links_that_lead_out_pipes_and_the_machine_s_folders_are_left_out(root: Path) -> None:
    (root / "out").symlink_to(root.parent / "secret.txt")
    (root / "up").symlink_to(root.parent)
    (root / "in").symlink_to(root / "a.txt")
    (root / "dangling").symlink_to(root / "gone")
    os.mkfifo(root / "pipe")
    for name in (".git", "node_modules", "__pycache__", ".venv"):
        (root / "sub" / name).mkdir()
        (root / "sub" / name / "x.txt").write_text("x")

    assert shown(Folders([root])) == ["a.txt", "in", "sub/b.txt"]


def test_no_more_files_are_listed_than_the_limit(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FILES", 1)

    assert shown(Folders([root])) == ["a.txt"]


# --- opening ------------------------------------------------------------------------------------------------------


def test_what_was_found_and_then_became_a_link_or_a_pipe_is_not_opened(root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "b.txt").write_text("secret")
    (root / "in").symlink_to("sub")
    found = Folders([root]).find("in/b.txt")
    os.close(open_beneath(root, found))

    (root / "sub").rename(root / "other")
    (root / "sub").symlink_to(outside)
    for target in (found, root / "sub", root / "in"):
        with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
            open_beneath(root, target, is_folder=target != found)
    os.mkfifo(root / "pipe")
    for target in (root / "pipe", root / "other", root):
        with pytest.raises(OSError, match="not a regular file"):
            open_beneath(root, target)
    with pytest.raises(ValueError, match="subpath"):
        open_beneath(root, outside / "b.txt")


@pytest.mark.slow
async def test_a_link_or_a_pipe_that_is_swapped_in_leads_nowhere_and_holds_up_nobody(root: Path) -> None:
    is_over = threading.Event()

    def swap() -> None:
        while not is_over.is_set():
            (root / "next").symlink_to(root.parent / "secret.txt")
            (root / "next").rename(root / "a.txt")
            os.mkfifo(root / "next")
            (root / "next").rename(root / "a.txt")
            (root / "next").hardlink_to(root / "sub" / "b.txt")
            (root / "next").rename(root / "a.txt")

    swapping = threading.Thread(target=swap, name="swap")
    swapping.start()
    tool = build_registry(ToolsSettings(roots=[]), root).get("read_file")
    assert tool is not None
    read = []
    try:
        for _ in range(20_000):
            with suppress(ToolError):
                read.append(await tool.call("", {"path": "a.txt"}))
    finally:
        is_over.set()
        swapping.join()
    assert set(read) - {"a"} == {"b"}
