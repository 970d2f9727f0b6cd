"""Files of evaluations that hold no rollouts, and the function that reads each of them.

Some tools write such a file beside their logs each time. Where the logs are read, it is a companion: it is passed over, and
counted as such.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from rollwise.readers.chat_names import LISTS, RESPONSES
from rollwise.readers.chat_names import PROMPTS as ASKED
from rollwise.readers.chats.layouts import words_of
from rollwise.readers.formats import aisteer, garak, jailbreakbench, skyrl, tau2
from rollwise.readers.formats.committed import bfcl, swe_bench, terminal_bench
from rollwise.readers.formats.exchange import inspect_scout
from rollwise.readers.formats.inspect import samples as inspect_ai
from rollwise.readers.formats.inspect import summaries as inspect_logs
from rollwise.readers.likely_columns import likely_names
from rollwise.readers.results import audits, every_eval_ever, harness, prompt_sets, rubrics
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.json_tables import by_outcome
from rollwise.schema import TURNS


@dataclass(frozen=True, slots=True)
class Lookalike:
    """A kind of file that `read` refuses, with a hint at what reads it.

    `beside` is the format of the logs that the file accompanies, in the same folder or above; none if it stands alone.
    """

    holds: str
    verb: str
    sniff: Callable[[Document], bool]
    beside: str | None = None

    @property
    def reason(self) -> str:
        """Return why the file is not read, and what reads it."""
        return f"holds {self.holds}, not rollouts: open it with {self.verb}"

    @property
    def is_guess(self) -> bool:
        """True if the file may hold rollouts nevertheless, with answers under other names."""
        return self.verb == PROMPTS

    @property
    def has_verdicts(self) -> bool:
        """True if the file holds verdicts, which TURNS lacks."""
        return self.verb == VERDICTS


def has(*names: str, without: tuple[str, ...] = ()) -> Callable[[Document], bool]:
    """Return a function that checks whether a file has all these keys, and none of `without`."""
    return lambda document: set(names) <= document.keys and not set(without) & document.keys


def _is_page_of_garak(document: Document) -> bool:
    return document.path.name.endswith(".report.html") and b"garak" in document.head


def _is_of_one_outcome(document: Document) -> bool:
    return document.kind == "json" and isinstance(document.top, dict) and bool(by_outcome(document.top))


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
    r"""Return whether the file is a table of labels of rollouts or turns, without the content of the turns."""
    names = document.keys
    # A column of the content of turns, or a count of turns, makes it a table of turns or rollouts.
    if "rollout_id" not in names or names & _HAPPENED or "num_turns" in names:
        return False
    if words_of(names) is not None or "response" in likely_names(names):
        return False
    lower = {name.lower() for name in names}
    return bool(lower & _LABELS) or any(part in name for name in lower for part in ("label", "annotat"))


VERDICTS, SUMMARY, PROMPTS = "`rw.judges.read_verdicts`", "`rw.readers.read_summary`", "`rw.rollout.read_prompts`"
WORDS = ("label", "value", "verdict", "score_value")  # names of a column of labels, for `rw.judges.read_verdicts`
PROMPTFOO = "promptfoo's results as a table or a database"
EXPORT = "`rw.read`, once `promptfoo export eval ID --output results.json` has written them as JSON"
_TURNS = ("prompt", "response")
_ABOUT = {"rollout_id", "turn", "node_id", "source", "run", "target", "attack", "goal", "task", "category", "attempt"}
_HAPPENED = frozenset({*TURNS.names, *ASKED, *RESPONSES, *LISTS} - _ABOUT)
_LABELS = frozenset({"verdict", "rater", "rating", "reviewer", "score_value"})
_JOIN = "join them to the turns with `rw.judges.join_labels`"

# The first that fits is named, so specific kinds come before general ones.
LOOKALIKES = (
    Lookalike("verdicts", VERDICTS, has("judge", "value", without=_TURNS)),
    Lookalike("verdicts", VERDICTS, has("average_score", "eval_output_items"), "nat"),
    Lookalike("verdicts", VERDICTS, has("uid", "scenario_id", "item_id", "score", without=_TURNS)),
    Lookalike("verdicts", VERDICTS, has("grader", "score", without=_TURNS)),
    Lookalike("verdicts", VERDICTS, has("grader", "LLM_1", "LLM_2")),
    Lookalike("verdicts", VERDICTS, _is("user_message", "assistant_message", "score_value")),
    Lookalike("verdicts of scanners", VERDICTS, inspect_scout.SCANS, "inspect_scout"),
    Lookalike("verdicts of Bloom's judge", VERDICTS, audits.is_judgment, "petri"),
    Lookalike("verdicts of Docent's judges", VERDICTS, rubrics.sniff, "docent"),
    Lookalike("a stage of Bloom before its audits", "any editor", audits.is_stage, "petri"),
    Lookalike("headers of Inspect logs", "`rw.read` from the logs beside it", inspect_logs.is_listing, "inspect"),
    Lookalike(
        "the models of an attack",
        "`rw.read` from the folders beside it",
        jailbreakbench.is_list_of_models,
        "jailbreakbench",
    ),
    Lookalike("garak's report as a page", "a browser", _is_page_of_garak, "garak"),
    Lookalike("results", SUMMARY, has("metric", "estimate", without=_TURNS)),
    Lookalike("results", SUMMARY, has("model", "score", "lower", "upper", "results")),
    Lookalike("results", SUMMARY, has("model", "score", "rating_q025", "rating_q975")),
    Lookalike("the results of an Inspect log without its samples", SUMMARY, inspect_ai.RESULTS),
    Lookalike("the results of a garak report without its attempts", SUMMARY, garak.RESULTS),
    Lookalike("results", SUMMARY, has("overall_score", "attack_success_rate", "per_scenario_summary")),
    Lookalike("results", SUMMARY, aisteer.RESULTS, "aisteer"),
    Lookalike("results", SUMMARY, skyrl.sniff_results, "skyrl"),
    Lookalike("results", SUMMARY, harness.is_harness, "lm_eval"),
    Lookalike("results", SUMMARY, harness.is_lighteval),
    Lookalike("results", SUMMARY, every_eval_ever.is_evaluation, "every_eval_ever"),
    Lookalike("results", SUMMARY, numbers),
    Lookalike(
        "the header of a run of tau2-bench",
        "`rw.read` from the folder `simulations` beside it",
        tau2.HEADER_SHAPES,
        "tau2",
    ),
    Lookalike("a link to a test run of DeepEval", "a browser, or export the run as JSON", _is("testRunLink")),
    Lookalike(
        "predictions of SWE-bench whose trajectories are beside it",
        "`rw.read` from its folder, or alone as format swe_bench",
        partial(swe_bench.has_trajectories, of_all=True),
        "swe_agent",
    ),
    Lookalike(
        "predictions of SWE-bench, of some of which trajectories are beside it",
        "`rw.read` alone as format swe_bench",
        partial(swe_bench.has_trajectories, of_all=False),
    ),
    Lookalike(
        "verdicts on trajectories of SWE-agent",
        "`rw.read` from the trajectories beside it",
        swe_bench.judges_trajectories,
        "swe_agent",
    ),
    Lookalike(
        "verdicts on predictions of SWE-bench",
        "`rw.read` from the predictions beside it",
        swe_bench.has_predictions,
        "swe_bench",
    ),
    Lookalike(
        "verdicts of SWE-bench without its predictions",
        "`rw.read` beside the predictions in one folder",
        swe_bench.OLD,
    ),
    Lookalike("scores of results of BFCL", "`rw.read` from the results", bfcl.has_results, "bfcl"),
    Lookalike(
        "the header of a run of Terminal-Bench",
        "`rw.read` from the `results.json` beside it",
        terminal_bench.METADATA,
        "terminal_bench",
    ),
    Lookalike(PROMPTFOO, EXPORT, has("Status", "Score", "Named Scores", "Grader Reason")),
    Lookalike(PROMPTFOO, EXPORT, lambda document: document.kind == "sqlite" and b"eval_results" in document.head),
    Lookalike(
        "ids of one outcome without those of the others",
        "`verdicts` in a mapping of the records beside it",
        _is_of_one_outcome,
    ),
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


def lookalike(document: Document) -> Lookalike | None:
    r"""Return the known kind of a file that holds no rollouts; None for any other file."""
    return next((kind for kind in LOOKALIKES if kind.sniff(document)), None)
