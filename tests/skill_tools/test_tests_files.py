"""Reading `tests/*.yaml`: every mistake is named with its line and what to write instead."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from skill_tools.testing.tests_files import MAX_FILE_BYTES, MAX_FILES, MAX_TESTS, parse_tests, read_tests
from skill_tools.testing.tests_format import clock_of
from skills_engine.diagnostics import Report

FULL = """
tests:
  - name: asks for the order number after a failed refund
    user: I want my money back
    history: [{user: hi}, {assistant: hello}]
    channel: voice
    language: no
    user_name: anna
    operator: true
    model: local
    time: fri 23:30
    skills: [tutor]
    tools: [shop__refund]
    script:
      - need_tools: Let me look.
      - calls: [{tool: shop__refund, arguments: {id: 3}, error: no such order}]
      - answer: I could not find it.
    expect:
      fires: [refund-failed]
      silent: [thanks]
      reads: [{call: 3, contains: order number}, {lacks: [order number, /\\bid\\b/i]}]
      tokens: {max: 120}
  - name: goes on
    after: asks for the order number after a failed refund
    turns:
      - {user: a, expect: {fires: []}}
      - {user: b, channel: text, expect: {fires: []}}
  - name: stays brief
    user: Why is the sky blue?
    ask: {samples: 5, pass: 0.8}
    expect: {reply: {max_words: 40, lacks: [/as an AI/i]}}
    compare: {without: [one-sentence]}
"""


def problems(text: str) -> list[str]:
    report = Report("shop", "tests/a.yaml")
    parse_tests(text, report)
    return [f"{found.path} {found.message}" for found in report.found]


def problems_of_test(*lines: str) -> list[str]:
    """Those of a test `a` with these lines more, which begin in line 3."""
    found = problems("tests:\n  - name: a\n" + "".join(f"    {line}\n" for line in lines))
    return [line.removeprefix("$.tests[0]").removeprefix(".") for line in found]


def test_all_that_a_test_can_say_is_read() -> None:
    report = Report("shop", "tests/a.yaml")

    full, further, asking = parse_tests(FULL, report)

    assert report.found == []
    assert (full.skill, full.file, full.line) == ("shop", "tests/a.yaml", 3)
    assert full.spec.language == "no"
    assert [(turn.user, turn.channel) for turn in further.turns] == [("a", None), ("b", "text")]
    assert asking.spec.ask is not None
    assert asking.spec.ask.pass_rate == 0.8


def test_a_turn_takes_from_its_test_what_it_does_not_say_itself() -> None:
    text = "tests: [{name: a, channel: voice, time: '14:05', turns: [{user: x}, {user: y, channel: text}]}]"
    [test] = parse_tests(text, Report("shop", "tests/a.yaml"))

    assert [(turn.channel, turn.time) for turn in test.turns] == [("voice", "14:05"), ("text", "14:05")]


def test_the_tools_of_a_turn_are_its_own_and_else_those_of_its_test() -> None:
    script = "script: [{calls: [{tool: b}]}]"
    turns = f"turns: [{{user: x, tools: [b], {script}}}, {{user: y, {script}}}]"

    [problem] = problems_of_test("tools: [a]", turns)
    assert problem.startswith("turns[1].script[0].calls[0].tool line 4: b is not among the test's `tools`")


def test_every_mistake_of_a_test_is_reported_at_once_and_the_others_still_run() -> None:
    text = """
tests:
  - nam: a
    user: 5
    chanel: voice
    script:
      - {answer: x, calls: [{tol: y}]}
      - 7
    expect: {fires: x, tokens: {mx: 1}}
  - {name: b, user: hello}
  - 5
