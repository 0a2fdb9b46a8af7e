"""Kinds of JSON values: each can write a value that fits and one that is wrong in exactly one place.

Frames are written as text, not through `json`, because the interesting ones
cannot be said in Python: 1e400, NaN, a key twice.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Protocol


@dataclass(frozen=True)
class Wrong:
    """JSON text, and the path of the mistake in it, counted from the value itself."""

    json: str
    at: str = ""


class Kind(Protocol):
    def good(self, rng: Random) -> str: ...

    def bad(self, rng: Random) -> Wrong: ...


# One or more of each JSON type, and what has surprised parsers.
_VALUES: Mapping[str, Sequence[str]] = {
    "null": ["null"],
    "boolean": ["true", "false"],
    "number": ["0", "-1", "1.5", "-0.0", "1e400", "-1e400", "9" * 400, "1e-400", "9007199254740993"],
    "string": ['""', '"true"', '"1"', '"\\u0000"', '"../../etc/passwd"', '"\\u202e"', json.dumps("x" * 5000)],
    "array": ["[]", "[[]]", '["a"]', "[null]", "[" * 50 + "]" * 50],
    "object": ["{}", '{"type": "ping"}', '{"a": {"a": {"a": {}}}}', '{"__proto__": {}}', '{"$ref": "#"}'],
}


def wrong_type(rng: Random, *but: str) -> Wrong:
    """A value of any JSON type but these."""
    kind = rng.choice([name for name in _VALUES if name not in but])
    return Wrong(rng.choice(_VALUES[kind]))


@dataclass(frozen=True)
class Boolean:
    def good(self, rng: Random) -> str:
        return rng.choice(["true", "false"])

    def bad(self, rng: Random) -> Wrong:
        return wrong_type(rng, "boolean")


@dataclass(frozen=True)
class OneOf:
    choices: Sequence[str]

    def good(self, rng: Random) -> str:
        return json.dumps(rng.choice(self.choices))

    def bad(self, rng: Random) -> Wrong:
        choice = rng.choice(self.choices)
        near = [choice.upper(), choice + " ", choice[:-1], choice + "\x00", "", "root"]
        return rng.choice([wrong_type(rng, "string"), Wrong(json.dumps(rng.choice(near)))])


@dataclass(frozen=True)
class Text:
    """A string. Without `bad_texts` only a wrong type is wrong."""

    examples: Sequence[str]
    bad_texts: Sequence[str] = ()

    def good(self, rng: Random) -> str:
        return json.dumps(rng.choice(self.examples), ensure_ascii=rng.random() < 0.5)

    def bad(self, rng: Random) -> Wrong:
        if self.bad_texts and rng.random() < 0.5:
            return Wrong(json.dumps(rng.choice(self.bad_texts)))
        return wrong_type(rng, "string")


@dataclass(frozen=True)
class Number:
    """A number. Without `bad_numbers` only a wrong type is wrong."""

    examples: Sequence[str]
    bad_numbers: Sequence[str] = ()

    def good(self, rng: Random) -> str:
        return rng.choice(self.examples)

    def bad(self, rng: Random) -> Wrong:
        if self.bad_numbers and rng.random() < 0.5:
            return Wrong(rng.choice(self.bad_numbers))
        return wrong_type(rng, "number")


@dataclass(frozen=True)
class Nullable:
    kind: Kind

    def good(self, rng: Random) -> str:
        return "null" if rng.random() < 0.3 else self.kind.good(rng)

    def bad(self, rng: Random) -> Wrong:
        wrong = self.kind.bad(rng)
        while wrong.json == "null":
            wrong = self.kind.bad(rng)
        return wrong


@dataclass(frozen=True)
class Items:
    """An array."""

    kind: Kind
    least: int = 0
    most: int = 3

    def good(self, rng: Random) -> str:
        return _array([self.kind.good(rng) for _ in range(rng.randint(self.least, self.most))])

    def bad(self, rng: Random) -> Wrong:
        if rng.random() < 0.3:
            return wrong_type(rng, "array")
        items = [self.kind.good(rng) for _ in range(rng.randint(1, self.most))]
        place = rng.randrange(len(items))
        wrong = self.kind.bad(rng)
        items[place] = wrong.json
        return Wrong(_array(items), f"[{place}]{wrong.at}")


@dataclass(frozen=True)
class Fields:
    """An object: fields that must be there and fields that may be; others are ignored."""

    required: Mapping[str, Kind] = field(default_factory=dict)
    optional: Mapping[str, Kind] = field(default_factory=dict)

    def good(self, rng: Random) -> str:
        return write_object(self.good_fields(rng))

    def bad(self, rng: Random) -> Wrong:
        if rng.random() < 0.2:
            return wrong_type(rng, "object")
        fields, at = self.bad_fields(rng)
        return Wrong(write_object(fields), at)

    def good_fields(self, rng: Random) -> dict[str, str]:
        chosen = [name for name in self.optional if rng.random() < 0.4]
        fields = {name: kind.good(rng) for name, kind in self.required.items()}
        fields.update({name: self.optional[name].good(rng) for name in chosen})
        if rng.random() < 0.1:
            fields["unheard_of"] = rng.choice(_VALUES[rng.choice(list(_VALUES))])
        return fields

    def bad_fields(self, rng: Random) -> tuple[dict[str, str], str]:
        """The fields, one of them wrong or missing, and where; for a missing one, where it should have been."""
        fields = self.good_fields(rng)
        name = rng.choice([*self.required, *self.optional])
        if name in self.required and rng.random() < 0.25:
            del fields[name]
            return fields, ""
        kind = ({**self.required, **self.optional})[name]
        wrong = kind.bad(rng)
        while name in self.optional and wrong.json == "null":  # the page does not say that null is not "left out"
            wrong = kind.bad(rng)
        fields[name] = wrong.json
        return fields, f".{name}{wrong.at}"


@dataclass(frozen=True)
class Cases:
    """Written out: values that fit, and values that are wrong at a place."""

    fitting: Sequence[str]
    wrong: Sequence[Wrong]
    types: Sequence[str] = ()
    """The JSON types that may be right; a value of any other is wrong too."""

    def good(self, rng: Random) -> str:
        return rng.choice(self.fitting)

    def bad(self, rng: Random) -> Wrong:
        if self.types and (not self.wrong or rng.random() < 0.4):
            return wrong_type(rng, *self.types)
        return rng.choice(self.wrong)


def any_value(rng: Random) -> str:
    return rng.choice(_VALUES[rng.choice(list(_VALUES))])


def write_object(fields: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{json.dumps(name)}: {value}" for name, value in fields.items()) + "}"


def _array(items: Sequence[str]) -> str:
    return "[" + ", ".join(items) + "]"
