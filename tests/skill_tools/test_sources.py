"""Skills read from folders, zips and git repositories: what is found, and what is refused."""

import http.server
import os
import re
import socket
import threading
import zipfile
from pathlib import Path

import pytest

from skill_tools.sharing.bundle import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_FILES,
    FolderTree,
    SharingError,
    SkillBundle,
    find_skill,
)
from skill_tools.sharing.sources import Arrival, GitTree, SkillSource, fetch, parse_source
from tests.skill_tools.repositories import commit, git, make_repository, make_zip
from tests.skills_engine.folders import entry, make_skill

PAGE = "---\nname: calm\ndescription: Calm.\n---\n"


def read(text: str | Path) -> Arrival:
    return fetch(parse_source(str(text)))


def refusal(text: str | Path) -> str:
    with pytest.raises(SharingError) as caught:
        read(text)
    return str(caught.value)


# -- what the user names ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "location", "ref", "path"),
    [
        ("https://example.org/a/b.git", "https://example.org/a/b.git", None, ""),
        ("https://example.org/a/b@v1#skills/pdf", "https://example.org/a/b", "v1", "skills/pdf"),
        ("https://example.org/a/b#skills/pdf@feature/x", "https://example.org/a/b", "feature/x", "skills/pdf"),
        ("git@example.org:a/b.git@main#/X/", "git@example.org:a/b.git", "main", "X"),
        ("ssh://git@example.org:22/a/b@v1", "ssh://git@example.org:22/a/b", "v1", ""),
        ("https://example.org/a/b/tree/main/skills/pdf", "https://example.org/a/b", "main", "skills/pdf"),
        ("https://example.org/a/b/-/tree/main/", "https://example.org/a/b", "main", ""),
    ],
)
def test_a_git_url_may_name_a_ref_and_a_path(text: str, location: str, ref: str | None, path: str) -> None:
    assert parse_source(text) == SkillSource("git", location, ref, path)
    assert parse_source(str(parse_source(text))) == parse_source(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("/no/such/folder", "no such file or folder"),
        ("ext::sh -c true", "no such file or folder"),
        ("--upload-pack=true", "no such file or folder"),
        ("https://me:secret@example.org/a", "^a URL with .* is not kept: let git ask its credential helper$"),
        ("https://example.org/a@--upload-pack=true", "no branch, tag or commit"),
        ("https://example.org/a@+main:main", "no branch, tag or commit"),
        ("https://example.org/a#../x", "expected the path of a folder in the source"),
        ("https://example.org/a#x/./y", "expected the path of a folder in the source"),
        ("https://example.org/a#x//y", "expected the path of a folder in the source"),
        (__file__, "is no zip"),
    ],
)
def test_what_names_no_source_is_refused(text: str, words: str) -> None:
    assert re.search(words, refusal(text))


# -- what is found ---------------------------------------------------------------------------------------------------


def test_what_never_ends_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # read, it would wait for a writer; /dev/zero would give zeros without end

    assert "is no zip" in refusal(tmp_path / "pipe")


def test_a_skill_is_read_from_its_folder_without_what_is_hidden(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "calm", entry())
    for name in (".DS_Store", ".git/HEAD", "node_modules/x.js", "scripts/run.sh", "scripts/.hidden"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name)
    (folder / "scripts" / "run.sh").chmod(0o755)

    found = read(folder)

    assert (found.name, found.commit, found.source) == ("calm", None, SkillSource("folder", str(folder)))
    assert sorted(found.bundle.files) == ["SKILL.md", "hooks/hint.md", "hooks/hooks.json", "scripts/run.sh"]
    assert found.bundle.programs == {"scripts/run.sh"}
    assert found.bundle.left_out == (".DS_Store", ".git", "node_modules", "scripts/.hidden")
    (folder / "HEAD").touch()
    assert read(folder).source.kind == "folder", "a bare repository has objects, too"


