"""Filter for the messages of an MCP server. No I/O: time comes in.

A server may say as much as it likes, unasked, and each message that is passed
on costs a task. What is dropped is what nobody waits for.
"""

from typing import Final

from mcp.types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse, RequestId

from server.token_bucket import TokenBucket

MAX_OPEN: Final = 32
"""Requests of a server that wait for it to read our answers."""
MAX_ASKED: Final = 1024
"""Requests of ours that an answer is still admitted for; the oldest of them were given up long ago."""

MAX_ENTRIES: Final = 1024
"""The longest list of an answer (tools, blocks of a result): while the SDK looks at one, nothing else runs."""

_ADMITTED: Final = frozenset(
    ("notifications/tools/list_changed", "notifications/cancelled", "notifications/subscriptions/acknowledged")
)
"""Notifications that are admitted; progress and log messages are for clients that show them."""


class MessageFilter:
    """Admits 50 of a flood of requests or notifications, then 10 a second."""

    def __init__(self, *, sees_sent: bool) -> None:
        """With `sees_sent` it hears of all that we send, by the two methods below; else it counts nothing of that."""
        self._sees_sent = sees_sent
        self._requests = TokenBucket(burst=50, per_s=10)
        self._notifications = TokenBucket(burst=50, per_s=10)
        self._asked = dict[RequestId, None]()
        self._open = 0

    def admits(self, message: JSONRPCMessage, now_s: float) -> bool:
        """Return whether to pass the message on.

        What is dropped of changes of the list is no loss: one was admitted less
        than a tenth of a second before, and the list is read later than that.
        """
        if isinstance(message, JSONRPCNotification):
            return message.method in _ADMITTED and self._notifications.take(now_s)
        if isinstance(message, JSONRPCRequest):
            return self._admits_request(now_s)
        if not self._sees_sent:
            return True
        if message.id is None or message.id not in self._asked:
            return False
        del self._asked[message.id]
        return True

    def before_sending(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCRequest):
            self._asked[message.id] = None
            if len(self._asked) > MAX_ASKED:
                del self._asked[next(iter(self._asked))]

    def after_sending(self, message: JSONRPCMessage) -> None:
        """Count an answer of ours that the server has read."""
        if not isinstance(message, JSONRPCRequest | JSONRPCNotification):
            self._open -= 1

    def _admits_request(self, now_s: float) -> bool:
        if self._open >= MAX_OPEN or not self._requests.take(now_s):
            return False
        self._open += self._sees_sent
        return True


def shorten(message: JSONRPCMessage) -> None:
    """Cut the lists of an answer to MAX_ENTRIES each."""
    if isinstance(message, JSONRPCResponse):
        for name, value in message.result.items():
            if isinstance(value, list) and len(value) > MAX_ENTRIES:
                message.result[name] = value[:MAX_ENTRIES]