"""
    report = Report("shop", "tests/a.yaml")
    assert [test.name for test in parse_tests(text, report)] == ["b"]
    assert [f"{found.path} {found.message}" for found in report.found] == [
        "$.tests[0].nam line 3: unknown key (did you mean name?)",
        "$.tests[0].user line 4: expected a text; got 5: put it in quotes",
        "$.tests[0].chanel line 5: unknown key (did you mean channel?)",
        "$.tests[0].script[0].calls[0].tol line 7: unknown key (did you mean tool?)",
        "$.tests[0].script[1] line 8: expected keys with values; got 7",
        '$.tests[0].expect.fires line 9: expected a list; got "x"',
        "$.tests[0].expect.tokens.mx line 9: unknown key (did you mean max?)",
        "$.tests[2] line 11: expected keys with values; got 5",
    ]


def test_a_mistake_in_a_script_hides_none_of_its_turn() -> None:
    assert problems_of_test("turns:", "  - {user: x, script: [7], chanel: voice}") == [
        "turns[0].script[0] line 4: expected keys with values; got 7",
        "turns[0].chanel line 4: unknown key (did you mean channel?)",
    ]


def test_a_key_like_none_gets_the_list_of_keys() -> None:
    [problem] = problems_of_test("user: x", "expect: {qqq: 1}")

    assert problem == "expect.qqq line 4: unknown key; there are: fires, silent, reads, tokens, variables, reply"


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([], "user line 2: missing: what the user says; or `trigger`, or `turns` with several turns"),
        (["user: x", "channel: voic"], 'channel line 4: expected voice or text; got "voic" (did you mean voice?)'),
        (["user: x", "channel: texts"], 'channel line 4: expected voice or text; got "texts" (did you mean text?)'),
        (["user: x", "expect: {reads: [{contains: 5}]}"], "expect.reads[0].contains line 4: expected a text or a list; got 5: put it in quotes"),
        (["user: x", "channel: phone"], 'channel line 4: expected voice or text; got "phone"'),
        (["user: x", "with: al"], 'with line 4: expected all; got "al" (did you mean all?)'),
        (["user: x", "attachments: [images]"], 'attachments[0] line 4: expected image or document; got "images" (did you mean image?)'),
        (["user: x", "expect: {}"], "expect line 4: expects nothing, so it cannot fail: write one of fires, silent, reads, tokens, variables, reply"),
        (["user: x", "time: 25:00"], "time line 4: expected a time such as 14:05, sun 23:30 or 2026-11-22 14:05; got 25:00"),
        (["user: x", "time: 0001-01-01 00:00"], "time line 4: expected a time such as 14:05, sun 23:30 or 2026-11-22 14:05; got 0001-01-01 00:00"),
        (["user: x", "time: 9999-12-31 23:59"], "time line 4: expected a time such as 14:05, sun 23:30 or 2026-11-22 14:05; got 9999-12-31 23:59"),
        (["user: x", "history: [{}]"], "history[0] line 4: expected {user: …} or {assistant: …}"),
        (["user: x", "turns: [{user: y}]"], "user line 3: belongs into one of the `turns`"),
        (["turns: [{script: []}]"], "turns[0].user line 3: missing: what the user says; or `trigger`, or `turns` with several turns"),
        (["user: x", "after: b"], 'after line 4: no test of this file is called "b"'),
        (["user: x", "after: a"], 'after line 4: "a" never begins: tests name each other in `after`'),
        (
            ["user: x", "script: [{answer: y}, {answer: z}]"],
            "script[0] line 4: nothing can come after the answer",
        ),
        (
            ["user: x", "script: [{need_tools: y, answer: z}]"],
            "script[0] line 4: expected one of need_tools, calls and answer",
        ),
        (
            ["user: x", "script: [{calls: [{tool: t}]}, {need_tools: z}]"],
            "script[1] line 4: need_tools can only come first: the model says once, at the start, that it needs tools",
        ),
        (
            ["user: x", "script: [{calls: [{}]}]"],
            "script[0].calls[0].tool line 4: missing: the name of the tool",
        ),
        (
            ["user: x", "script: [{calls: [{tool: t, result: a, error: b}]}]"],
            "script[0].calls[0] line 4: expected at most one of result, error and refused",
        ),
        (
            ["user: x", "tools: []", "script: [{calls: [{tool: t}]}]"],
            "script[0] line 5: tools are off (`tools: []`): the model can only answer",
        ),
        (
            ["user: x", "tools: [a]", "script: [{calls: [{tool: t}]}]"],
            "script[0].calls[0].tool line 5: t is not among the test's `tools`: add it there, or give the call an error",
        ),
        (["user: x", "expect: {reads: [{call: 1}]}"], "expect.reads[0] line 4: expected contains or lacks"),
        (["user: x", "expect: {reads: [{call: 0, lacks: a}]}"], "expect.reads[0].call line 4: expected a whole number >= 1; got 0"),
        (["user: x", "expect: {tokens: {}}"], "expect.tokens line 4: expected {max: …}"),
        (["user: x", "expect: {reply: {max_words: 4}}"], "expect.reply line 4: is for tests that ask a model: add `ask`"),
        (["user: x", "compare: {without: [a]}"], "compare line 4: is for tests that ask a model: add `ask`"),
        (["user: x", "ask: {}"], "expect line 2: expected {reply: …}: what the answer must be like"),
        (
            ["user: x", "ask: {samples: 51}", "expect: {reply: {}}"],
            "ask.samples line 4: expected a whole number <= 50; got 51",
        ),
        (
            ["user: x", "ask: {}", "time: '14:05'", "expect: {reply: {}}"],
            "time line 5: is as it is at the server in a test that asks a model: remove it, or `ask`",
        ),
        (
            ["user: x", "after: b", "history: [{user: y}]"],
            "history line 5: the test starts where another one ended (`after`), so it has that one's history",
        ),
        (
            ["user: x", "ask: {}", "tools: [a]", "expect: {reply: {}}"],
            "tools line 5: are the server's in a test that asks a model: remove it, or write [] to switch them off",
        ),
        (
            ["user: x", "ask: {}", "compare: {}", "expect: {reply: {}}"],
            "compare.without line 5: missing: the hooks to leave out",
        ),
        (
            ["user: x", "ask: {}", "script: []", "expect: {reply: {}}"],
            "script line 5: is for scripted tests: remove it, or `ask`",
        ),
        (
            ["user: x", "ask: {}", "expect: {reply: {}, fires: []}"],
            "expect.fires line 5: is for scripted tests: a test that asks a model looks at `reply` alone",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place_and_the_cure(lines: list[str], problem: str) -> None:
    assert problems_of_test(*lines) == [problem]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["expect: {variables: {ok: 1, score: {min: 1}}}"], "expect.variables.score"),
        (["expect: {fires: [],", "  variables: {score: [1]}}"], "expect.variables.score"),
        (["expect: {variables: {score: null}}"], "expect.variables.score"),
        (["expect: {variables: {score: 1.5}}"], "expect.variables.score"),
        (["variables: {n: [1]}"], "variables.n"),
        (["variables: {'': 1}"], "variables"),
        (["context: {plan: {a: 1}}"], "context.plan"),
        (["context: {plan: [pro, 1]}"], "context.plan[1]"),
        (["turns: [{user: y, context: {a.b: null}}]"], "turns[0].context.a.b"),
    ],
)
def test_a_wrong_value_under_a_key_of_the_author_is_a_mistake_at_its_line(lines: list[str], problem: str) -> None:
    [found] = problems_of_test(*lines, "user: x")
    place, line, _ = found.split(" ", 2)
    assert (place, line) == (problem, "line")
    assert f"line {2 + len(lines)}: expected " in found


def test_an_expression_that_is_not_linear_is_a_mistake() -> None:
    [problem] = problems_of_test("user: x", "expect: {reads: [{contains: /(?=a)/}]}")
    [of_reply] = problems_of_test("user: x", "ask: {}", "expect: {reply: {lacks: /(?=a)/}}")

    assert problem.startswith('expect.reads[0].contains line 4: "/(?=a)/" is no expression')
    assert of_reply.startswith('expect.reply.lacks line 5: "/(?=a)/" is no expression')


def test_a_test_without_a_name_is_a_mistake() -> None:
    [problem] = problems("tests: [{user: x}]")

    assert problem.startswith("$.tests[0].name line 1: missing: give the test a name")


def test_a_time_is_in_utc_unless_it_names_an_offset() -> None:
    assert clock_of("sun 23:30") == datetime(2026, 1, 11, 23, 30, tzinfo=UTC)
    assert clock_of("2026-11-22T14:05") == datetime(2026, 11, 22, 14, 5, tzinfo=UTC)
    assert clock_of("2026-11-22 14:05+02:00") == datetime(2026, 11, 22, 12, 5, tzinfo=UTC)


def test_a_name_stands_once_and_after_finds_a_test_that_has_an_end() -> None:
    text = """
