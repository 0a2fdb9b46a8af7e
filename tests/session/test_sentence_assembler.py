"""server/session/sentence_assembler.py"""

from server.agent.chunks import LLMChunk
from server.session.sentence_assembler import SentenceAssembler, SpokenSentence, TTSResult
from tests.session.fakes import call, hook, notice, result, trace, used


def told(*chunks: LLMChunk) -> list[TTSResult]:
    assembler = SentenceAssembler()
    return [*(r for chunk in chunks for r in assembler.feed(chunk)), *assembler.flush()]


def what(results: list[TTSResult]) -> list[str]:
    names = ("text", "sentence", "hook", "tool_call", "tool_result", "notice", "reasoning", "trace")
    return [name for one in results for name in names if getattr(one, name) is not None]


def test_a_delta_is_shown_before_the_sentence_that_it_completes() -> None:
    results = told(LLMChunk(text="Hello"), LLMChunk(text="!"))

    assert what(results) == ["text", "text", "sentence"]
    assert results[-1].sentence == SpokenSentence("Hello!")


def test_an_open_sentence_leaves_before_a_hook() -> None:
    assert what(told(LLMChunk(text="Let me see"), hook())) == ["text", "sentence", "hook"]


def test_an_open_sentence_leaves_before_a_tool_call_and_its_result() -> None:
    results = told(LLMChunk(text="Let me see"), call("1"), result("1"))

    assert what(results) == ["text", "sentence", "tool_call", "tool_result"]


def test_an_open_sentence_ends_with_its_reply() -> None:
    results = told(LLMChunk(text="One"), LLMChunk(reply_end=True), LLMChunk(text="\n\n"), LLMChunk(text="Two"))

    assert [r.sentence.text for r in results if r.sentence] == ["One", "\n\nTwo"]


def test_notices_reasoning_and_trace_cut_no_sentence() -> None:
    results = told(LLMChunk(text="One "), notice(), LLMChunk(reasoning="hm"), trace(), LLMChunk(text="two"))

    assert what(results) == ["text", "notice", "reasoning", "trace", "text", "sentence"]
    assert results[-1].sentence == SpokenSentence("One two")


def test_what_holds_no_word_is_shown_and_not_spoken() -> None:
    results = told(LLMChunk(text="Hello!\n\n"))

    assert [r.sentence for r in results if r.sentence] == [SpokenSentence("Hello!"), SpokenSentence("\n\n", "")]


def test_a_formula_is_shown_as_it_is_and_said_in_the_turn_s_language() -> None:
    assembler = SentenceAssembler(language="de")
    chunks = [LLMChunk(text=piece) for piece in ("Es ist $x^2", "$. ", "Ja.")]
    results = [*(r for chunk in chunks for r in assembler.feed(chunk)), *assembler.flush()]

    said = [r.sentence for r in results if r.sentence]
    assert said == [SpokenSentence("Es ist $x^2$.", "Es ist x Quadrat."), SpokenSentence(" Ja.")]


def test_what_a_reply_leaves_open_mutes_nothing_of_the_next() -> None:
    for opened in ("$$\nx = 1", "```\nx = 1"):
        results = told(LLMChunk(text=opened), LLMChunk(reply_end=True), LLMChunk(text="Two."))

        assert [r.sentence for r in results if r.sentence][-1] == SpokenSentence("Two.")


def test_bookkeeping_of_the_agent_says_nothing() -> None:
    assert told(used(1), LLMChunk(model_request=True), LLMChunk(reply_end=True)) == []
