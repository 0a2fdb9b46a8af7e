"""Every frame of the protocol `parley.v1` as a typed struct (docs/protocol.md), under one name.

Text messages are JSON objects with a string `type`; the structs carry it as
their tag. Unknown fields are ignored in both directions.

Those of the server are what a session gives. The codec writes them for `/ws`,
and `server.realtime` translates them for `/v1/realtime`.
"""

from server.wire.client_frames import *  # noqa: F403  # the vocabulary of this package, whole
from server.wire.server_frames import *  # noqa: F403  # as above

PROTOCOL = "parley.v1"
