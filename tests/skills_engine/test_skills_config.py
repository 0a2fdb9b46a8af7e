"""SKILL.md as public skills really write it: one small file for each oddity."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from skills_engine.diagnostics import Diagnostic
from skills_engine.skills_config import Skill, find_skill_file, read_skill
from tests.skills_engine.folders import make_skill

NO_FRONT_MATTER = "has no front matter: expected --- as its first line"
UNCLOSED = "its front matter is not closed: expected a second line ---"
NO_DESCRIPTION = "missing: the model is not told about this skill"
NOT_SPEC = "expected at most 64 lower-case letters, digits and single hyphens"
NO_ALIASES = "its front matter is not YAML (anchors, aliases and tags are not allowed): read line by line"


def broken(reason: str) -> str:
    return f"its front matter is not YAML ({reason}): read line by line"


def known_as(title: str) -> tuple[str, str, str]:
    return ("warning", "$.name", f"{title!r} is not the folder's name: the skill is known as 'tutor'")


@dataclass
class Case:
    id: str
    text: str | bytes
    title: str = "tutor"
    description: str = "Teaches."
    listed: bool = True
    on_by_default: bool = True
    allowed_tools: tuple[str, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)
    problems: list[tuple[str, str, str]] = field(default_factory=list)


def head(*lines: str) -> str:
    return "\n".join(["---", "name: tutor", "description: Teaches.", *lines, "---", "Body", ""])


def unused(*names: str) -> tuple[str, str, str]:
    return ("info", "$", f"unused fields: {', '.join(names)}")


CASES = [
    Case("as the specification says", head("license: MIT", "compatibility: any", "metadata:", "  version: '1'")),
    Case("byte order mark and CRLF", b"\xef\xbb\xbf" + head().replace("\n", "\r\n").encode()),
    Case("quoted values", "---\nname: \"tutor\"\ndescription: 'Teaches.'\n---\n"),
    Case("folded description", "---\nname: tutor\ndescription: >\n  Teaches\n  well.\n---\n", description="Teaches well."),
    Case("dashes in a value", head("license: a --- b"), extra={}),
    Case("blanks after the dashes", "---  \nname: tutor\ndescription: Teaches.\n--- \t\nBody"),
    Case("a rule in the body", head() + "\n---\n\nMore\n"),
    Case("yes and no stay words", head("license: no")),
    Case(
        "name is a word of YAML",
        "---\nname: no\ndescription: Teaches.\n---\n",
        title="no",
        problems=[known_as("no")],
    ),
    Case("numbers stay as written", head("version: 1.10", "released: 2026-01-02"), extra={"version": "1.10", "released": "2026-01-02"}, problems=[unused("version", "released")]),
    Case("nested metadata", head("metadata:", "  a: {b: [c, d]}"), extra={}),
    Case("flow mapping elsewhere", head("requires: {mcp: [rube]}"), extra={"requires": {"mcp": ["rube"]}}, problems=[unused("requires")]),
    Case("empty metadata", head("metadata:")),
    Case("name with blanks and capitals", head().replace("name: tutor", "name: Hook Development"), title="Hook Development", problems=[("warning", "$.name", NOT_SPEC), known_as("Hook Development")]),
    Case("name that begins with a hyphen", head().replace("name: tutor", "name: -tutor"), title="-tutor", problems=[("warning", "$.name", NOT_SPEC), known_as("-tutor")]),
    Case("name with two hyphens in a row", head().replace("name: tutor", "name: tu--tor"), title="tu--tor", problems=[("warning", "$.name", NOT_SPEC), known_as("tu--tor")]),
    Case("name of 65 characters", head().replace("name: tutor", "name: " + "a" * 65), title="a" * 65, problems=[("warning", "$.name", NOT_SPEC), known_as("a" * 65)]),
    Case("name of 64 characters", head().replace("name: tutor", "name: " + "a" * 64), title="a" * 64, problems=[known_as("a" * 64)]),
    Case("no name", "---\ndescription: Teaches.\n---\n", problems=[("warning", "$.name", "missing: expected 'tutor', the name of the folder")]),
    Case("name is null", "---\nname: null\ndescription: Teaches.\n---\n", problems=[("warning", "$.name", "missing: expected 'tutor', the name of the folder")]),
    Case("name is a list", "---\nname: [tutor]\ndescription: Teaches.\n---\n", problems=[("warning", "$.name", "missing: expected 'tutor', the name of the folder")]),
    Case("no description", "---\nname: tutor\n---\nBody", description="", listed=False, problems=[("warning", "$.description", NO_DESCRIPTION)]),
    Case("empty description", "---\nname: tutor\ndescription:\n---\n", description="", listed=False, problems=[("warning", "$.description", NO_DESCRIPTION)]),
    Case("description is a tilde", "---\nname: tutor\ndescription: ~\n---\n", description="", listed=False, problems=[("warning", "$.description", NO_DESCRIPTION)]),
    Case("description of 1,024 characters", f"---\nname: tutor\ndescription: {'d' * 1024}\n---\n", description="d" * 1024),
    Case("description of 1,025 characters", f"---\nname: tutor\ndescription: {'d' * 1025}\n---\n", description="d" * 1025, problems=[("warning", "$.description", "is longer than 1024 characters: the model reads its start")]),
    Case("allowed-tools with blanks", head("allowed-tools: Bash(git:*) Read"), allowed_tools=("Bash(git:*)", "Read")),
    Case("allowed-tools with commas", head("allowed-tools: Read, Bash(git add, git commit),Write"), allowed_tools=("Read", "Bash(git add, git commit)", "Write")),
    Case("allowed-tools as a list", head("allowed-tools:", "  - Read", "  - Bash(ls *)"), allowed_tools=("Read", "Bash(ls *)")),
    Case("allowed-tools with an open bracket", head("allowed-tools: Read Bash(git add"), allowed_tools=("Read", "Bash(git add")),
    Case("allowed-tools of nothing", head("allowed-tools:")),
    Case("allowed_tools in snake case", head("allowed_tools: Read"), allowed_tools=("Read",)),
    Case("allowedTools in camel case", head("allowedTools: Read"), allowed_tools=("Read",)),
    Case("allowed-tools of a wrong type", head("allowed-tools: {a: b}"), problems=[("warning", "$.allowed-tools", "expected tool names in a string or a list: ignored")]),
    Case("allowed-tools with a list in the list", head("allowed-tools: [[a]]"), problems=[("warning", "$.allowed-tools", "expected tool names in a string or a list: ignored")]),
    Case("hidden from the model", head("disable-model-invocation: true"), listed=False),
    Case("hidden with another word", head("disableModelInvocation: Yes"), listed=False),
    Case("not hidden", head("disable-model-invocation: false")),
    Case("off by default", head("default: off"), on_by_default=False),
    Case("off by default in another word", head("default: False"), on_by_default=False),
    Case("on by default", head("default: on")),
    Case("default of nothing", head("default:")),
    Case("default is no answer", head("default: maybe"), problems=[("warning", "$.default", "expected on or off, got 'maybe': the skill is on")]),
    Case("fields of other products", head("triggers: [a, b]", "user-invocable: true"), extra={"triggers": ["a", "b"], "user-invocable": "true"}, problems=[unused("triggers", "user-invocable")]),
    Case("colon in the description", "---\nname: tutor\ndescription: Teaches: maths, for example: sums\n---\n", description="Teaches: maths, for example: sums", problems=[("warning", "", broken("line 3: put a value that holds ': ' in quotes"))]),
    Case("colon in a description of two lines", "---\nname: tutor\ndescription: Teaches: maths\n  and more\n\n---\n", description="Teaches: maths and more", problems=[("warning", "", broken("line 3: put a value that holds ': ' in quotes"))]),
    Case("broken flow mapping beside it", head("metadata: {a: [b}"), problems=[("warning", "", broken("line 4: did not find expected ',' or ']'"))]),
    Case("broken, with quotes and a folded text", "---\nname: 'tutor'\nlicense: a: b\ndescription: >-\n  Teaches.\n---\n", problems=[("warning", "", broken("line 3: put a value that holds ': ' in quotes"))]),
    Case("a merge conflict", head("<<<<<<< HEAD", "license: MIT"), problems=[("warning", "", broken("line 5: could not find expected ':'"))]),
    Case("an alias", head("a: &x 1", "b: *x"), extra={"a": "&x 1", "b": "*x"}, problems=[("warning", "", NO_ALIASES), unused("a", "b")]),
    Case("a tag", head("a: !!python/object:os.system x"), extra={"a": "!!python/object:os.system x"}, problems=[("warning", "", NO_ALIASES), unused("a")]),
    Case("a control character", "---\nname: tutor\ndescription: Teaches.\u0081\n---\n", description="Teaches.\u0081", problems=[("warning", "", broken("unacceptable character #x0081: control characters are not allowed"))]),
    Case("brackets very deep", head("a: " + "[" * 1000), extra={"a": "[" * 1000}, problems=[("warning", "", broken("nested too deeply")), unused("a")]),
    Case("front matter is a list", "---\n- tutor\n---\nBody", description="Body", listed=False, problems=[("warning", "", broken("expected lines of `key: value`"))]),
    Case("front matter is empty", "---\n---\nBody", description="Body", listed=False, problems=[("warning", "", broken("expected lines of `key: value`"))]),
    Case("front matter of 64 KiB and more", "---\nname: tutor\na: " + "x" * 65536 + "\n---\nBody", description="Body", listed=False, problems=[("warning", "", "its front matter is larger than 64 KiB: not read")]),
    Case("blank lines before it", "\n \n" + head(), problems=[("warning", "", "has blank lines before its front matter")]),
    Case("text before it", "Hello\n" + head(), description="Hello\n---\nname: tutor\ndescription: Teaches.\n---\nBody", listed=False, problems=[("warning", "", NO_FRONT_MATTER)]),
    Case("no front matter", "# Tutor\n\nTeaches\nwell.\n\nMore.", description="Teaches\nwell.", listed=False, problems=[("warning", "", NO_FRONT_MATTER)]),
    Case("nothing but a heading", "# Tutor\n", description="", listed=False, problems=[("warning", "", NO_FRONT_MATTER)]),
    Case("not closed", "---\nname: tutor\ndescription: Teaches.\n", description="", listed=False, problems=[("error", "", UNCLOSED)]),
    Case("four dashes do not close", "---\nname: tutor\n----\n\nBody", description="Body", listed=False, problems=[("error", "", UNCLOSED)]),
    Case("empty", b" \n\t\r\n", description="", listed=False, problems=[("error", "", "is empty")]),
    Case("not UTF-8", b"---\nname: tutor\ndescription: Teaches \xe4.\n---\n", description="Teaches \ufffd.", problems=[("warning", "", "is not UTF-8 (byte 37): unreadable characters are replaced")]),
    Case("byte order mark, and not UTF-8", b"\xef\xbb\xbf---\nname: tutor\ndescription: Teaches.\n---\n\xff", problems=[("warning", "", "is not UTF-8 (byte 42): unreadable characters are replaced")]),
    Case("no front matter, and CRLF", b"# Tutor\r\n\r\nTeaches\r\nwell.\r\n", description="Teaches\nwell.", listed=False, problems=[("warning", "", NO_FRONT_MATTER)]),
    Case("100 kB", head() + "x" * (100_001 - len(head())), problems=[("warning", "", "is 100 kB long: move details into files that the model reads on demand")]),
    Case("just not too long", head() + "x" * (100_000 - len(head()))),
    Case("more than 1 MiB", b"x" * (1024 * 1024 + 1), description="", listed=False, problems=[("error", "", "is larger than 1024 KiB")]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_skill_of_the_wild_loads_and_says_what_is_odd(tmp_path: Path, case: Case) -> None:
    folder = make_skill(tmp_path, "tutor", skill_md=case.text)

    skill, found = read_skill(folder)

    assert {(one.skill, one.file) for one in found} <= {("tutor", "SKILL.md")}
    assert [(one.severity, one.path, one.message) for one in found] == case.problems
    assert skill == Skill(
        name="tutor",
        description=case.description,
        directory=folder,
        title=case.title,
        file="SKILL.md",
        listed=case.listed,
        on_by_default=case.on_by_default,
        allowed_tools=case.allowed_tools,
        extra=case.extra,
        hooks=(),
    )


@pytest.mark.parametrize(("text", "listed"), [("Teaches.", True), ("# Only", False)])
def test_the_operator_may_list_a_skill_without_front_matter(tmp_path: Path, text: str, listed: bool) -> None:
    folder = make_skill(tmp_path, "tutor", skill_md=text)

    assert [read_skill(folder, is_named=named)[0].listed for named in (False, True)] == [False, listed]


def test_naming_a_skill_does_not_show_what_its_author_hid(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", skill_md=head("disable-model-invocation: on"))

    assert read_skill(folder, is_named=True)[0].listed is False


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["SKILL.md"], "SKILL.md"),
        (["skill.md"], "skill.md"),
        (["Skill.md", "skill.md", "SKILL.md"], "SKILL.md"),
        (["README.md", "skill.MD"], "skill.MD"),
        (["SKILL.txt", "xSKILL.md"], None),
    ],
)
def test_skill_md_is_found_in_any_case(tmp_path: Path, names: list[str], expected: str | None) -> None:
    for name in names:
        (tmp_path / name).write_text("x")

    assert find_skill_file(tmp_path) == expected


@pytest.mark.parametrize("text", [head("a: b"), "", "No front matter."])
def test_a_skill_knows_the_name_of_its_file(tmp_path: Path, text: str) -> None:
    folder = make_skill(tmp_path, "tutor", skill_md=None)
    (folder / "skill.md").write_text(text)

    skill, found = read_skill(folder)

    assert skill.file == "skill.md"
    assert [one.file for one in found] == ["skill.md"]


def test_without_skill_md_the_hooks_stand_alone(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", skill_md=None)

    skill, found = read_skill(folder, is_named=True)

    assert skill == Skill("tutor", "", folder, "tutor", listed=False)
    message = "is missing: the hooks work, but the model is not told about this skill"
    assert found == [Diagnostic("warning", "tutor", "SKILL.md", "", message)]


def test_a_skill_md_that_leads_out_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text(head())
    folder = make_skill(tmp_path, "tutor", skill_md=None)
    (folder / "SKILL.md").symlink_to(tmp_path / "secret.md")

    skill, found = read_skill(folder)

    assert (skill.description, skill.listed) == ("", False)
    assert found == [Diagnostic("error", "tutor", "SKILL.md", "", "leads out of tutor/")]
