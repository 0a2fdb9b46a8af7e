"""Command lines of several lines, in lists, nested, and longer than anybody writes."""

import pytest

from server.policy.danger.commands.line import judge_argv, judge_shell


@pytest.mark.parametrize(
    "line",
    [
        "ls\nrm -rf /opt",
        "cat <<EOF | sh\nrm -rf /\nEOF",
        "sh <<'EOF'\nrm -rf /\nEOF",
        "rm \\\n  -rf x",
        "if true\nthen\n  rm x\nfi",
    ],
)
def test_a_command_hides_in_no_later_line(line: str) -> None:
    assert judge_shell(line) is not None


def test_a_here_document_that_is_only_written_asks_nothing() -> None:
    assert judge_shell("cat <<'EOF' > notes.md\nrm -rf /\nEOF") is None


@pytest.mark.parametrize(
    "words", [["rm", "-rf", "/"], ["/bin/rm", "x"], ["sudo", "--", "rm", "x"], ["sh", "-c", "rm x"]]
)
def test_a_list_of_arguments_is_read_as_one(words: list[str]) -> None:
    assert judge_argv(words) is not None


@pytest.mark.parametrize("words", [["ls", "rm"], ["echo", "rm", "-rf", "/"], ["grep", "-r", "rm -rf", "."], []])
def test_words_that_no_program_runs_ask_nothing(words: list[str]) -> None:
    assert judge_argv(words) is None


@pytest.mark.parametrize("program", ["aws", "kubectl", "gcloud", "terraform", "curl", "git", "sudo", "docker", "psql"])
def test_a_program_without_arguments_asks_nothing(program: str) -> None:
    assert judge_shell(program) is None


def test_commands_nested_without_end_are_asked_about() -> None:
    line = "true"
    for _ in range(12):
        line = f"$({line})"

    assert judge_shell(line) is not None


@pytest.mark.parametrize(
    "piece",
    [
        "a ",
        "'",
        '"',
        "`",
        "$(",
        "(",
        "<<",
        ">",
        "\\",
        ";",
        "|",
        "$'",
        "${",
        "<(",
        "&",
        "\n",
        "rm ",
        "x=",
        "sudo ",
        "/",
        "scp /",
        "irm ",
        'echo "',
        "Start-Process ",
        "while : do ",
        "{a,",
        "${a:-",
        "curl ",
        "^",
        "%a%",
        "set a=",
        "-- ",
        "word",
    ],
)
def test_no_text_takes_long_to_read(piece: str) -> None:
    judge_shell(piece * (65_536 // len(piece)))
    judge_shell("ls " + piece * (65_000 // len(piece)))
