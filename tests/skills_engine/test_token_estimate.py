"""Estimates of tokens against a tokenizer's own counts (L1-47)."""

import pytest

from skills_engine import estimate_tokens

COUNTED = {
    "en": (
        """Never promise a date: the bank decides how long a transfer takes. hey, are you still open today?
        {"order": {"id": 4711, "state": "lost"}}""",
        39,
    ),
    "de": (
        "Versprich niemals ein Datum, denn die Bank entscheidet, wie lange eine Überweisung dauert. hab mein ticket verloren, was nun?",
        27,
    ),
    "zh": ("不要承诺到账时间，因为转账需要多久由银行决定。你好，今天还营业吗？", 21),
    "ja": ("振り込みにかかる日数は銀行が決めるので、いつ届くかは約束しないでください。チケットをなくしました。", 35),
    "ko": ("송금에 걸리는 시간은 은행이 정하므로 날짜를 절대 약속하지 마세요. 오늘 아직 영업하시나요?", 30),
    "th": ("อย่าสัญญาว่าเงินจะเข้าวันไหน เพราะธนาคารเป็นผู้กำหนดเวลาโอน สวัสดีค่ะ วันนี้ยังเปิดอยู่ไหมคะ", 36),
    "ar": ("لا تعده أبدا بموعد، لأن البنك هو الذي يقرر كم يستغرق التحويل. هل ما زلتم مفتوحين اليوم؟", 32),
    "ru": ("Никогда не обещай срок: сколько идёт перевод, решает банк. привет, вы сегодня ещё открыты?", 25),
    "el": ("Μην υπόσχεσαι ποτέ ημερομηνία, γιατί η τράπεζα αποφασίζει πόσο διαρκεί η μεταφορά.", 31),
    "hi": ("कभी कोई तारीख न बताएँ, क्योंकि पैसे आने में कितना समय लगेगा यह बैंक तय करता है। नमस्ते!", 27),
    "he": ("לעולם אל תבטיח תאריך, כי הבנק הוא שקובע כמה זמן נמשכת ההעברה. אתם עדיין פתוחים היום?", 30),
    "emoji": ("🎉🎉 👍 🙏🏽 😂😂😂 🚀 ✨ 😀😃😄😁", 22),
}
"""Texts by language, with the number of tokens that o200k makes of them."""


@pytest.mark.rule("L1-47")
@pytest.mark.parametrize(("text", "tokens"), COUNTED.values(), ids=COUNTED)
def test_an_estimate_is_within_a_quarter_of_what_a_tokenizer_counts(text: str, tokens: int) -> None:
    assert 0.75 * tokens <= estimate_tokens(text) <= 1.25 * tokens
