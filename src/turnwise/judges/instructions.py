"""Instructions that a response follows: IFEval's accuracies, by prompt, by instruction and by kind."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import polars as pl

from turnwise.errors import MetricError
from turnwise.judges.response_metric import ResponseMetric, require_same_length, texts_of
from turnwise.metrics.instructions import Detect, instruction_followed

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


_LONG = {
    "response_number": pl.Int64,
    "instruction": pl.String,
    "category": pl.String,
    "strict": pl.Boolean,
    "loose": pl.Boolean,
}


class StrictInstruction(ResponseMetric):
    r"""Share of IFEval prompts and instructions that the responses follow, strictly and loosely.

    The result holds `strict_prompt_accuracy`, `strict_instruction_accuracy` and `follow_all_instructions` (a list of
    Booleans), which are AISteer360's, then `loose_prompt_accuracy`, `loose_instruction_accuracy`, and
    `strict_category_accuracy`, `loose_category_accuracy` as dicts by kind of instruction, such as ``"keywords"``.

    Parameters
    ----------
    detect
        A function from a text to its ISO 639-1 code, or None where it cannot tell; asked only by instructions on
        languages.
    count_sentences
        A function that counts sentences; None for `metrics.instructions.sentence_count`.

    References
    ----------
    Zhou, Lu, Mishra, Brahma, Basu, Luan, Zhou, Hou (2023), Instruction-following evaluation for large language models,
    https://doi.org/10.48550/arXiv.2311.07911

    Examples
    --------
    >>> responses = [
    ...     {"response": "Yes, no", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]},
    ...     {"response": "Sure.\nyes", "instruction_id_list": ["change_case:english_lowercase"], "kwargs": [{}]},
    ... ]
    >>> scores = StrictInstruction(detect=lambda text: "en")(responses)
    >>> scores["follow_all_instructions"], scores["loose_prompt_accuracy"]
    ([False, False], 0.5)
    """

    def __init__(self, detect: Detect = detect_language, count_sentences: Callable[[str], int] | None = None) -> None:
        super().__init__()
        self.detect = detect
        self.count_sentences = count_sentences

    def compute(
        self,
        responses: Sequence[Mapping[str, Any] | str | None],
        prompts: Sequence[str] | None = None,
        instruction_id_list: Sequence[Sequence[str]] | None = None,
        kwargs: Sequence[Sequence[Mapping[str, Any] | None]] | None = None,
        **other: Any,
    ) -> dict[str, Any]:
        """The accuracies, in [0, 1].

        Responses are dicts with `response`, `instruction_id_list` and `kwargs`, as AISteer360 hands them on (they are
        not changed), or texts, with the two lists given beside them. A response that is None follows nobody knows
        what: its entry is None, and it is left out of every accuracy. An accuracy over nothing is None.
        """
        table = self.by_instruction(responses, instruction_id_list=instruction_id_list, kwargs=kwargs)
        prompts_followed = table.group_by("response_number", maintain_order=True).agg(
            pl.col("strict", "loose").all(ignore_nulls=False)
        )
        kinds = (
            table.drop_nulls("strict").group_by("category", maintain_order=True).agg(pl.col("strict", "loose").mean())
        )
        scores: dict[str, Any] = {}
        for way in ("strict", "loose"):
            scores[f"{way}_prompt_accuracy"] = prompts_followed[way].mean()
            scores[f"{way}_instruction_accuracy"] = table[way].mean()
            scores[f"{way}_category_accuracy"] = dict(zip(kinds["category"], kinds[way], strict=True))
        scores["follow_all_instructions"] = prompts_followed["strict"].to_list()
        return scores

    def by_instruction(
        self,
        responses: Sequence[Mapping[str, Any] | str | None],
        *,
        instruction_id_list: Sequence[Sequence[str]] | None = None,
        kwargs: Sequence[Sequence[Mapping[str, Any] | None]] | None = None,
    ) -> pl.DataFrame:
        """One row for each response and instruction: `response_number, instruction, category, strict, loose`.

        `response_number` (Int64) counts from 0; `strict` and `loose` are Boolean, null where the response is None.
        """
        texts, asked = self._asked(responses, instruction_id_list, kwargs)
        rows: dict[tuple[str, str], list[int]] = {}
        given: dict[tuple[str, str], dict[str, Any]] = {}
        for row, (_, name, arguments) in enumerate(asked):
            kept = {name: value for name, value in (arguments or {}).items() if value is not None}
            key = (name, repr(sorted(kept.items())))
            rows.setdefault(key, []).append(row)
            given[key] = kept
        strict: list[bool | None] = [None] * len(asked)
        loose: list[bool | None] = [None] * len(asked)
        for (instruction, written), group in rows.items():
            column = pl.DataFrame({"response": pl.Series([texts[asked[row][0]] for row in group], dtype=pl.String)})
            arguments = given[instruction, written] | self._means(instruction)
            for way, found in ((False, strict), (True, loose)):
                values = column.select(
                    instruction_followed(instruction, "response", loose=way, **arguments)
                ).to_series()
                for row, value in zip(group, values, strict=True):
                    found[row] = value
        numbers = [number for number, _, _ in asked]
        names = [instruction for _, instruction, _ in asked]
        kinds = [name.partition(":")[0] for name in names]
        return pl.DataFrame([numbers, names, kinds, strict, loose], schema=_LONG)

    def _means(self, instruction: str) -> dict[str, Any]:
        """Return the arguments that an instruction needs besides its own."""
        if instruction == "length_constraints:number_sentences":
            return {"count_sentences": self.count_sentences}
        asks = instruction in {
            "language:response_language",
            "change_case:english_capital",
            "change_case:english_lowercase",
        }
        return {"detect": self.detect} if asks else {}

    def _asked(
        self,
        responses: Sequence[Mapping[str, Any] | str | None],
        ids: Sequence[Sequence[str]] | None,
        arguments: Sequence[Sequence[Mapping[str, Any] | None]] | None,
    ) -> tuple[list[str | None], list[tuple[int, str, Mapping[str, Any] | None]]]:
        """The texts, and what is asked of each: number of the response, instruction, arguments."""
        require_same_length(self, responses, instruction_id_list=ids, kwargs=arguments)
        texts: list[str | None] = []
        asked = []
        for number, response in enumerate(responses):
            whole = response if isinstance(response, Mapping) else {"response": response}
            names = ids[number] if ids is not None else whole.get("instruction_id_list")
            given = arguments[number] if arguments is not None else whole.get("kwargs")
            if not names or given is None or len(names) != len(given):
                raise MetricError(
                    f"{self.name}: response {number} needs `instruction_id_list` and `kwargs` of one length, not "
                    f"{names!r} and {given!r}"
                )
            texts.append(whole.get("response"))
            asked += [(number, name, each) for name, each in zip(names, given, strict=True)]
        return texts_of(self, texts).to_list(), asked
