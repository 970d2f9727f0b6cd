"""Schemas of recorded data: turns, steps, verdicts, rollouts, prompts, joins and problems."""

import polars as pl

from rollwise.schema.columns import ENDINGS, OUTCOMES, TOOL_CALLS, TOOL_RESULTS, Column, Schema

_ID = Column("rollout_id", pl.String, "identifies the rollout")
_FACTS = (
    Column("source", pl.String, "name of the log's format", fact=True),
    Column("run", pl.String, "the log's own name of the run", fact=True),
    Column("target", pl.String, "system under test", fact=True),
    Column("attack", pl.String, "method that drives the rollout; `none` for benign runs", fact=True),
    Column("goal", pl.String, "what the attack wants; null without an attack", fact=True),
    Column("task", pl.String, "what the user wants, or the benchmark item", fact=True),
    Column("category", pl.String, "family of goals", fact=True),
    Column("attempt", pl.Int32, "the k-th repeat of the same target, attack and goal, from 1", fact=True),
    Column("expected", pl.String, "reference answer", fact=True),
    Column("ending", ENDINGS, "why the rollout stopped", fact=True),
    Column("outcome", OUTCOMES, "the verdict on the attack; null where there was none", fact=True),
    Column("solved", pl.Boolean, "the target did the user's task", fact=True),
    Column("queries", pl.Int64, "calls of the target, where the log counts them", fact=True),
    Column("total_tokens", pl.Int64, "tokens of the rollout, where the log counts them per rollout", fact=True),
    Column("total_seconds", pl.Float64, "seconds of the rollout", fact=True),
    Column("total_cost_usd", pl.Float64, "dollars of the rollout", fact=True),
)

TURNS = Schema(
    name="TURNS",
    row="one answer of the target and what prompted it",
    key=("rollout_id", "turn"),
    required=("rollout_id", "turn"),
    columns=(
        _ID,
        Column(
            "turn", pl.Int32, "number of the answer, from 1 without gaps; null (one row) where nothing was ever asked"
        ),
        *_FACTS,
        Column("context", pl.String, "system text, on turn 1"),
        Column("prompt", pl.String, "everything since the previous answer"),
        Column("response", pl.String, "the target's answer, without its reasoning"),
        Column("observation", pl.String, "what came back after this answer and is not the next prompt"),
        Column("tool_calls", TOOL_CALLS, "tools the answer called, arguments as JSON text"),
        Column(
            "tool_results",
            TOOL_RESULTS,
            "of each call its id, what it returned, and its status: `ran`, `failed` or `refused`; null where the log does not say",
        ),
        Column("reward", pl.Float64, "reward of the environment for this answer"),
        Column("score", pl.Float64, "score of a judge for this answer"),
        Column("succeeded", pl.Boolean, "the attack reached its goal in this turn; null = not judged"),
        Column("refused", pl.Boolean, "the target declined; null = not judged"),
        Column("prompt_tokens", pl.Int64, "tokens of the prompt"),
        Column("response_tokens", pl.Int64, "tokens of the answer"),
        Column("seconds", pl.Float64, "seconds of this turn"),
        Column("cost_usd", pl.Float64, "dollars of this turn"),
        Column("error", pl.String, "what failed in the target or in the run"),
        Column("node_id", pl.String, "identifies the node, in a tree"),
        Column("parent_id", pl.String, "the node before this one; null at a root"),
        Column("pruned", pl.Boolean, "the attack gave this branch up"),
        Column("target_call", pl.Int32, "number of the call of the target, branches included"),
    ),
)
TREE_COLUMNS = ("node_id", "parent_id", "pruned", "target_call")

STEPS = Schema(
    name="STEPS",
    row="one event inside a turn",
    key=("rollout_id", "step"),
    required=("rollout_id", "step"),
    columns=(
        _ID,
        Column("step", pl.Int32, "number of the event, from 1"),
        Column("turn", pl.Int32, "the turn it belongs to"),
        Column("parent", pl.Int32, "the step that caused it"),
        Column("kind", pl.String, "model, tool, function, workflow, ...: what kind of event"),
        Column("name", pl.String, "which model or tool"),
        Column("start", pl.Float64, "seconds since the rollout began"),
        Column("end", pl.Float64, "seconds since the rollout began"),
        Column("tokens", pl.Int64, "tokens used"),
        Column("prompt_tokens", pl.Int64, "of these, read"),
        Column("response_tokens", pl.Int64, "of these, written"),
        Column("cached_tokens", pl.Int64, "of those read, from a cache"),
        Column("reasoning_tokens", pl.Int64, "of those written, for reasoning"),
        Column("cost_usd", pl.Float64, "dollars, where the log says"),
        Column("input", pl.String, "what went in"),
        Column("output", pl.String, "what came out"),
    ),
)

