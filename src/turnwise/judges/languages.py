"""Language of a text."""

from functools import cache
from typing import Any

from turnwise.errors import MetricError

_CODES = (
    "af ar bg bn ca cs cy da de el en es et fa fi fr gu he hi hr hu id it ja kn ko lt lv mk ml mr ne nl no pa pl pt ro "
    "ru sk sl so sq sv sw ta te th tl tr uk ur vi zh"
)
LANGUAGES = tuple(_CODES.split())
"""The languages that langdetect, the detector of IFEval's script, tells apart; its two Chinese scripts are one here."""


def detect_language(text: str) -> str | None:
    """The ISO 639-1 code of the language a text is most likely in; None where nothing in it is a letter.

    It is py3langid's guess among `LANGUAGES` (extra ``language``); the same text always gets the same code, which
    langdetect does not promise. Of a word or two no guess is to be trusted. Any function from a text to a code can take
    its place.

    References
    ----------
    Lui, Baldwin (2012), langid.py: an off-the-shelf language identification tool, https://aclanthology.org/P12-3005

    Examples
    --------
    >>> detect_language("1 + 1 = 2") is None
    True
    """
    return str(_identifier().classify(text)[0]) if any(map(str.isalpha, text)) else None


@cache
def _identifier() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise MetricError(
            "no language can be told without py3langid; `pip install 'turnwise[language]'`, or pass a function of your own"
        ) from error
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(list(LANGUAGES))
    return identifier