tests:
  - {name: a, user: x}
  - {name: a, user: y}
  - {name: asks, user: x, ask: {}, expect: {reply: {}}}
  - {name: c, user: x, after: asks}
  - {name: d, user: x, after: wrong}
  - {name: wrong, usr: x}
  - {name: e, user: x, after: f}
  - {name: f, user: x, after: e}
  - {name: g, user: x, after: f}
  - {name: h, user: x, after: askss}
  - {name: i, user: x, after: d}
"""
    assert [line for line in problems(text) if ".usr" not in line] == [
        '$.tests[1].name line 4: "a" is already the name of the test in line 3',
        '$.tests[3].after line 6: "asks" asks a model, so it has no end to start from',
        '$.tests[4].after line 7: the test "wrong" has mistakes itself',
        '$.tests[6].after line 9: "f" never begins: tests name each other in `after`',
        '$.tests[7].after line 10: "e" never begins: tests name each other in `after`',
        '$.tests[8].after line 11: "f" never begins: tests name each other in `after`',
        '$.tests[9].after line 12: no test of this file is called "askss" (did you mean asks?)',
        '$.tests[10].after line 13: the test "d" has mistakes itself',
    ]


@pytest.mark.parametrize("text", ["", "- a", "tests: 5", "test: []"])
def test_a_file_without_tests_is_a_mistake(text: str) -> None:
    assert problems(text) == ["$ line 1: expected `tests:` with a list of tests below it"]


def test_one_mistake_does_not_hide_another_in_a_list() -> None:
    found = problems_of_test("turns: [{user: x, script: [{answr: y}]}, {user: [z]}]")

    assert [line.partition(":")[0] for line in found] == ["turns[0].script[0].answr line 3", "turns[1].user line 3"]


def test_other_keys_and_more_tests_than_allowed_are_mistakes() -> None:
    many = "tests:\n" + "".join(f"  - {{name: n{number}, user: x}}\n" for number in range(MAX_TESTS + 1))

    assert problems("tests: []\ntest: []") == [
        "$.test line 2: unknown key (did you mean tests?); a file holds `tests:` alone"
    ]
    assert problems(many.rpartition("  - ")[0]) == []
    assert problems(many) == [
        f"$.tests[{MAX_TESTS}] line {MAX_TESTS + 2}: a file may hold {MAX_TESTS} tests: move the rest into another file"
    ]


def test_files_are_bounded_in_number_and_size_and_stay_in_their_folder(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    tests = folder / "tests"
    tests.mkdir(parents=True)
    (tests / "00.yaml").write_bytes(b"\xff")
    (tests / "01.yaml").write_text("#" * (MAX_FILE_BYTES + 1))
    (tmp_path / "outside.yaml").write_text("tests: []")
    (tests / "02.yaml").symlink_to(tmp_path / "outside.yaml")
    (tests / "03.yaml").write_text("a: b: c")
    (tests / "04.yml").write_text("\ufefftests: [{name: a, user: x}]")
    (tests / "notes.md").write_text("none")
    (tests / ".hidden.yaml").write_text("none")
    for number in range(5, MAX_FILES + 1):
        (tests / f"{number:02}.yaml").write_text("tests: []")

    found = read_tests(folder)

    assert [(test.file, test.name) for test in found.tests] == [("tests/04.yml", "a")]
    assert [f"{one.file}{one.path} {one.message}" for one in found.diagnostics] == [
        "tests/00.yaml is not UTF-8 (byte 0)",
        "tests/01.yaml is larger than 256 KiB",
        "tests/02.yaml leads out of shop/",
        "tests/03.yaml is not YAML that can be read: line 1: put a value that holds ': ' in quotes",
        f"tests/{MAX_FILES}.yaml is not read: a skill may have {MAX_FILES} files of tests",
    ]


def test_a_tests_folder_elsewhere_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.yaml").write_text("tests: [{name: a, user: x}]")
    folder = tmp_path / "skills" / "shop"
    folder.mkdir(parents=True)
    (folder / "tests").symlink_to(tmp_path / "elsewhere")

    found = read_tests(folder)

    assert found.tests == ()
    assert [one.message for one in found.diagnostics] == ["leads out of shop/"]


def test_a_skill_without_tests_is_fine(tmp_path: Path) -> None:
    assert read_tests(tmp_path).diagnostics == ()
