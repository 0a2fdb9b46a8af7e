"""Ports for what stops and comes back in a test."""

import random
import socket


def lasting_port() -> int:
    """Free, and below those that systems hand out by themselves: nobody else gets it while we do not listen."""
    while True:
        port = random.randrange(15_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
