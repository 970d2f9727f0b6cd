"""Instructions that a response follows: IFEval's accuracies, by prompt, by instruction and by kind."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import polars as pl

from rollwise.errors import MetricError, to_install
from rollwise.judges.response_metric import ResponseMetric, require_same_length, texts_of
from rollwise.metrics.instructions import Detect, instruction_followed
from rollwise.schema.option_types import check_option_types

_CODES = (
    "af ar bg bn ca cs cy da de el en es et fa fi fr gu he hi hr hu id it ja kn ko lt lv mk ml mr ne nl no pa pl pt ro "
    "ru sk sl so sq sv sw ta te th tl tr uk ur vi zh"
)
LANGUAGES = tuple(_CODES.split())
"""The languages that langdetect, the detector of IFEval's script, distinguishes; its two Chinese scripts are one here."""


def detect_language(text: str) -> str | None:
    """Return the ISO 639-1 code of the most likely language of a text; None if the text has no letters.

    The detector is py3langid, restricted to `LANGUAGES` (extra ``language``). The same text always gets the same code,
    which langdetect does not guarantee. Do not trust the language of a text of one or two words. Any function from a text
    to a code can replace this one.

    References
    ----------
    Lui, Baldwin (2012), langid.py: an off-the-shelf language identification tool, https://aclanthology.org/P12-3005

    Examples
    --------
    >>> detect_language("1 + 1 = 2") is None
    True
    """
    check_option_types(detect_language, locals())
    return str(_identifier().classify(text)[0]) if any(map(str.isalpha, text)) else None


@cache
def _identifier() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise MetricError(
            f"detecting a language needs py3langid; `{to_install('language')}`, or pass your own function"
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
        A function from a text to its ISO 639-1 code, or to None if the language is unknown; used only by instructions
        about languages.
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
        **ignored: Any,
    ) -> dict[str, Any]:
        """Return the accuracies, in [0, 1].

        Responses are dicts with `response`, `instruction_id_list` and `kwargs`, as AISteer360 passes them (they are not
        changed), or texts, with the two lists as separate arguments. A missing response (None) has None as its entry, and is
        excluded from every accuracy. Accuracies without any response are missing, too.
        """
        table = self.by_instruction(responses, instruction_id_list=instruction_id_list, kwargs=kwargs)
        by_prompt = table.group_by("response_number", maintain_order=True).agg(
            pl.col("strict", "loose").all(ignore_nulls=False)
        )
        kinds = (
            table.drop_nulls("strict").group_by("category", maintain_order=True).agg(pl.col("strict", "loose").mean())
        )
        # One null makes a prompt unknown, as all instructions of one response are null together.
        scores: dict[str, Any] = {}
        for way in ("strict", "loose"):
            scores[f"{way}_prompt_accuracy"] = by_prompt[way].mean()
            scores[f"{way}_instruction_accuracy"] = table[way].mean()
            scores[f"{way}_category_accuracy"] = dict(zip(kinds["category"], kinds[way], strict=True))
        scores["follow_all_instructions"] = by_prompt["strict"].to_list()
        return scores

    def by_instruction(
        self,
        responses: Sequence[Mapping[str, Any] | str | None],
        *,
        instruction_id_list: Sequence[Sequence[str]] | None = None,
        kwargs: Sequence[Sequence[Mapping[str, Any] | None]] | None = None,
    ) -> pl.DataFrame:
        """Return one row per response and instruction: `response_number, instruction, category, strict, loose`.

        `response_number` (Int64) counts from 0; `strict` and `loose` are Boolean, null for a missing response.
        """
        texts, checks = self._checks(responses, instruction_id_list, kwargs)
        # One expression checks all responses with the same instruction and arguments at once.
        rows: dict[tuple[str, str], list[int]] = {}
        arguments_of: dict[tuple[str, str], dict[str, Any]] = {}
        for row, (_, name, values) in enumerate(checks):
            arguments = {key: value for key, value in (values or {}).items() if value is not None}
            group = (name, repr(sorted(arguments.items())))
            rows.setdefault(group, []).append(row)
            arguments_of[group] = arguments
        strict: list[bool | None] = [None] * len(checks)
        loose: list[bool | None] = [None] * len(checks)
        for group, members in rows.items():
            instruction, _ = group
            column = pl.DataFrame({"response": pl.Series([texts[checks[row][0]] for row in members], dtype=pl.String)})
            arguments = arguments_of[group] | self._functions(instruction)
            for is_loose, results in ((False, strict), (True, loose)):
                followed = column.select(
                    instruction_followed(instruction, "response", loose=is_loose, **arguments)
                ).to_series()
                for row, value in zip(members, followed, strict=True):
                    results[row] = value
        numbers = [number for number, _, _ in checks]
        names = [instruction for _, instruction, _ in checks]
        kinds = [name.partition(":")[0] for name in names]
        return pl.DataFrame([numbers, names, kinds, strict, loose], schema=_LONG)

    def _functions(self, instruction: str) -> dict[str, Any]:
        """Return the functions that an instruction needs besides its own arguments."""
        if instruction == "length_constraints:number_sentences":
            return {"count_sentences": self.count_sentences}
        needs_language = instruction in {
            "language:response_language",
            "change_case:english_capital",
            "change_case:english_lowercase",
        }
        return {"detect": self.detect} if needs_language else {}

    def _checks(
        self,
        responses: Sequence[Mapping[str, Any] | str | None],
        ids: Sequence[Sequence[str]] | None,
        arguments: Sequence[Sequence[Mapping[str, Any] | None]] | None,
    ) -> tuple[list[str | None], list[tuple[int, str, Mapping[str, Any] | None]]]:
        """Return the texts, and a list of checks: number of the response, instruction, arguments."""
        require_same_length(self, responses, instruction_id_list=ids, kwargs=arguments)
        texts: list[str | None] = []
        checks = []
        for number, response in enumerate(responses):
            entry = response if isinstance(response, Mapping) else {"response": response}
            # Separate lists win over the entries of a dict.
            names = ids[number] if ids is not None else entry.get("instruction_id_list")
            values = arguments[number] if arguments is not None else entry.get("kwargs")
            if not names or values is None or len(names) != len(values):
                raise MetricError(
                    f"{self.name}: response {number} needs `instruction_id_list` and `kwargs` of one length, not "
                    f"{names!r} and {values!r}"
                )
            texts.append(entry.get("response"))
            checks += [(number, name, value) for name, value in zip(names, values, strict=True)]
        return texts_of(self, texts).to_list(), checks
