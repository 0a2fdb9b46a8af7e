"""Fixtures that tests of the gateway share with these."""

from tests.gateway.conftest import model
from tests.gateway.rest.conftest import anna, bert, operator, server

__all__ = ["anna", "bert", "model", "operator", "server"]
