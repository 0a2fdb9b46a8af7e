"""A formula in LaTeX as somebody would say it, where that can be followed by ear. Pure."""

import re
from typing import Final

from server.speech.formula_words import Words

MAX_CHARS: Final = 300
"""A longer formula is not read at all."""
MAX_WORDS: Final = 24
_MAX_DEPTH: Final = 8

_TEXT: Final = re.compile(r"\\(?:text(?:bf|it|rm)?|mathrm|operatorname)\s*\{([^{}]*)\}")
_TOKEN: Final = re.compile(
    rf"{_TEXT.pattern}|\\[A-Za-z]+|\\.|\d+(?:[.,]\d+)*|[A-Za-z]{{4,}}|[^\W\d_A-Za-z²³]+|\S", re.DOTALL
)
_GREEK: Final = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi chi psi omega".split()
)
_ALIASES: Final = {"varepsilon": "epsilon", "vartheta": "theta", "varphi": "phi", "varrho": "rho", "varsigma": "sigma"}
_WRITTEN: Final = {
    "×": "times cdot ast * · ∗",
    "-": "−",
    "÷": "div",
    "≠": "neq ne",
    "≤": "leq le leqslant",
    "≥": "geq ge geqslant",
    "<": "lt",
    ">": "gt",
    "≈": "approx",
    "±": "pm",
    "∞": "infty",
    "→": "to rightarrow",
    "'": "prime ′ ’",
    "°": "circ",
    "∈": "in",
    "⇒": "Rightarrow implies",
    "…": "ldots dots cdots",
}
_SIGN_OF: Final = {way: sign for sign, ways in _WRITTEN.items() for way in ways.split()}
_FRACTIONS: Final = frozenset({"frac", "dfrac", "tfrac", "cfrac"})
_STYLES: Final = frozenset("mathbf mathit mathsf mathbb mathcal boxed vec".split())
_LAYOUT: Final = frozenset("left right big Big bigl bigr Bigl Bigr quad qquad displaystyle textstyle , ; : !".split())
_NOTHING: Final = _LAYOUT | {" "}
_SUPERSCRIPTS: Final = {"²": "2", "³": "3"}
_PUNCTUATION: Final = frozenset("(),.:;%[]")
_NO_ARGUMENT: Final = frozenset("^_}[")  # nor is the index of a root, such as `[3]`
_NEEDLESS_SPACE: Final = re.compile(r"\s+(?=[),.:;%\]])|(?<=[(\[])\s+")


def said(formula: str, words: Words) -> str:
    """What stands between the delimiters, in words; `words.formula` where it is too long or too deep, or has none."""
    if len(formula) > MAX_CHARS:
        return words.formula
    reader = _Reader(formula, words)
    text = _NEEDLESS_SPACE.sub("", " ".join(reader.sequence()))
    return text if reader.is_simple and len(text.split()) <= MAX_WORDS else words.formula


class _Reader:
    """Once `is_simple` is false, nothing that is read matters."""

    def __init__(self, formula: str, words: Words) -> None:
        self._tokens = [found[0] for found in _TOKEN.finditer(formula.replace("{,}", ","))]  # between thousands
        self._at = 0
        self._depth = 0
        self._words = words
        self.is_simple = True

    def sequence(self, end: str | None = None) -> list[str]:
        """The parts up to `end`, which is taken too, each in words."""
        parts: list[str] = []
        while self.is_simple and (token := self._take()) is not None:
            if token == end:
                return parts
            self._read(token, parts)
        self.is_simple &= end is None
        return parts

    def _read(self, token: str, parts: list[str]) -> None:
        if token == "{":
            parts.append(self._group())
        elif token == "^" or token in _SUPERSCRIPTS:
            base = parts.pop() if parts else ""
            parts.append(self._raised(base, _SUPERSCRIPTS.get(token) or self._argument()))
        elif token == "_":
            base = parts.pop() if parts else ""
            parts.append(f"{base} {self._argument()}".strip())
        elif written := _TEXT.fullmatch(token):
            parts += written[1].split()
        elif token[0] == "\\":
            self._read_macro(token[1:], parts)
        elif token in _PUNCTUATION or token.isalnum() or token[0].isdigit():
            parts.append(token)
        else:
            parts.append(self._sign(_SIGN_OF.get(token, token)))

    def _read_macro(self, name: str, parts: list[str]) -> None:
        words = self._words
        letter = _ALIASES.get(name, name)
        if name in _STYLES:
            parts.append(self._argument())
        elif name in _FRACTIONS:
            self._part_digits()
            parts.append(self._fill(words.over, self._argument(), self._argument()))
        elif name == "sqrt":
            parts.append(self._fill(words.root, self._argument()))
        elif letter.lower() in _GREEK or name == "%":
            parts.append(letter)
        elif name in words.functions:
            parts.append(words.functions[name])
        elif name not in _NOTHING:
            parts.append(self._sign(_SIGN_OF.get(name, name)))

    def _part_digits(self) -> None:
        """`\\frac12` is one over two."""
        if self._at < len(self._tokens) and self._tokens[self._at].isdigit():
            self._tokens[self._at : self._at + 1] = self._tokens[self._at]

    def _raised(self, base: str, exponent: str) -> str:
        words = self._words
        if exponent in (words.signs.get("°"), words.signs.get("'")):
            return f"{base} {exponent}".strip()
        match exponent:
            case "2":
                return self._fill(words.squared, base)
            case "3":
                return self._fill(words.cubed, base)
        return self._fill(words.power, base, exponent)

    def _sign(self, sign: str) -> str:
        word = self._words.signs.get(sign, "")
        self.is_simple &= word != ""
        return word

    def _fill(self, template: str, *parts: str) -> str:
        self.is_simple &= template != "" and all(parts)
        return template.format(*parts) if self.is_simple else ""

    def _argument(self) -> str:
        """A group, a macro or a single sign."""
        parts: list[str] = []
        token = self._take()
        self._depth += 1
        self.is_simple &= self._depth <= _MAX_DEPTH and token is not None and token not in _NO_ARGUMENT
        if token is not None and self.is_simple:
            self._read(token, parts)
        self._depth -= 1
        return " ".join(parts)

    def _group(self) -> str:
        self._depth += 1
        self.is_simple &= self._depth <= _MAX_DEPTH
        parts = self.sequence("}")
        self._depth -= 1
        return " ".join(parts)

    def _take(self) -> str | None:
        if self._at == len(self._tokens):
            return None
        self._at += 1
        return self._tokens[self._at - 1]
