"""Which messages of an MCP server are passed on."""

from mcp.types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from server.tools.mcp.transports import MAX_ASKED, MAX_OPEN, MessageFilter

CHANGED = "notifications/tools/list_changed"


def request(number: int) -> JSONRPCRequest:
    return JSONRPCRequest(jsonrpc="2.0", id=number, method="ping")


def answer(number: int | str) -> JSONRPCResponse:
    return JSONRPCResponse(jsonrpc="2.0", id=number, result={})


def notification(method: str) -> JSONRPCNotification:
    return JSONRPCNotification(jsonrpc="2.0", method=method)


def admitted(message_filter: MessageFilter, *messages: JSONRPCMessage, at_s: float = 0.0) -> int:
    return sum(message_filter.admits(message, at_s) for message in messages)


def test_an_answer_is_admitted_once_and_only_if_we_asked() -> None:
    message_filter = MessageFilter(sees_sent=True)
    message_filter.before_sending(request(1))

    assert [admitted(message_filter, answer(number)) for number in (1, 1, 2, "1")] == [1, 0, 0, 0]


def test_answers_that_come_too_late_are_forgotten_in_the_end() -> None:
    message_filter = MessageFilter(sees_sent=True)
    for number in range(MAX_ASKED + 1):
        message_filter.before_sending(request(number))

    assert [admitted(message_filter, answer(number)) for number in (0, 1, MAX_ASKED)] == [0, 1, 1]


def test_where_nothing_is_known_of_what_we_send_every_answer_is_admitted() -> None:
    assert admitted(MessageFilter(sees_sent=False), answer(1)) == 1


def test_progress_and_log_messages_are_dropped() -> None:
    message_filter = MessageFilter(sees_sent=True)

    assert admitted(message_filter, notification("notifications/progress"), notification("notifications/message")) == 0
    assert admitted(message_filter, notification(CHANGED)) == 1


def test_a_flood_of_changes_is_thinned() -> None:
    message_filter = MessageFilter(sees_sent=True)

    assert admitted(message_filter, *[notification(CHANGED)] * 1000) == 50
    assert admitted(message_filter, *[notification(CHANGED)] * 1000, at_s=1.0) == 10


def test_requests_are_admitted_while_the_server_takes_our_answers() -> None:
    message_filter = MessageFilter(sees_sent=True)

    assert admitted(message_filter, *map(request, range(100))) == MAX_OPEN
    message_filter.after_sending(answer(0))
    message_filter.after_sending(notification("x"))
    message_filter.after_sending(request(1))

    assert admitted(message_filter, *map(request, range(100))) == 1


def test_requests_are_thinned_where_nothing_is_known_of_our_answers() -> None:
    message_filter = MessageFilter(sees_sent=False)

    assert admitted(message_filter, *map(request, range(100))) == 50
    assert admitted(message_filter, *map(request, range(100)), at_s=1.0) == 10
