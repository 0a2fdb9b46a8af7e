"""Documents attached in Chromium: what the model reads of them, and what is said of those that cannot be read."""

from mimetypes import guess_type
from pathlib import Path

import pytest
from playwright.async_api import FilePayload, expect

from tests.e2e.parley_page import ParleyPage
from tests.support.openai_server import OpenAIServer

VENDOR = Path(__file__).parents[2] / "frontend" / "vendor"
needs_reader = pytest.mark.skipif(not (VENDOR / "pdf.js").exists(), reason="no PDF reader: run scripts/setup.sh test")


def pdf(words: str) -> bytes:
    """Make a PDF of one page without a table of its objects, which readers rebuild."""
    content = f"BT /F1 12 Tf 20 50 Td ({words}) Tj ET".encode()
    return b"\n".join(
        [
            b"%PDF-1.4",
            b"1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj",
            b"2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj",
            b"3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/Contents 4 0 R/Resources 6 0 R>> endobj",
            b"4 0 obj <</Length %d>> stream\n%s\nendstream endobj" % (len(content), content),
            b"5 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj",
            b"6 0 obj <</Font<</F1 5 0 R>>>> endobj",
            b"trailer <</Root 1 0 R>>",
            b"%%EOF",
        ]
    )


async def give(page: ParleyPage, name: str, data: bytes, media_type: str = "") -> None:
    await page.tab.locator("#picker").set_input_files([FilePayload(name=name, mimeType=media_type, buffer=data)])


async def test_text_is_read_with_the_message_and_with_the_next_one(page: ParleyPage, model: OpenAIServer) -> None:
    for answer in ("It is blue.", "Still blue."):
        model.say(answer)
    await give(page, "notes.md", "# Sky\nThe sky is blü.".encode())
    await expect(page.tab.locator(".attachments .document")).to_have_text("notes.md")

    await page.ask_and_wait("What does it say?")
    await page.tab.reload()
    await page.ask_and_wait("Sure?")

    for request in model.requests:
        assert "What does it say?" in str(request.contents)
        assert "# Sky\\nThe sky is blü." in str(request.contents)
    await expect(page.tab.locator(".said-by-user .document")).to_have_text("notes.md")


@needs_reader
async def test_the_text_of_a_pdf_is_read(page: ParleyPage, model: OpenAIServer) -> None:
    model.say("It says so.")
    await give(page, "report.pdf", pdf("The sky is green."), "application/pdf")
    await expect(page.tab.locator(".attachments .document")).to_have_text("report.pdf")

    await page.ask_and_wait("What does it say?")

    assert "The sky is green." in str(model.requests[0].contents)


@needs_reader
async def test_what_cannot_be_read_is_said(page: ParleyPage) -> None:
    for name, data, said in (
        ("long.txt", b"x" * 100_001, "long.txt is too long: 100,001 characters"),
        ("latin.csv", b"\xe4;1", "latin.csv is not UTF-8 text"),
        ("empty.md", b" \n", "empty.md holds no text"),
        ("torn.pdf", b"%PDF-1.4 torn", "torn.pdf cannot be read as a PDF"),
        ("song.mp3", b"ID3", "song.mp3 cannot be attached: messages hold no sound and no film."),
        ("x.docx", b"PK", "x.docx cannot be attached: it is neither a picture nor text, Markdown, CSV or PDF."),
    ):
        await give(page, name, data, guess_type(name)[0] or "")
        await expect(page.tab.locator(".lines .line")).to_have_count(1)  # the one before is over
        await expect(page.tab.locator(".lines")).to_contain_text(said)

    await expect(page.tab.locator(".attachments .document")).to_have_count(0)
