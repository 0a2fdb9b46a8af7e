"""Replies as Markdown in Chromium: formulas and code by vendored libraries, and text without them."""

from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.e2e.parley_page import ParleyPage
from tests.support.openai_script import text
from tests.support.openai_server import OpenAIServer

VENDOR = Path(__file__).parents[2] / "frontend" / "vendor"
REPLY = r"Mass $m_1$ costs $5 or $6:" + "\n\n" + r"\[" + "\nE = \\frac{m\n- c}{2}\n" + r"\]" + "\n\nand $\\nonsense{$."


@pytest.mark.skipif(not (VENDOR / "temml.js").exists(), reason="no converter: run scripts/setup.sh test")
async def test_formulas_are_drawn_and_what_is_none_stays_text(page: ParleyPage, model: OpenAIServer) -> None:
    model.queue(text(REPLY[:40], REPLY[40:]))

    await page.ask_and_wait("What is it?")

    formulas = page.replies.locator("tex-formula")
    await expect(formulas).to_have_count(3)
    await expect(formulas.nth(0).locator("math msub")).to_have_text("m1")
    await expect(formulas.nth(1).locator("math[display=block] mfrac")).to_be_visible()
    await expect(formulas.nth(2).locator("math")).to_have_count(0)
    await expect(formulas.nth(2)).to_have_text(r"$\nonsense{$")
    await expect(page.replies).to_contain_text("costs $5 or $6:")
    box = await formulas.nth(1).bounding_box()
    assert box is not None
    assert box["height"] > 30


async def test_without_the_converter_formulas_stay_as_they_are_written(page: ParleyPage, model: OpenAIServer) -> None:
    model.say(r"It is \(x^2\).")
    page.expected_complaints = ("404",)
    await page.tab.route("**/vendor/temml.js", lambda route: route.fulfill(status=404))

    async with page.tab.expect_response("**/vendor/temml.js"):
        await page.ask_and_wait("What is it?")

    await expect(page.replies.locator(".markdown")).to_have_text(r"It is \(x^2\).")
    await expect(page.replies.locator("math")).to_have_count(0)


COLOURED = """async () => {
  while (!CSS.highlights.get("code-comment")?.size) await new Promise(requestAnimationFrame);
  const textOf = ({ startContainer, startOffset, endContainer, endOffset }) => {
    const range = document.createRange();
    range.setStart(startContainer, startOffset);
    range.setEnd(endContainer, endOffset);
    return range.toString();
  };
  return Object.fromEntries([...CSS.highlights].map(([name, ranges]) => [name, [...ranges].map(textOf)]));
}"""


@pytest.mark.skipif(not (VENDOR / "highlight.js").exists(), reason="no highlight.js: run scripts/setup.sh test")
async def test_code_is_coloured_as_it_comes_and_stays_what_it_was(page: ParleyPage, model: OpenAIServer) -> None:
    code = '<b>\n\nif x == "a&lt;b":  # why\n    pass\n'
    reply = f"```py\n{code}```\n\nand\n\n```\nplain text\n```"
    model.queue(text(reply[:20], reply[20:]))
    await page.ask_and_wait("Show me.")

    coloured = await page.tab.evaluate(COLOURED)
    assert coloured["code-keyword"] == ["if", "pass"]
    assert coloured["code-string"] == ['"a&lt;b"']
    assert coloured["code-comment"] == ["# why"]
    assert await page.replies.locator(".code-block pre").first.text_content() == code.rstrip("\n")
    assert await page.replies.locator(".code-block pre *").count() == 4, "nothing stands in the code but its text"


async def test_tasks_and_headings_are_what_they_are_to_a_screen_reader(page: ParleyPage, model: OpenAIServer) -> None:
    model.say("## Plan\n\n- [x] think\n- [ ] write\n\n#### Then\n\n## Rest")
    await page.ask_and_wait("What now?")

    await expect(page.replies.get_by_role("checkbox", name="done")).to_be_checked()
    await expect(page.replies.get_by_role("checkbox", name="to do")).not_to_be_checked()
    for level, names in ((2, ["Plan", "Rest"]), (3, ["Then"])):
        await expect(page.replies.get_by_role("heading", level=level)).to_have_text(names)
