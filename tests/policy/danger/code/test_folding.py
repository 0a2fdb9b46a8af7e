"""Texts and lists that a program puts together are seen, whatever they are made of."""

import pytest

from server.policy.danger.code.python import judge_python
from server.policy.danger.commands.line import RUNNER, judge_shell


@pytest.mark.parametrize(
    "code",
    [
        'tool = "rm"\nargs = [tool, "-rf", "/srv"]\nrun(args)',
        'run(["rm"] + ["-rf", "/srv"])',
        'start = ["rm"]\n_ = [run(start + ["-rf", "/srv"])]',
        'run(" ".join(["rm", "-rf", "/srv"]))',
        'words = ["rm", "-rf", "/srv"]\nrun("r" + "m -rf /srv"); run(" ".join(words))',
    ],
)
def test_a_command_in_pieces_is_judged_as_a_whole(code: str) -> None:
    code = f"from subprocess import run\n{code}\n"

    assert judge_python(code, RUNNER) == judge_shell("rm -rf /srv") == "deletes files"


@pytest.mark.parametrize("inner", ["[{0}, {0}]", "[f({0}), f({0})]", "[({0}, {0})]"])
def test_lists_that_double_are_more_than_can_be_looked_at(inner: str) -> None:
    steps = "".join(f"a{n + 1} = {inner.format(f'a{n}')}\n" for n in range(60))
    code = f"import requests\na0 = [1]\n{steps}requests.post('/x', json=a60)\n'a' + str(a60)\n"

    assert judge_python(code, RUNNER) == "more code than can be looked at"
    assert judge_python(f"{code}os.remove('x')", RUNNER) == "deletes files"


@pytest.mark.parametrize(
    "code",
    [
        "k = '" + "SELECT a, b FROM t; " * 2000 + "'\n" + "c.execute(k)\n" * 3000,
        "k = '" + "echo a; " * 5000 + "'\n" + "os.system(k)\n" * 3000,
    ],
    ids=["sql", "shell"],
)
def test_a_long_text_that_is_run_a_thousand_times_is_more_than_can_be_looked_at(code: str) -> None:
    assert judge_python(code, RUNNER) == "more code than can be looked at"


@pytest.mark.parametrize("line", ["x = open('a', 'w')", "a.connect(b)", "import a; f(1)"])
def test_thousands_of_calls_are_looked_at_once(line: str) -> None:
    assert judge_python(f"{line}\n" * 4000, RUNNER) is None


@pytest.mark.parametrize("code", ["a = [a, 1]", "a = [b]\nb = [a]", "a = [f(a)]"])
def test_a_list_that_holds_itself_is_looked_at_to_an_end(code: str) -> None:
    code = f"import requests\n{code}\nrequests.post('/x', json=a)\n'a' + str(a)\n"

    assert judge_python(code, RUNNER) is None
    assert judge_python(f"{code}os.remove('x')", RUNNER) == "deletes files"
