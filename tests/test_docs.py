"""The pages say what the code says: every key, every frame, every command, every link."""

import ast
import re
from pathlib import Path

import msgspec
import pytest

from scripts import frame_schemas as schemas
from server.config import Config, Section, ToolsSettings
from server.tools.builtin import build_registry
from server.wire.frames import CLIENT_FRAMES, SERVER_FRAMES

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/README.md")])
MAX_LINE = 200


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_configuration_md_names_every_key() -> None:
    page = read("docs/configuration.md")
    missing: list[str] = []

    def walk(section: type[Section], path: str) -> None:
        for field in msgspec.structs.fields(section):
            if not re.search(rf"\b{field.name}\b", page):
                missing.append(f"{path}{field.name}")
            if isinstance(field.default, Section) and path + field.name != "speech":
                walk(type(field.default), f"{path}{field.name}.")

    walk(Config, "")
    assert missing == []


def test_the_defaults_in_configuration_md_are_the_defaults() -> None:
    text = read("docs/configuration.md").split("```yaml\n")[1].split("```")[0]
    shown = msgspec.yaml.decode(text)

    def compare(section: Section, tree: dict[str, object], path: str) -> None:
        # `voice` is the one key that counts for one of the two providers only.
        assert {*section.__struct_fields__} - {*tree} <= {"voice"}, path
        for key, value in tree.items():
            default = getattr(section, key)
            if isinstance(default, Section):
                assert isinstance(value, dict), path + key
                compare(default, value, f"{path}{key}.")
            else:
                assert msgspec.to_builtins(default, enc_hook=str) == value, path + key

    compare(Config(), shown, "")


@pytest.mark.parametrize("frame", [*CLIENT_FRAMES, *SERVER_FRAMES], ids=lambda f: f.__name__)
def test_protocol_md_names_every_frame_and_field(frame: type[msgspec.Struct]) -> None:
    page = read("docs/protocol.md")

    assert f"`{frame.__struct_config__.tag}`" in page
    for field in msgspec.structs.fields(frame):
        assert re.search(rf"\b{field.encode_name}\b", page), field.encode_name


def test_hooks_md_names_the_built_in_tools_with_their_arguments() -> None:
    section = read("docs/hooks.md").split("\n### What conditions find in the built-in tools\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (`\w+`(?:, `\w+`)*)", section, re.MULTILINE)
    tools = build_registry(ToolsSettings(), ROOT).specs

    found = {name: re.findall(r"\w+", arguments) for name, arguments in rows}
    assert found == {tool.name: list(tool.parameters["properties"]) for tool in tools}


def notice_codes() -> set[str]:
    """What the calls that make notices are given as the code."""
    makers = {"NoticeGiven", "Notice", "mcp_notice", "notify", "_notify", "_notice", "warn"}
    found = set()
    for file in (ROOT / "server").rglob("*.py"):
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(call, ast.Call) and getattr(call.func, "attr", getattr(call.func, "id", "")) in makers:
                given = [*call.args[:2], *(keyword.value for keyword in call.keywords if keyword.arg == "code")]
                found |= {arg.value for arg in given if isinstance(arg, ast.Constant) and isinstance(arg.value, str)}
    return {code for code in found if re.fullmatch(r"[a-z]+(_[a-z]+)+", code)}


def test_protocol_md_lists_the_notices_that_are_sent_and_no_others() -> None:
    table = read("docs/protocol.md").split("### Notices")[1].split("\n### ")[0]
    listed = {code for row in re.findall(r"(?m)^\| (`.*?`) \|", table) for code in re.findall(r"`(\w+)`", row)}

    assert listed == notice_codes()


def test_the_schemas_in_docs_are_those_of_the_frames() -> None:
    for name, text in schemas.render().items():
        assert read(f"docs/schemas/{name}") == text, "make schemas"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_to_files_that_are_there(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8")):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_line_is_too_long_to_read_but_rows_of_tables(page: Path) -> None:
    lines = page.read_text("utf-8").splitlines()

    assert [line for line in lines if len(line) > MAX_LINE and not line.startswith("|")] == []


def anchors(page: Path) -> set[str]:
    """What a `#…` may name, as the sites that show these pages make it of headings."""
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text("utf-8"))
    headings = (re.sub(r"[^\w -]", "", heading.lower()) for heading in re.findall(r"(?m)^#+ (.+)$", text))
    return {heading.replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_anchors_lead_to_headings_that_are_there(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", page.read_text("utf-8")):
        assert anchor in anchors(page.parent / target if target else page), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_that_pages_name_are_there(page: Path) -> None:
    commands = set(re.findall(r"(?m)^([a-z-]+):", read("Makefile")))

    for name in re.findall(r"`(?:[A-Z_]+=\S+ )*make ([a-z-]+)", page.read_text("utf-8")):
        assert name in commands, f"make {name}"


def test_every_test_that_the_security_page_names_is_there() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", read("docs/security.md"))
    assert len(named) > 50

    for file, test in named:
        assert re.search(rf"(?m)^(async )?def {test}\(", read(f"tests/{file}")), f"{file}::{test}"


def test_every_line_of_the_security_page_names_a_test() -> None:
    tables = re.findall(r"(?m)^\| guarantee \| test \|\n\|---\|---\|\n((?:\|.*\n)+)", read("docs/security.md"))

    for row in "".join(tables).splitlines():
        assert "::" in row.split("|")[2], row
