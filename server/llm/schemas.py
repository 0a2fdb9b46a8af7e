"""Checking values against JSON Schemas, whoever wrote them."""

from collections.abc import Mapping
from typing import Any, Final

import jsonschema
from referencing import Registry

_NOTHING_ELSEWHERE: Final[Registry[Any]] = Registry()
"""Given, as jsonschema else fetches what a schema refers to: from any address, with nobody else running."""


def validator(schema: Mapping[str, Any]) -> jsonschema.Draft202012Validator:
    """References lead into the schema and to the dialects that jsonschema brings along; one to anywhere else
    raises `referencing.exceptions.Unresolvable` when it is reached."""
    return jsonschema.Draft202012Validator(dict(schema), registry=_NOTHING_ELSEWHERE)
