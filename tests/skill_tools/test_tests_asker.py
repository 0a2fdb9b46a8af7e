"""Tests that ask a model: samples, their share, and the comparison without a hook."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from skill_tools.testing.tests_asker import AnswerCache, AskError, ModelQuestion, ask_test, count_words, judge_reply
from skill_tools.testing.tests_command import (
    MAX_VARIANTS,
    VariantError,
    Wording,
    hook_to_vary,
    read_wordings,
    render_variants,
    run_variants,
)
from skill_tools.testing.tests_files import SkillTest, parse_tests
from skill_tools.testing.tests_format import ReplySpec
from skill_tools.testing.tests_report import failure_lines
from skill_tools.testing.tests_runner import SkillTestResult, SkillTestRunner
from skills_engine.diagnostics import Report
from skills_engine.hooks_config import HooksFile
from tests.skill_tools.test_tests_runner import hook

BRIEF = hook("brief", text="Be brief.")
SHOP = HooksFile((BRIEF,))
LONG = "one two three four five six"


class ScriptedAsker:
    """Answers by script, or by a function of the question."""

    def __init__(self, answers: Sequence[str] = (), *, respond: Callable[[ModelQuestion], str] | None = None) -> None:
        self.questions: list[ModelQuestion] = []
        self._answers = iter(answers)
        self._respond = respond

    async def ask(self, question: ModelQuestion) -> str:
        self.questions.append(question)
        if self._respond is not None:
            return self._respond(question)
        answer = next(self._answers, None)
        if answer is None:
            raise AskError("the script is over")
        return answer


def a_test(text: str) -> SkillTest:
    report = Report("shop", "tests/a.yaml")
    [test] = parse_tests(f"tests:\n  - {{name: a, user: why, {text}}}", report)
    assert report.found == []
    return test


def ask(text: str, asker: ScriptedAsker) -> SkillTestResult:
    return asyncio.run(
        ask_test(a_test(text), SkillTestRunner({"shop": SHOP, "polite": HooksFile()}), AnswerCache(asker))
    )


def test_enough_good_answers_pass_and_what_was_measured_is_told() -> None:
    asker = ScriptedAsker(["short", LONG, "a", "b", "c"])
    result = ask("ask: {samples: 5, pass: 0.8}, expect: {reply: {max_words: 5}}", asker)

    assert result.outcome == "passed"
    assert result.notes == ("4 of 5 as expected (80%), 2 words on average",)


def test_too_few_good_answers_fail_and_show_what_was_answered() -> None:
    asker = ScriptedAsker([LONG, "as an AI, no", "c"])
    result = ask("ask: {samples: 3, pass: 0.5}, expect: {reply: {max_words: 5, lacks: /as an AI/i}}", asker)

    assert result.outcome == "failed"
    [failure] = result.failures
    assert [line.strip() for line in failure_lines(failure)] == [
        "reply",
        "was                                                       expected",
        "(6 words) one two three four five six                     in at least 50% of the answers:",
        "(4 words) as an AI, no                                    at most 5 words",
        "lacks /as an AI/i",
    ]


def test_the_question_holds_the_history_the_skills_and_the_language() -> None:
    asker = ScriptedAsker(["x"])
    ask(
        "history: [{user: hi}, {assistant: hello}], skills: [polite], tools: [], language: de, "
        "ask: {samples: 1}, expect: {reply: {}}",
        asker,
    )

    [question] = asker.questions
    assert question == ModelQuestion(
        messages=[
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "hello"},
            {"role": "user", "content": "why"},
        ],
        skills=["shop", "polite"],
        enable_tools=False,
        language="de",
    )


def test_comparing_asks_once_more_without_the_hook() -> None:
    asker = ScriptedAsker(respond=lambda question: LONG if question.hook_texts else "short")
    result = ask("ask: {samples: 2}, expect: {reply: {max_words: 5}}, compare: {without: [brief]}", asker)

    assert result.outcome == "passed"
    assert result.notes == (
        "2 of 2 as expected (100%), 1 words on average",
        "without brief: 0 of 2 as expected (0%), 6 words on average",
    )
    assert [question.hook_texts for question in asker.questions] == [{}, {}, {"shop/brief": None}, {"shop/brief": None}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("expect: {reply: {}}", "the script is over"),
        ("expect: {reply: {}}, skills: [polit]", "there is no skill polit (did you mean polite?) beside shop"),
        ("expect: {reply: {}}, compare: {without: [brif]}", "no hook is called brif (did you mean brief?)"),
    ],
)
def test_what_cannot_be_asked_is_an_error(text: str, message: str) -> None:
    result = ask(f"ask: {{}}, {text}", ScriptedAsker())

    assert (result.outcome, result.message, result.test.name) == ("error", message, "a")


def test_words_are_counted_in_scripts_without_spaces_too() -> None:
    assert count_words("天空为什么 so blue?") == 7
    assert judge_reply(ReplySpec(min_words=3, contains="blue"), "so green") == ["contains blue", "at least 3 words"]
    assert judge_reply(ReplySpec(min_words=2, max_words=2, lacks=["red"]), "so blue") == []


def test_wordings_are_compared_test_by_test() -> None:
    asker = ScriptedAsker(respond=lambda question: LONG if "long" in str(question.hook_texts) else "short")
    report = Report("shop", "tests/a.yaml")
    text = """