VERDICTS = Schema(
    name="VERDICTS",
    row="one judgment of one turn by one judge",
    key=("rollout_id", "turn", "node_id", "judge", "sample"),
    required=("rollout_id", "turn", "judge"),
    columns=(
        _ID,
        Column("turn", pl.Int32, "the turn judged"),
        Column("node_id", pl.String, "the node judged, in a tree"),
        Column("judge", pl.String, "who judged"),
        Column("sample", pl.Int32, "the k-th judgment of the same turn by the same judge"),
        Column("value", pl.Float64, "the verdict as a number; null where judging failed"),
        Column("label", pl.String, "the verdict as a word"),
        Column("reasoning", pl.String, "why"),
        Column("error", pl.String, "why the verdict is missing"),
        Column("seconds", pl.Float64, "seconds it took"),
        Column("prompt_tokens", pl.Int64, "tokens sent to the judge"),
        Column("response_tokens", pl.Int64, "tokens the judge wrote"),
        Column("cost_usd", pl.Float64, "dollars it cost"),
        Column("signed", pl.Boolean, "the verdict has its check code; null where none was asked for"),
        Column("cached", pl.Boolean, "the verdict came from the store"),
    ),
)

ROLLOUTS = Schema(
    name="ROLLOUTS",
    row="one rollout",
    key=("rollout_id",),
    required=("rollout_id",),
    columns=(
        _ID,
        *_FACTS,
        Column("num_turns", pl.Int32, "answers of the target; null if an error came before any"),
        Column("num_judged", pl.Int32, "turns whose `succeeded` is known"),
    ),
)

PROMPTS = Schema(
    name="PROMPTS",
    row="one prompt that was made to be sent",
    key=("prompt_id",),
    required=("prompt_id",),
    columns=(
        Column("prompt_id", pl.String, "identifies the prompt"),
        Column("source", pl.String, "which kind of file it is from"),
        Column("file", pl.String, "which file"),
        Column("goal", pl.String, "what the attack wants"),
        Column("category", pl.String, "family of goals"),
        Column("prompt", pl.String, "what is sent; where it is null, the goal is sent"),
        Column("expected", pl.String, "the answer that the attack hopes for"),
    ),
)

JOINED = Schema(
    name="JOINED",
    row="one way in which labels met turns",
    key=("found",),
    required=("found", "labels", "turns"),
    columns=(
        Column("found", pl.String, "joined, no such turn, alike, contradictory, unlabeled"),
        Column("labels", pl.Int64, "how many labels"),
        Column("turns", pl.Int64, "how many turns (of rollouts, where labels name no turn)"),
        Column("example", pl.String, "the key of one of them"),
    ),
)

PROBLEMS = Schema(
    name="PROBLEMS",
    row="one thing that could not be read",
    key=(),
    required=("file", "reason"),
    columns=(
        Column("file", pl.String, "which file"),
        Column("record", pl.String, "which record in it; null for the whole file"),
        Column("field", pl.String, "which field; null for the whole record"),
        Column("reason", pl.String, "what is wrong and what to do"),
    ),
)

ACCOUNTING = Schema(
    name="ACCOUNTING",
    row="one file, and what became of its records: `records` = `read` + `passed_over` + `broken`",
    key=("file",),
    required=("file", "records", "rollouts", "problems"),
    columns=(
        Column("file", pl.String, "which file"),
        Column("format", pl.String, "name of its format; null where it has none that can be read"),
        Column("records", pl.Int64, "lines, rows, items of a list or samples: what its format repeats"),
        Column("read", pl.Int64, "records that are in rollouts"),
        Column(
            "passed_over", pl.Int64, "records that hold no rollout, such as headers, or one that another record states"
        ),
        Column("broken", pl.Int64, "records that could not be read"),
        Column("rollouts", pl.Int64, "rollouts in TURNS"),
        Column("turns", pl.Int64, "turns in TURNS"),
        Column("verdicts", pl.Int64, "rollouts with an `outcome`, a `score`, or a turn or task that was judged"),
        Column("problems", pl.Int64, "rows in PROBLEMS"),
    ),
)

UNUSED = Schema(
    name="UNUSED",
    row="one column of turns that is not used, and looks as if it should be",
    key=("column",),
    required=("column", "meaning", "names"),
    columns=(
        Column("column", pl.String, "which column"),
        Column("examples", pl.String, "some of its values"),
        Column("meaning", pl.String, "the column of TURNS that it probably is"),
        Column("names", pl.String, "what to type so that it is read as that column"),
    ),
)

RECORDS = (TURNS, STEPS, VERDICTS, ROLLOUTS, PROMPTS, JOINED, PROBLEMS, ACCOUNTING, UNUSED)
