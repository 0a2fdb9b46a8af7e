"""What messages say, whom they reach, and what only a payment has."""

from typing import Any, Final

from server.policy.danger.calls import judge_call

Call = tuple[str, dict[str, Any]]

ASKED: Final[list[Call]] = [
    ("send_message", {"to": "boss@x.example", "text": "I hereby resign from my position."}),
    ("verzend_bericht", {"aan": "landlord", "bericht": "Hierbij zeg ik de huur per direct op."}),
    ("whatsapp_send", {"to": "Ben", "text": "The code is 4471 09"}),
    ("whatsapp_send", {"group": "Class 7b", "text": "Grades of all: Anton 5, Bela 2"}),
    ("whatsapp_send", {"to": ["+49 151 000001", "+49 151 000002", "+49 151 000003"], "text": "hi"}),
    ("telegram_send", {"chat_id": -1001288, "text": "the wedding is called off"}),
    ("calendar_create_event", {"title": "Townhall", "attendees": ["all@x.example"]}),
    ("送信メール", {"宛先": "a@b.example", "本文": "hi"}),
    ("fints", {"auftrag": {"iban": "DE75512108001245126199", "betrag": "89,90"}}),
    ("banking", {"order_id": "8f1c", "tan": "559201"}),
    ("browser_fill_form", {"fields": [{"name": "PIN", "value": "84021"}], "submit": True}),
    ("run_agent", {"task": "Remove whatever looks unused.", "auto_approve": True}),
]
QUIET: Final[list[Call]] = [
    ("send_message", {"to": "Lena", "text": "On my way, 10 minutes!"}),
    ("send_email", {"to": ["me@self.example"], "subject": "Memo: delete old photos"}),
    ("enviar_email", {"modo": "borrador", "destinatario": "a@b.example", "asunto": "x"}),
    ("下書き保存", {"宛先": "部長", "件名": "退職願", "送信": False}),
    ("iban_check", {"iban": "DE75512108001245126199", "amount": 3}),
    ("browser_type", {"element": "Search docs", "text": "drop database", "submit": True}),
    ("todo_add", {"text": "Delete old screenshots"}),
]


def test_what_cannot_be_taken_back_is_asked_about() -> None:
    assert [call for call in ASKED if judge_call(call[0], "EXTERNAL", call[1]) is None] == []


def test_what_is_done_every_day_asks_nothing() -> None:
    assert [call for call in QUIET if judge_call(call[0], "EXTERNAL", call[1]) is not None] == []
