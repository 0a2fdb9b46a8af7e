"""Formulas of a reply in Chromium: drawn as MathML by the vendored converter, and text without it."""

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
