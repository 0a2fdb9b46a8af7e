"""The danger table: how patterns compare, how an operator's table goes over ours, and what a wrong line says."""

from pathlib import Path

import pytest

from server.errors import ConfigError
from server.toolguard.danger.argument_rules import compile_pattern, part_arguments
from server.toolguard.danger.danger_table import BUILT_IN, DangerTable, load_table
from server.toolguard.danger.judge import command_name, judge_call


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return tmp_path / "danger.toml"


def level(table: DangerTable, command: str) -> str:
    return judge_call("shell", "WRITE", {"command": command}, table=table).level


@pytest.mark.parametrize(
    ("pattern", "arguments", "expected"),
    [
        ("push", "push origin", True),
        ("push", "-C a push", True),
        ("push", "pull push", False),
        ("push|pull origin", "pull origin", True),
        ("* rm", "s3 rm a", True),
        ("... delete", "a b c delete", True),
        ("... delete", "a b c", False),
        ("delete-*", "delete-stack", True),
        ("-f", "-f a", True),
        ("-f", "-xfd", True),
        ("-f", "-filter", False),
        ("-f", "--force", False),
        ("--force", "--force=yes", True),
        ("-m", "-am text", True),
        ("text", "-m text", False),
        ("~*.conf", "a b.conf", True),
        ("~-i*", "-i.bak a", True),
        ("=/tmp/?*", "-r /tmp/a /tmp/b", True),
        ("=/tmp/?*", "/tmp/a /srv", False),
        ("=/tmp/?*", "-r", False),
        (">/etc/*", "a /etc/b", True),
        (">/etc/*", "/etc/a b", False),
        ("push !-n|--dry-run", "push", True),
        ("push !-n|--dry-run", "push -n", False),
        ("push !~*prod*", "push to-production", False),
        ("~@homes", "a ~/b", True),
    ],
)
def test_patterns_of_arguments(pattern: str, arguments: str, expected: bool) -> None:
    fits = compile_pattern(pattern, {"homes": lambda text: text.startswith("~/")})

    assert fits(part_arguments(arguments.split(), frozenset(("-C", "-m")))) is expected


@pytest.mark.parametrize("pattern", ["", "a|", "~", "!", "@nothing"])
def test_a_pattern_that_cannot_be_compared_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"is empty|at least one|no list"):
        compile_pattern(pattern, {})


def test_an_operators_rules_come_before_ours(own: Path) -> None:
    own.write_text(
        '[programs]\nsafe = ["git push --force-with-lease"]\n'
        '[programs.otherwise]\nsafe = "frobnicate"\n"starts the machine" = "ignite"\n'
        '[programs.dangerous]\n"touches production" = ["git push production", "ls ~/prod*"]\n'
    )
    table = load_table(own)

    assert level(table, "git push --force-with-lease") == "safe"
    assert level(table, "git push -f") == "dangerous"
    assert level(table, "git push production") == "dangerous"
    assert level(table, "ls /prod") == "dangerous"
    assert level(table, "ls /srv") == "safe"
    assert level(table, "frobnicate") == "safe"
    assert level(table, "ignite") == "dangerous"
    assert level(load_table(), "git push production") == "safe"


def test_an_operators_words_change_how_tools_are_judged(own: Path) -> None:
    own.write_text(
        '[tool_verbs]\nsafe = "delete"\n"starts the engine" = "ignite"\n'
        '[values."is for production"]\n"prod production" = "stage"\n'
        '[paths]\nprotected = ["/srv/*"]\n[sql]\n"reads what is secret" = "salaries"\n'
        '[wrappers]\nwrapped = "-u +1"\n'
    )
    table = load_table(own)

    assert judge_call("delete_row", "WRITE", {}, table=table).level == "safe"
    assert judge_call("ignite", "WRITE", {}, table=table).reason == "starts the engine (ignite)"
    assert judge_call("set_key", "WRITE", {"stage": "prod"}, table=table).level == "dangerous"
    assert judge_call("write_file", "WRITE", {"path": "/srv/a"}, table=table).level == "dangerous"
    assert judge_call("write_file", "WRITE", {"path": "/etc/a"}, table=table).level == "dangerous"
    assert judge_call("query", "WRITE", {"sql": "select * from salaries"}, table=table).level == "dangerous"
    assert level(table, "wrapped -u a b rm -r c") == "dangerous"
    assert command_name("shell", {"command": "wrapped ls"}) == "wrapped"
    assert command_name("shell", {"command": "wrapped ls"}, table=table) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[nonsense]\n", "nonsense"),
        ("[programs]\nsafes = []\n", "safes"),
        ("[programs.dangerous]\na = 1\n", r"programs\.dangerous"),
        ('[programs.dangerous]\n"a" = ["ls a|"]\n', r"a\|"),
        ('[programs.dangerous]\n"a" = ["@nobody b"]\n', "@nobody"),
        ('[programs.dangerous]\n"a" = ["ls ~@nowhere"]\n', "nowhere"),
        ('[programs.dangerous]\n"a" = ["ls"]\n', "at least one"),
        ("[programs\n", "line 1"),
        ("\xff", "danger.toml"),
    ],
)
def test_a_wrong_line_is_told_with_file_and_key(own: Path, text: str, said: str) -> None:
    own.write_bytes(text.encode("latin-1"))

    with pytest.raises(ConfigError, match=said) as error:
        load_table(own)

    assert str(own) in str(error.value)


def test_a_table_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load_table(tmp_path / "nothing.toml")


def test_every_line_of_the_built_in_table_can_be_read_at_a_glance() -> None:
    lines = BUILT_IN.read_text("utf-8").splitlines()

    assert [line for line in lines if len(line) > 130] == []