def test_the_only_skill_is_found_and_of_several_one_is_to_be_named(tmp_path: Path) -> None:
    make_skill(tmp_path / "repo" / ".agents" / "skills", "calm")
    assert read(tmp_path / "repo").name == "calm"
    assert read(f"{tmp_path}/repo#.agents").source.path == ".agents/skills/calm"

    make_skill(tmp_path / "repo" / "skills", "brisk")
    message = refusal(tmp_path / "repo")
    assert message.startswith(f"{tmp_path}/repo holds 2 skills: add one with #PATH")
    assert message.endswith("one of .agents/skills/calm, skills/brisk")
    assert read(f"{tmp_path}/repo#skills").name == "brisk"
    assert refusal(f"{tmp_path}/repo#docs").startswith(f"{tmp_path}/repo has no skill in docs: add one")


def test_hooks_of_a_repository_do_not_make_it_a_skill_while_it_holds_some(tmp_path: Path) -> None:
    make_skill(tmp_path, "repo", entry(), skill_md=None)
    assert read(tmp_path / "repo").name == "repo"

    make_skill(tmp_path / "repo" / "skills", "calm")
    assert read(tmp_path / "repo").name == "calm"


def test_the_outermost_skill_counts_and_of_many_some_are_named() -> None:
    assert find_skill(["a/SKILL.md", "a/b/SKILL.md"], "", "here") == "a"
    assert find_skill(["dX/hooks/hooks.json"], "", "here") == "dX"
    for count, end in ((20, "s18, s19"), (22, "s18, s19 and 2 more")):
        with pytest.raises(SharingError, match=f"^here holds {count} skills: add one with .* of s00, s01, .*, {end}$"):
            find_skill([f"s{number:02}/SKILL.md" for number in range(count)], "", "here")
    with pytest.raises(SharingError, match=r"one of x/a, x/b$"):
        find_skill(["c/SKILL.md", "x/a/SKILL.md", "x/b/SKILL.md"], "x", "here")