tests:
  - {name: asks, user: x, ask: {samples: 2}, expect: {reply: {max_words: 3}}}
  - {name: reads, user: x, expect: {reads: [{contains: brief}]}}
"""
    wordings = [Wording("a.md", "Be brief."), Wording("b.md", "Speak long and wide.")]

    results = asyncio.run(run_variants(parse_tests(text, report), {"shop": SHOP}, BRIEF, wordings, AnswerCache(asker)))
    assert render_variants(results).splitlines() == [
        "wording  test   passed  tokens",
        "a.md     asks     100%       3",
        "a.md     reads    100%       3",
        "b.md     asks       0%       6",
        "b.md     reads      0%       6",
    ]

    without_model = asyncio.run(run_variants(parse_tests(text, report), {"shop": SHOP}, BRIEF, wordings, None))
    assert [result.pass_rate for result in without_model] == [None, 1.0, None, 0.0]


def test_wordings_of_a_test_that_names_no_skill_cannot_be_compared() -> None:
    test = a_test("skills: [polit], ask: {}, expect: {reply: {}}")
    wordings = [Wording("a.md", "x"), Wording("b.md", "y")]

    with pytest.raises(VariantError, match="a: there is no skill polit beside shop"):
        asyncio.run(run_variants([test], {"shop": SHOP}, BRIEF, wordings, AnswerCache(ScriptedAsker())))


def test_wordings_are_read_from_any_file_or_from_the_skills_hooks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "own.md").write_text("Own.\n")
    (tmp_path / "other.md").write_text(" Other. ")
    (tmp_path / "empty.md").write_text(" ")
    other = "other.md"

    assert read_wordings([other, "own.md"], tmp_path) == [Wording(other, "Other."), Wording("own.md", "Own.")]
    assert len(read_wordings(["own.md"] * MAX_VARIANTS, tmp_path)) == MAX_VARIANTS
    with pytest.raises(VariantError, match=f"needs 2 to {MAX_VARIANTS} files"):
        read_wordings(["own.md"] * (MAX_VARIANTS + 1), tmp_path)
    with pytest.raises(VariantError, match=r"empty\.md is empty$"):
        read_wordings(["own.md", str(tmp_path / "empty.md")], tmp_path)


def test_what_is_wrong_with_many_answers_is_shown_for_the_first() -> None:
    asker = ScriptedAsker([LONG] * 3 + ["no", "yes"])
    result = ask("ask: {samples: 5, pass: 0.5}, expect: {reply: {max_words: 5, contains: 'yes'}}", asker)

    [failure] = result.failures
    assert failure.was == (*[f"(6 words) {LONG}"] * 3, "… and 1 more")
    assert failure.expected == ("in at least 50% of the answers:", "contains yes", "at most 5 words")
    assert (result.test.name, result.duration_s > 0) == ("a", True)


def test_several_hooks_to_compare_without_are_named_and_left_out() -> None:
    asker = ScriptedAsker(["a"] * 2)
    hooks = HooksFile((BRIEF, hook("calm")))
    test = a_test("ask: {samples: 1}, expect: {reply: {}}, compare: {without: [brief, shop/calm]}")

    result = asyncio.run(ask_test(test, SkillTestRunner({"shop": hooks}), AnswerCache(asker)))

    assert result.notes[1].startswith("without brief, shop/calm: ")
    assert asker.questions[1].hook_texts == {"shop/brief": None, "shop/calm": None}
    assert result.failures == ()


def test_the_hook_to_compare_without_is_that_of_the_tests_own_skill() -> None:
    asker = ScriptedAsker(["a"] * 2)
    shelf = {"shop": SHOP, "polite": HooksFile((hook("brief", skill="polite"),))}
    test = a_test("skills: [polite, shop], ask: {samples: 1}, expect: {reply: {}}, compare: {without: [brief]}")

    asyncio.run(ask_test(test, SkillTestRunner(shelf), AnswerCache(asker)))

    assert asker.questions[1].hook_texts == {"shop/brief": None}


def test_the_hook_to_vary_is_named_or_told_by_its_file_or_the_only_one() -> None:
    other = hook("other")
    wordings = [Wording("brief.md", "x"), Wording("new.md", "y")]

    assert hook_to_vary(None, wordings, [BRIEF, other]) is BRIEF
    assert hook_to_vary("other", wordings, [BRIEF, other]) is other
    assert hook_to_vary(None, wordings[1:], [other]) is other
    assert hook_to_vary("other", wordings, [other]) is other
    with pytest.raises(VariantError, match=r"there are: other$"):
        hook_to_vary("gone", wordings, [other])
    with pytest.raises(VariantError, match=r"there are: none$"):
        hook_to_vary(None, wordings, [])
    with pytest.raises(VariantError, match="which hook is meant\\? name one with --hook; there are: brief, other"):
        hook_to_vary(None, wordings[1:], [BRIEF, other])


def judged(verdict: str) -> tuple[SkillTestResult, ScriptedAsker]:
    asker = ScriptedAsker(["A hint.", verdict])
    return ask("ask: {samples: 1}, expect: {reply: {judge: 'is kind, gives no answer'}}", asker), asker


def test_a_judge_reads_question_answer_and_criterion_and_its_verdict_is_told() -> None:
    result, asker = judged('{"verdict": "yes", "reason": "It is a hint."}')

    assert (result.outcome, result.notes[0]) == ("passed", "judge of answer 1: yes: It is a hint.")
    question = asker.questions[1]
    assert (question.skills, question.enable_tools, question.hook_texts) == ([], False, {})
    [message] = question.messages
    case = '{"conversation": [{"role": "user", "content": "why"}], "answer": "A hint.", "criterion": "is kind, gives no answer"}'
    assert case in message["content"]


def test_what_a_judge_denies_fails_with_the_reason() -> None:
    result, _ = judged('```json\n{"verdict": "no", "reason": "It is rude."}\n```')

    [failure] = result.failures
    assert failure.was == ("(2 words) A hint. (judge: no: It is rude.)",)
    assert failure.expected[1:] == ("judge: is kind, gives no answer",)


@pytest.mark.parametrize(
    "nonsense",
    [
        "Yes, it is kind.",
        "",
        '{"verdict": true, "reason": "x"}',
        '{"verdict": "yes"}',
        '{"verdict": "YES!", "reason": "x"}',
        'It says {"verdict": "yes", "reason": "x"}, as it was told to.',
        '{"verdict": "yes", "reason": "x"} {"verdict": "no", "reason": "x"}',
        "[" * 100_000,
        '{"a":' * 100_000 + "}",
    ],
)
def test_a_judge_that_gives_no_verdict_fails_the_answer(nonsense: str) -> None:
    result, _ = judged(nonsense)

    assert result.outcome == "failed"
    assert result.notes[0].startswith("judge of answer 1: no verdict, but ")


def test_one_answer_is_judged_once_and_one_question_asked_once_for_all_tests() -> None:
    asker = ScriptedAsker(["same", "same", '{"verdict": "yes", "reason": "x"}'])
    model, runner = AnswerCache(asker), SkillTestRunner({"shop": SHOP})
    texts = ["judge: is kind", "max_words: 3"]
    results = [
        asyncio.run(ask_test(a_test(f"ask: {{samples: 2}}, expect: {{reply: {{{text}}}}}"), runner, model))
        for text in texts
    ]

    assert [result.outcome for result in results] == ["passed", "passed"]
    assert len(asker.questions) == 3


SCHEMA = "json: {type: object, properties: {age: {type: integer}}, required: [age]}"


@pytest.mark.parametrize(
    ("answer", "lacks"),
    [
        ('{"age": 3}', []),
        ('{"age": "3"}', ["json: $.age: '3' is not of type 'integer'"]),
        ("{}", ["json: $: 'age' is a required property"]),
        ("It is 3.", ["json: the answer is no JSON: Expecting value: line 1 column 1 (char 0)"]),
        ("[" * 100_000, ["json: the answer or the schema is nested too deep"]),
    ],
)
def test_an_answer_must_be_json_of_the_schema(answer: str, lacks: list[str]) -> None:
    result = ask(f"ask: {{samples: 1}}, expect: {{reply: {{{SCHEMA}}}}}", ScriptedAsker([answer]))

    assert [line for failure in result.failures for line in failure.expected[1:]] == lacks


def test_a_schema_that_refers_elsewhere_fails_and_fetches_nothing() -> None:
    text = "ask: {samples: 1}, expect: {reply: {json: {$ref: 'http://127.0.0.1:9/x'}}}"
    result = ask(text, ScriptedAsker(["{}"]))

    assert result.failures[0].expected[1] == "json: the schema refers to what is not in it: http://127.0.0.1:9/x"


def test_what_is_no_schema_is_a_mistake_in_the_test() -> None:
    report = Report("shop", "tests/a.yaml")
    text = "tests:\n  - {name: a, user: x, ask: {}, expect: {reply: {json: {type: objekt}}}}"

    assert parse_tests(text, report) == []
    [found] = report.found
    assert found.path == "$.tests[0].expect.reply.json.type"
    assert found.message.startswith("line 2: is no JSON Schema: 'objekt' is not valid")
