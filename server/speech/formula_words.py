"""The words in which a formula is said, language by language. `{}` are its parts; a sign without a word is not said."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Words:
    formula: str = "formula"
    """Said in place of what nobody could follow by ear."""
    squared: str = ""
    cubed: str = ""
    power: str = ""
    over: str = ""
    root: str = ""
    signs: Mapping[str, str] = field(default_factory=dict)
    functions: Mapping[str, str] = field(default_factory=dict)


_SIGNS: Final = "+ - × ÷ / = ≠ < > ≤ ≥ ≈ ± ∞ → ' ! ° ∈ ⇒ …".split()
_FUNCTIONS: Final = "sin cos tan log ln".split()


def _words(formula: str, templates: str, signs: str, functions: str) -> Words:
    squared, cubed, power, over, root = templates.split("|")
    return Words(
        formula=formula,
        squared=squared,
        cubed=cubed,
        power=power,
        over=over,
        root=root,
        signs=dict(zip(_SIGNS, signs.split("|"), strict=True)),
        functions=dict(zip(_FUNCTIONS, functions.split("|"), strict=True)),
    )


_LANGUAGES: Final[Mapping[str, Words]] = {
    "en": _words(
        "formula",
        "{} squared|{} cubed|{} to the {}|{} over {}|the square root of {}",
        "plus|minus|times|divided by|over|equals|is not equal to|is less than|is greater than|is at most|is at least|"
        "is about|plus or minus|infinity|goes to|prime|factorial|degrees|in|so|and so on",
        "sine|cosine|tangent|log|natural log",
    ),
    "de": _words(
        "Formel",
        "{} Quadrat|{} hoch 3|{} hoch {}|{} durch {}|Wurzel aus {}",
        "plus|minus|mal|geteilt durch|durch|gleich|ungleich|kleiner als|größer als|höchstens|mindestens|ungefähr|"
        "plus minus|unendlich|gegen|Strich|Fakultät|Grad|in|also|und so weiter",
        "Sinus|Kosinus|Tangens|Logarithmus|natürlicher Logarithmus",
    ),
    "fr": _words(
        "formule",
        "{} au carré|{} au cube|{} puissance {}|{} sur {}|racine carrée de {}",
        "plus|moins|fois|divisé par|sur|égale|différent de|inférieur à|supérieur à|inférieur ou égal à|"
        "supérieur ou égal à|environ|plus ou moins|l’infini|tend vers|prime|factorielle|degrés|dans|donc|et ainsi de suite",
        "sinus|cosinus|tangente|logarithme|logarithme népérien",
    ),
    "es": _words(
        "fórmula",
        "{} al cuadrado|{} al cubo|{} elevado a {}|{} sobre {}|raíz cuadrada de {}",
        "más|menos|por|dividido por|sobre|igual a|distinto de|menor que|mayor que|menor o igual que|mayor o igual que|"
        "aproximadamente|más menos|infinito|tiende a|prima|factorial|grados|en|entonces|y así sucesivamente",
        "seno|coseno|tangente|logaritmo|logaritmo natural",
    ),
    "zh": _words(
        "公式",
        "{}的平方|{}的立方|{}的{}次方|{1}分之{0}|根号{}",
        "加|减|乘|除以|除以|等于|不等于|小于|大于|小于等于|大于等于|约等于|正负|无穷大|趋于|撇|的阶乘|度|属于|所以|",
        "正弦|余弦|正切|对数|自然对数",
    ),
    "ja": _words(
        "数式",
        "{}の2乗|{}の3乗|{}の{}乗|{1}分の{0}|ルート{}",
        "たす|ひく|かける|わる|わる|イコール|ノットイコール|小なり|大なり|小なりイコール|大なりイコール|"
        "ニアリーイコール|プラスマイナス|無限大|から|ダッシュ|の階乗|度||ゆえに|",
        "サイン|コサイン|タンジェント|ログ|自然対数",
    ),
    "it": Words(formula="formula"),
    "ko": Words(formula="수식"),
    "nl": Words(formula="formule"),
    "pt": Words(formula="fórmula"),
    "ru": Words(formula="формула"),
}


def words_of(language: str | None) -> Words:
    """`language`: BCP 47; None: English. Without words of its own, only letters and numbers are said."""
    return _LANGUAGES.get((language or "en").partition("-")[0].lower(), Words())