def test_a_source_without_a_skill_is_refused(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("x")

    assert refusal(tmp_path) == f"{tmp_path} holds no skill: expected a folder with SKILL.md or hooks/hooks.json"


def test_a_zip_holds_a_folder_or_the_files_themselves(tmp_path: Path) -> None:
    inner = make_zip(tmp_path / "one-v2.zip", {"calm/SKILL.md": PAGE, "__MACOSX/calm/._SKILL.md": "x"})
    flat = make_zip(tmp_path / "two.zip", {"SKILL.md": PAGE})
    binary = make_zip(tmp_path / "three.zip", {"SKILL.md": PAGE.encode() + b"\xff"})
    nameless = make_zip(tmp_path / "four.zip", {"skill.md": "# Four"})
    unfit = make_zip(tmp_path / "five.zip", {"SKILL.md": "---\nname: No. 5\n---\n"})

    found = [read(path).name for path in (inner, flat, binary, nameless, unfit)]
    assert found == ["calm", "calm", "calm", "four", "five"]
    assert read(inner).bundle.digest == read(flat).bundle.digest
    both = make_zip(tmp_path / "both.zip", {"calm/SKILL.md": PAGE, "brisk/SKILL.md": PAGE})
    assert read(f"{both}#brisk").source == SkillSource("zip", str(both), path="brisk")


def test_the_hash_is_of_paths_and_bytes() -> None:
    one = SkillBundle({"a": b"bc", "d": b""})

    assert one.digest == SkillBundle({"d": b"", "a": b"bc"}, frozenset("a"), ("x",)).digest
    assert one.digest != SkillBundle({"a": b"b", "cd": b""}).digest


# -- git -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    make_skill(tmp_path / "repo" / "skills", "calm", entry())
    make_skill(tmp_path / "repo" / "skills", "brisk")
    return make_repository(tmp_path / "repo")


@pytest.mark.parametrize("serves_parts", [True, False])
def test_a_git_repository_is_read_at_a_branch_a_tag_or_a_commit(repository: Path, serves_parts: bool) -> None:
    git(repository, "config", "uploadpack.allowFilter", str(serves_parts).lower())
    first = git(repository, "rev-parse", "HEAD")
    git(repository, "tag", "v1")
    git(repository, "switch", "--quiet", "--create", "feature/new")
    (repository / "skills" / "calm" / "new.md").write_text("new")
    second = commit(repository)
    git(repository, "switch", "--quiet", "main")
    url = repository.as_uri()

    found = {ref: read(f"{url}{ref}#skills/calm") for ref in ("", "@v1", "@feature/new", f"@{second}")}

    assert [one.commit for one in found.values()] == [first, first, second, second]
    assert ["new.md" in one.bundle.files for one in found.values()] == [False, False, True, True]
    assert found[""].bundle.digest == read(f"{repository}#skills/calm").bundle.digest


def test_a_local_repository_is_one_where_it_is_bare_or_a_ref_is_named(repository: Path) -> None:
    bare = repository.parent / "bare.git"
    git(repository.parent, "clone", "--quiet", "--bare", str(repository), str(bare))
    git(repository, "tag", "v1")
    (repository / "skills" / "calm" / "new.md").write_text("new")
    commit(repository)

    assert read(f"{bare}#skills/calm").source.kind == "git"
    assert "new.md" not in read(f"{repository}#skills/calm@v1").bundle.files
    (repository / "skills" / "calm" / "draft.md").write_text("not committed")
    assert "draft.md" not in read(f"{repository}@main#skills/calm").bundle.files
    assert "draft.md" in read(f"{repository}#skills/calm").bundle.files
    moved = repository.rename(repository.with_name("repo@home"))
    assert "new.md" not in read(f"{moved}@v1#skills/calm").bundle.files


def test_the_files_of_a_skill_are_fetched_at_once(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repository, "config", "uploadpack.allowFilter", "true")
    served = tmp_path / "served.sh"
    served.write_text(f'#!/bin/sh\necho >> {tmp_path}/log\nexec "$@"\n')
    served.chmod(0o755)
    (tmp_path / ".gitconfig").write_text(f"[uploadpack]\n  packObjectsHook = {served}\n")
    monkeypatch.setenv("HOME", str(tmp_path))

    assert len(read(f"{repository.as_uri()}#skills/calm").bundle.files) == 3
    assert (tmp_path / "log").read_text() == "\n\n", "once the commit with its folders, once the files"


def test_only_the_newest_commit_is_fetched_into_a_repository_without_hooks(repository: Path, tmp_path: Path) -> None:
    (repository / "with\ttab").touch()
    commit(repository)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    tree = GitTree(repository.as_uri(), None, scratch)

    assert git(scratch / "repository", "rev-list", "--count", tree.commit) == "1"
    assert not (scratch / "repository" / "hooks").exists()
    assert "with\ttab" in tree.entries


def test_nothing_of_the_repository_is_run(repository: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    for name in ("post-checkout", "reference-transaction", "post-merge"):
        hook = repository / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
        hook.chmod(0o755)
    (repository / ".gitattributes").write_text("* filter=evil\n")
    git(repository, "config", "filter.evil.smudge", f"touch {marker}")
    git(repository, "-c", "core.hooksPath=/dev/null", "add", "--all")
    git(repository, "-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", "x")

    assert read(f"{repository.as_uri()}#skills/calm").name == "calm"
    assert not marker.exists()


def test_a_submodule_in_a_skill_is_refused(repository: Path) -> None:
    git(repository, "submodule", "--quiet", "add", repository.as_uri(), "skills/calm/inner")
    commit(repository)

    assert "inner is neither a file nor a folder" in refusal(f"{repository.as_uri()}#skills/calm")


def test_what_git_says_is_passed_on(repository: Path) -> None:
    assert "couldn't find remote ref gone" in refusal(f"{repository.as_uri()}@gone")
    assert refusal("file:///no/such/place.git").startswith("git cannot read file:///no/such/place.git: fatal: ")


@pytest.mark.parametrize(
    ("errors", "reason"),
    [
        (r"warning: old\nerror: no such ref\nlast\n", "error: no such ref"),
        (r"remote: denied\nlast\n", "remote: denied"),
        (r"fatal: \377", "fatal: \ufffd"),
        (r"first\nlast\n", "last"),
        ("", "no reason given"),
        pytest.param("x" * 5000, "x" * 4096, id="long"),
    ],
)
def test_the_line_with_the_reason_is_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, errors: str, reason: str
) -> None:
    (tmp_path / "git").write_text(f"#!/bin/sh\nprintf '{errors}' >&2\nexit 1\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    assert refusal("file:///place.git") == f"git cannot read file:///place.git: {reason}"


def test_git_knows_how_to_connect_and_nothing_else_of_the_callers_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "git").write_text(f"#!/bin/sh\nenv > {tmp_path}/seen\nexit 1\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    given = {"GIT_SSH_COMMAND": "ssh -v", "GIT_OBJECT_DIRECTORY": "/else", "GIT_TERMINAL_PROMPT": "1"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)

    refusal("file:///place.git")
    seen = dict(line.split("=", 1) for line in (tmp_path / "seen").read_text().splitlines() if line.startswith("GIT_"))
    assert seen == {
        "GIT_SSH_COMMAND": "ssh -v",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "GIT_ALLOW_PROTOCOL": "file:https:ssh",
    }
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert refusal("file:///a.git") == "there is no program `git` here: install it, or give a folder or a zip"


def test_git_asks_nobody_for_a_password() -> None:
    class Closed(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="closed"')
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Be quiet."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Closed) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            source = parse_source(f"http://127.0.0.1:{server.server_port}/a.git")
            with pytest.raises(SharingError, match="git cannot read"):
                fetch(source, is_trusted=True)
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("scheme", ["http", "git"])
def test_a_source_that_others_could_change_on_the_way_is_refused_with_the_cure(scheme: str) -> None:
    told = refusal(f"{scheme}://127.0.0.1:9/a.git#calm")

    assert told.startswith(f"{scheme}://127.0.0.1:9/a.git#calm: ")
    assert {"https://", "ssh://,", "--insecure"} <= set(told.split())


def test_a_repository_that_does_not_answer_is_given_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"git://127.0.0.1:{silent.getsockname()[1]}/a.git"
        hanging_up = threading.Timer(10, silent.close)  # else git waited for ever, and this test with it
        hanging_up.start()
        with pytest.raises(SharingError, match="was not read in time"):
            GitTree(url, None, tmp_path, limit_s=0.5)
        hanging_up.cancel()


def test_a_repository_that_is_too_large_is_given_up(repository: Path, tmp_path: Path) -> None:
    (repository / "skills" / "calm" / "data.bin").write_bytes(os.urandom(2 << 20))
    commit(repository)
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    with pytest.raises(SharingError, match="is larger than 1 MiB"):
        GitTree(repository.as_uri(), None, scratch, max_fetched_bytes=1 << 20)


def test_a_repository_may_have_its_bytes_to_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    with pytest.raises(SharingError, match="no reason given"):
        GitTree("file:///a.git", None, scratch, max_fetched_bytes=0)


# -- links, names, limits --------------------------------------------------------------------------------------------


def linked(tmp_path: Path, kind: str, target: str) -> str:
    """Make a skill whose `link.md` leads to `target`, in a source of this kind."""
    folder = make_skill(tmp_path / "repo", "calm")
    if kind == "zip":
        files = {"calm/SKILL.md": PAGE, "calm/docs/a.md": "A", "calm/link.md": target}
        return str(make_zip(tmp_path / "calm.zip", dict(files), links=("calm/link.md",)))
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text("A")
    (folder / "link.md").symlink_to(target)
    return f"{make_repository(tmp_path / 'repo').as_uri()}#calm" if kind == "git" else str(folder)


@pytest.mark.parametrize("kind", ["folder", "zip", "git"])
def test_a_link_inside_becomes_the_file_it_leads_to(tmp_path: Path, kind: str) -> None:
    assert read(linked(tmp_path, kind, "docs/../docs/a.md")).bundle.files["link.md"] == b"A"


def test_a_link_is_followed_from_its_own_folder(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {"SKILL.md": PAGE, "docs/a.md": "A", "docs/link.md": "a.md"}

    assert read(make_zip(tmp_path / "calm.zip", files, links=("docs/link.md",))).bundle.files["docs/link.md"] == b"A"


@pytest.mark.parametrize("target", ["../../secret.txt", "/etc/passwd", "docs", "gone.md", "link.md"])
@pytest.mark.parametrize("kind", ["folder", "zip", "git"])
def test_a_link_that_leads_elsewhere_is_refused(tmp_path: Path, kind: str, target: str) -> None:
    (tmp_path / "secret.txt").write_text("secret")

    message = "link.md is a link that leads to no file of the skill: put the file itself there"
    assert refusal(linked(tmp_path, kind, target)) == message


@pytest.mark.parametrize("name", ["../evil.md", "/evil.md", "calm/../../evil.md", "calm\\evil.md"])
def test_a_zip_with_names_that_lead_out_is_refused(tmp_path: Path, name: str) -> None:
    assert "which leads out of it" in refusal(make_zip(tmp_path / "x.zip", {"calm/SKILL.md": PAGE, name: "x"}))


@pytest.mark.parametrize("name", [".", ".."])
def test_a_commit_with_names_that_lead_out_is_refused(repository: Path, tmp_path: Path, name: str) -> None:
    folder, page = (
        bytes.fromhex(git(repository, "rev-parse", f"HEAD:skills/calm{part}")) for part in ("", "/SKILL.md")
    )
    (tmp_path / "tree").write_bytes(b"40000 %s\0%s100644 SKILL.md\0%s" % (name.encode(), folder, page))
    tree = git(repository, "hash-object", "-w", "-t", "tree", "--literally", str(tmp_path / "tree"))
    git(repository, "tag", "evil", git(repository, "commit-tree", "-m", "x", tree))

    message = f"'{name}/SKILL.md' is no name that a file of a skill may have: rename it"
    assert refusal(f"{repository.as_uri()}@evil") == message


@pytest.mark.parametrize("name", ["a:b.md", "a\nb.md", "a\x1bb.md", "x" * 300])
def test_names_that_are_no_segment_are_refused(tmp_path: Path, name: str) -> None:
    path = make_zip(tmp_path / "x.zip", {"calm/SKILL.md": PAGE, f"calm/{name}": "x"})

    assert "is no name that a file of a skill may have" in refusal(path)


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "x.zip", {"SKILL.md": PAGE, "skill.mD": "x"})
    data = path.read_bytes().replace(b"skill.mD", b"SKILL.md")
    path.write_bytes(data)

    assert "two files of one name" in refusal(path)


def test_a_file_below_a_file_is_refused(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "x.zip", {"calm/SKILL.md": PAGE, "calm/hooks": "x", "calm/hooks/a.md": "x"})

    assert "hooks/a.md stands below a file" in refusal(path)


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "calm")
    for number in range(MAX_FILES - 1):
        (folder / f"{number}.md").touch()
    assert len(read(folder).bundle.files) == MAX_FILES

    (folder / "one-more.md").touch()
    assert refusal(folder) == "it holds more than 2000 files or 32 MiB, which is no skill's size"
    assert refusal(tmp_path).startswith("calm holds more than ")


def test_folders_that_are_nested_too_deep_are_refused(tmp_path: Path) -> None:
    words = f"folders more than {MAX_DEPTH} deep"
    deepest = make_skill(tmp_path, "calm").joinpath(*["x"] * (MAX_DEPTH - 1))
    deepest.mkdir(parents=True)
    (deepest / "a.md").touch()
    assert len(read(tmp_path).bundle.files) == 2
    (deepest / "x").mkdir()
    assert words in refusal(tmp_path)

    for depth in (MAX_DEPTH, 2000):
        assert words in refusal(make_zip(tmp_path / "x.zip", {"calm/SKILL.md": PAGE, f"calm/{'x/' * depth}a.md": "x"}))
    assert len(read(make_zip(tmp_path / "x.zip", {"SKILL.md": PAGE, f"{'x/' * MAX_DEPTH}a.md": "x"})).bundle.files) == 2


@pytest.mark.parametrize("kind", ["folder", "zip", "git"])
def test_too_many_bytes_are_refused(tmp_path: Path, kind: str) -> None:
    half = bytes(MAX_BYTES // 2)
    if kind == "zip":
        source = str(make_zip(tmp_path / "calm.zip", {"SKILL.md": PAGE, "a": half, "b": half}))
        assert Path(source).stat().st_size < 100_000, "a bomb"
    else:
        folder = make_skill(tmp_path, "calm")
        (folder / "a").write_bytes(half)
        (folder / "b").write_bytes(half)
        source = make_repository(folder).as_uri() if kind == "git" else str(folder)

    assert "holds more than 2000 files or 32 MiB" in refusal(source)


def test_a_zip_may_hold_as_much_as_a_skill_may_have(tmp_path: Path) -> None:
    rest = bytes(MAX_BYTES - len(PAGE.encode()))

    assert len(read(make_zip(tmp_path / "calm.zip", {"SKILL.md": PAGE, "a": rest})).bundle.files["a"]) == len(rest)
    larger = make_zip(tmp_path / "more.zip", {"SKILL.md": PAGE, "a": rest + b"x"})
    assert refusal(larger).startswith(f"{larger} holds more than ")


def test_a_zip_without_modes_holds_files_and_a_dot_leads_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "calm.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("calm/SKILL.md", "calm/a.md"):
            entry = zipfile.ZipInfo(name)
            archive.writestr(entry, PAGE)
            entry.external_attr = 0
    assert set(read(path).bundle.files) == {"SKILL.md", "a.md"}

    assert "which leads out of it" in refusal(make_zip(tmp_path / "x.zip", {"calm/SKILL.md": PAGE, "calm/./a.md": "x"}))


@pytest.mark.parametrize("kind", ["folder", "git"])
def test_a_source_gives_as_many_bytes_as_it_may(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / name).write_text("xx")
    where = str(folder) if kind == "folder" else make_repository(folder).as_uri()
    tree = FolderTree(folder) if kind == "folder" else GitTree(where, None, tmp_path)

    assert list(tree.read(["a", "b"], max_bytes=4)) == [("a", b"xx"), ("b", b"xx")]
    with pytest.raises(SharingError, match=f"^{where} holds more than"):
        list(tree.read(["a", "b"], max_bytes=3))


def test_links_count_with_what_they_lead_to(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "calm")
    (folder / "a").write_bytes(bytes(MAX_BYTES // 2))
    for number in range(2):
        (folder / f"link-{number}").symlink_to("a")

    assert refusal(folder).startswith("it holds more than ")
    assert refusal(tmp_path).startswith("calm holds more than ")


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_skill(tmp_path, "calm"))  # the path of a socket has few bytes
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert refusal(tmp_path / "calm") == "socket is neither a file nor a folder: put a file there"


def test_a_broken_zip_is_refused(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "x.zip", {"SKILL.md": PAGE * 100})
    data = path.read_bytes()
    path.write_bytes(data[:60] + bytes(20) + data[80:])

    assert "cannot be unpacked" in refusal(path)
