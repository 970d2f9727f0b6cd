"""Files of evaluations that hold no rollouts, and the function that reads each of them."""

from collections.abc import Callable
from dataclasses import dataclass

from turnwise.readers.chats.layouts import LISTS, RESPONSES, words_of
from turnwise.readers.chats.layouts import PROMPTS as ASKED
from turnwise.readers.formats import aisteer, garak, skyrl, tau2
from turnwise.readers.formats.exchange import inspect_scout
from turnwise.readers.formats.inspect import samples as inspect_ai
from turnwise.readers.results import every_eval_ever, harness, prompt_sets
from turnwise.readers.sources.documents import Document
from turnwise.readers.unused import likely_names
from turnwise.schema import TURNS


@dataclass(frozen=True, slots=True)
class Lookalike:
    """A kind of file that `read` refuses, with a hint at what reads it."""

    holds: str
    verb: str
    sniff: Callable[[Document], bool]


def has(*names: str, without: tuple[str, ...] = ()) -> Callable[[Document], bool]:
    """Return a function that checks whether a file has all these keys, and none of `without`."""
    return lambda document: set(names) <= document.keys and not set(without) & document.keys


def _is(*names: str) -> Callable[[Document], bool]:
    return lambda document: document.keys - {""} == set(names)


def numbers(document: Document) -> bool:
    """Return whether the file is a table of benchmark scores: names, under each a list or an object of numbers."""
    if document.kind != "json" or not isinstance(document.top, dict) or not document.top:
        return False
    inner = list(document.value.values())
    # One or two levels: a list or an object of numbers for each name.
    leaves = (
        [leaf for item in inner for leaf in (item.values() if isinstance(item, dict) else item or [])]
        if all(isinstance(item, dict | list) for item in inner)
        else []
    )
    return bool(leaves) and all(isinstance(leaf, int | float) and not isinstance(leaf, bool) for leaf in leaves)


def labels(document: Document) -> bool:
    r"""Return whether the file is a table of labels of rollouts or turns, without the content of the turns.

    Examples
    --------
    >>> from pathlib import Path
    >>> [
    ...     labels(Document(Path("a.csv"), text))
    ...     for text in (b"rollout_id,turn,human_label\n", b"rollout_id,prompt,label\n")
    ... ]
    [True, False]
    """
    names = document.keys
    # A column of the content of turns, or a count of turns, makes it a table of turns or rollouts.
    if "rollout_id" not in names or names & _HAPPENED or "num_turns" in names:
        return False
    if words_of(names) is not None or "response" in likely_names(names):
        return False
    lower = {name.lower() for name in names}
    return bool(lower & _LABELS) or any(part in name for name in lower for part in ("label", "annotat"))


VERDICTS, SUMMARY, PROMPTS = "`tw.judges.read_verdicts`", "`tw.readers.read_summary`", "`tw.rollout.read_prompts`"
WORDS = ("label", "value", "verdict", "score_value")  # names of a column of labels, for `tw.judges.read_verdicts`
PROMPTFOO = "promptfoo's results as a table or a database"
EXPORT = "`tw.read`, once `promptfoo export eval ID --output results.json` has written them as JSON"
_TURNS = ("prompt", "response")
_ABOUT = {"rollout_id", "turn", "node_id", "source", "run", "target", "attack", "goal", "task", "category", "attempt"}
_HAPPENED = frozenset({*TURNS.names, *ASKED, *RESPONSES, *LISTS} - _ABOUT)
_LABELS = frozenset({"verdict", "rater", "rating", "reviewer", "score_value"})
_JOIN = "join them to the turns with `tw.judges.join_labels`"

# The first that fits is named, so specific kinds come before general ones.
LOOKALIKES = (
    Lookalike("verdicts", VERDICTS, has("judge", "value", without=_TURNS)),
    Lookalike("verdicts", VERDICTS, has("average_score", "eval_output_items")),
    Lookalike("verdicts", VERDICTS, has("uid", "scenario_id", "item_id", "score", without=_TURNS)),
    Lookalike("verdicts", VERDICTS, has("grader", "score", without=_TURNS)),
    Lookalike("verdicts", VERDICTS, has("grader", "LLM_1", "LLM_2")),
    Lookalike("verdicts", VERDICTS, _is("user_message", "assistant_message", "score_value")),
    Lookalike("verdicts of scanners", VERDICTS, inspect_scout.sniff_scans),
    Lookalike("results", SUMMARY, has("metric", "estimate", without=_TURNS)),
    Lookalike("results", SUMMARY, has("model", "score", "lower", "upper", "results")),
    Lookalike("results", SUMMARY, has("model", "score", "rating_q025", "rating_q975")),
    Lookalike("the results of an Inspect log without its samples", SUMMARY, inspect_ai.sniff_results),
    Lookalike("the results of a garak report without its attempts", SUMMARY, garak.sniff_results),
    Lookalike("results", SUMMARY, has("overall_score", "attack_success_rate", "per_scenario_summary")),
    Lookalike("results", SUMMARY, aisteer.sniff_results),
    Lookalike("results", SUMMARY, skyrl.sniff_results),
    Lookalike("results", SUMMARY, lambda document: harness.is_harness(document) or harness.is_lighteval(document)),
    Lookalike("results", SUMMARY, every_eval_ever.is_evaluation),
    Lookalike("results", SUMMARY, numbers),
    Lookalike(
        "the header of a run of tau2-bench",
        "`tw.read` from the folder `simulations` beside it",
        tau2.sniff_header,
    ),
    Lookalike(PROMPTFOO, EXPORT, has("Status", "Score", "Named Scores", "Grader Reason")),
    Lookalike(PROMPTFOO, EXPORT, lambda document: document.kind == "sqlite" and b"eval_results" in document.head),
    Lookalike("prompts", PROMPTS, prompt_sets.is_set),
    Lookalike(
        "rollouts that are measured already",
        "Polars",
        has("rollout_id", "num_turns", without=("turn", *LISTS, *_TURNS)),
    ),
    Lookalike(
        "labels", f"{VERDICTS}, and {_JOIN}", lambda document: labels(document) and bool({*WORDS} & document.keys)
    ),
    Lookalike("labels", f"Polars, and {_JOIN}", labels),
    Lookalike("steps", "Polars", has("rollout_id", "step", "kind", without=_TURNS)),
)


def lookalike(document: Document) -> str | None:
    r"""Return the reason why a file of a known kind holds no rollouts; None for any other file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "prompts.csv"
    >>> _ = path.write_text("goal,target\nwrite a poem,Here is a poem\n")
    >>> lookalike(Document(path))
    'holds prompts, not rollouts: open it with `tw.rollout.read_prompts`'
    """
    kind = next((kind for kind in LOOKALIKES if kind.sniff(document)), None)
    return None if kind is None else f"holds {kind.holds}, not rollouts: open it with {kind.verb}"
