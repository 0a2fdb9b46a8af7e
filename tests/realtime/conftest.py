"""Fixtures that tests of the gateway share with these."""

from tests.gateway.conftest import model, server

__all__ = ["model", "server"]
