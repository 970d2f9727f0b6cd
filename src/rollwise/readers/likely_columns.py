"""Unrecognized columns that may be a target, an attack, a goal or a verdict, and how to name them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from rollwise.readers.chat_names import LISTS, RESPONSES
from rollwise.readers.labels import ATTACKS, BLANK, MEANINGS, as_names, example_values, meanings, normal, unknown_labels
from rollwise.readers.synonyms import (
    CUSTOM,
    FACTS,
    OF_ANYTHING,
    OF_ATTACKS,
    OF_TASKS,
    is_text,
    judges_rollouts,
    name_in_file,
    plain_name,
)
from rollwise.schema import TURNS, UNUSED, Column
from rollwise.schema.arguments import frame_of
from rollwise.schema.foreign import cast_column
from rollwise.schema.kinds import check_kinds
from rollwise.schema.named import values_named

# Names that columns are likely to have, the most likely first; see `likely_names`.
LIKELY: dict[str, tuple[str, ...]] = {
    "rollout_id": (
        "rollout_id", "conversation_id", "conv_id", "conv", "conversation", "dialogue_id", "dialog_id", "dialogue",
        "chat_id", "chat", "session_id", "session", "thread_id", "thread", "trajectory_id", "trajectory", "episode_id",
        "episode", "rollout", "sample_id", "case_id", "case", "test_id", "uuid", "id",
    ),
    "turn": ("turn", "turn_id", "turn_number", "turn_no", "turn_index", "turn_idx", "step", "round"),
    "prompt": (
        "prompt", "user_msg", "user_message", "user_text", "user_prompt", "user_input", "user_turn", "attacker_msg",
        "attacker_message", "attack_prompt", "adversarial_prompt", "jailbreak_prompt", "prompt_text", "query", "request",
        "instruction", "message_in", "input_text", "question", "user", "input", "human", "attacker",
    ),
    "response": (
        "response", "bot_msg", "bot_message", "bot_text", "bot_response", "bot_reply", "model_response", "model_output",
        "model_answer", "model_reply", "target_response", "target_output", "llm_response", "llm_output", "llm_answer",
        "assistant_msg", "assistant_message", "assistant_response", "assistant_text", "ai_response", "ai_message",
        "agent_response", "response_text", "message_out", "output_text", "generation", "generated_text", "generated",
        "answer", "reply", "completion", "output", "assistant", "bot",
    ),
    "target": (
        *(name for name, column in FACTS.items() if column == "target"),
        "model", "model_name", "model_id", "llm", "target", "victim", "system_under_test", "agent", "engine", "deployment",
    ),
    "attack": (
        *(name for name, column in FACTS.items() if column == "attack"),
        "attack", "attack_type", "attack_name", "attack_strategy", "strategy", "method", "jailbreak", "tactic", "probe",
    ),
    "goal": (
        "goal", "behavior", "behaviour", "objective", "harmful_behavior", "attack_goal", "malicious_goal", "intent",
        "harmful_goal", "goal_id", "behavior_id", "behaviour_id", "scenario",
    ),
    "role": ("role", "from", "speaker", "author", "sender", "who", "participant", "actor"),
    "content": ("content", "value", "text", "message", "utterance", "words", "said", "msg", "body"),
    "attempt": ("attempt", "trial", "try", "repeat", "repetition", "sample_index", "attempt_number"),
}  # fmt: skip
OF_VERDICTS = OF_ATTACKS | OF_ANYTHING | {
    "judged", "grade", "score_label", "safe", "is_safe", "unsafe", "is_unsafe", "harmful", "is_harmful",
    "flagged", "is_flagged", "violation", "compliance", "complied", "asr", "jailbreak", "is_jailbreak", "refusal",
}  # fmt: skip
OF_OUTCOMES = OF_ATTACKS | OF_ANYTHING - {"label"}  # a label may be of a prompt
_STEPS = {"step", "round"}  # of a rollout, or of training
_RESULTS = ("succeeded", "outcome", "refused", "solved", "score", "reward")
MOST_LABELS = 8  # distinct values of a column of verdicts
MOST_EXAMPLES = 200  # rows whose values a message shows
MOST_COLUMNS = 20  # that a message lists
MOST_SUGGESTED = 4  # columns in one notice
_FIRST = 10_000  # rows that show whether a column holds labels
_IDS = frozenset(LIKELY["rollout_id"]) - {
    "sample_id",
    "case_id",
    "case",
    "test_id",
    "uuid",
    "id",
}  # of conversations alone
_LENGTH = 40  # characters of an example
_OF_TURNS = ("target", "attack", "goal", "attempt", "succeeded", "outcome", "solved")
_NAMES = frozenset(name for meaning in ("target", "attack", "goal", "attempt") for name in LIKELY[meaning])


def unused_columns(turns: pl.DataFrame) -> pl.DataFrame:
    """Return the columns that are not used although they look like a target, an attack, a goal, an attempt or a verdict.

    Only columns beside rollouts of no single tool count: readers of tools know what their columns mean. A column is unused if
    the column of TURNS that it looks like is null wherever it has a value itself.

    Parameters
    ----------
    turns
        TURNS, as from `rw.read` or `rw.turns`.

    Returns
    -------
    UNUSED: a row for each column, with up to two example values, the column of TURNS that it probably is, and the argument
    `names=` that makes it so. A verdict whose words are not beyond doubt comes with a map of its labels, to be checked. No
    rows where nothing is left out.

    Examples
    --------
    >>> rows = {"rollout_id": ["a", "b"], "turn": [1, 1], "response": ["x", "y"], "verdict": ["pass", "fail"]}
    >>> unused_columns(pl.DataFrame(rows)).row(0)
    ('verdict', 'fail, pass', 'succeeded', 'names={"succeeded": ("verdict", {"fail": True, "pass": False})}')
    """
    check_kinds(unused_columns, locals())
    turns = frame_of(turns, "unused_columns")
    if "source" in turns.columns:
        turns = turns.with_columns(cast_column(turns, Column("source", pl.String, "the format"), "unused_columns"))
    return unused_in(turns)


def unused_in(turns: pl.DataFrame) -> pl.DataFrame:
    """Return UNUSED of a frame that is TURNS."""
    if "source" in turns.columns:
        is_custom = turns["source"].is_null() | turns["source"].is_in(CUSTOM)
        turns = turns if is_custom.all() else turns.filter(is_custom)
    rows = []
    beside = {name: turns[name] for name in ("rollout_id", *_OF_TURNS) if name in turns.columns}
    for column, dtype in turns.schema.items():
        if column in TURNS.names or column.startswith(("prompt_", "observation_")) or dtype.is_nested():
            continue
        held = values_named(turns, column)
        if held.head(_FIRST).n_unique() > MOST_LABELS + 1 and plain_name(column) not in _NAMES:
            continue
        # Only a few columns of the rows that have a value: texts are not copied, nor thousands of columns looked through.
        present = pl.DataFrame({column: held, **beside}).filter(held.is_not_null())
        name = _meaning(present, column)
        if name == "succeeded" and "rollout_id" in beside and judges_rollouts(turns, column):
            name = "outcome"
        if name is not None:
            values = values_named(present, column).unique(maintain_order=True)
            labels = values.head(MOST_LABELS).to_list()
            own_name = name_in_file(column)
            names = as_names({name: column_or_map(name, own_name, labels)})
            shown = sorted(map(str, labels))[:MOST_LABELS] if name in MEANINGS else labels[:2]
            rows.append((own_name, ", ".join(map(_short, shown)), name, names))
    return pl.DataFrame(rows, schema=UNUSED.dtypes, orient="row")


def suggestions(unused: pl.DataFrame) -> list[str]:
    """Return a sentence for each of the columns of UNUSED.

    Examples
    --------
    >>> rows = {"rollout_id": ["a"], "turn": [1], "response": ["x"], "behavior": ["spam"]}
    >>> suggestions(unused_columns(pl.DataFrame(rows)))
    ['column `behavior` (spam) may be the goal: map it with names={"goal": "behavior"}']
    """
    columns = unused.rows(named=True)
    sentences = []
    for row in columns[:MOST_SUGGESTED]:
        if row["meaning"] in MEANINGS:
            same = ", the same on all turns of each rollout" if row["meaning"] == "outcome" else ""
            concern = {"succeeded": "attack", "outcome": "whole conversation"}.get(row["meaning"], "task")
            words = f"column `{_short(row['column'])}` holds {row['examples']}{same}: if it judges the {concern},"
        else:
            words = f"column `{_short(row['column'])}` ({row['examples']}) may be the {row['meaning']}:"
        sentences.append(f"{words} map it with {row['names']}")
    if len(columns) > MOST_SUGGESTED:
        sentences.append("`rw.readers.unused_columns(turns)` lists more columns")
    return sentences


def repeated_verdicts(turns: pl.DataFrame, column: str = "succeeded", labels: Any = None) -> list[str]:
    """Return the question whether verdicts on turns are on conversations, where they are the same on all turns of each.

    `column` and `labels` are the user's name of the verdicts, and the user's map of their labels.

    Examples
    --------
    >>> turns = pl.DataFrame({"rollout_id": ["a", "a"], "turn": [1, 2], "succeeded": [True, True]})
    >>> repeated_verdicts(turns)[0].partition(": ")[2]
    'if it judges the whole conversation, map it with names={"outcome": "succeeded"}'
    """
    if not turns["succeeded"].count():
        return []
    rows = (
        turns.filter(pl.col("source").is_null() | pl.col("source").is_in(CUSTOM))
        if "source" in turns.columns
        else turns
    )
    if not judges_rollouts(rows.select("rollout_id", "succeeded"), "succeeded"):
        return []
    names = as_names({"outcome": column if labels is None else (column, dict(labels))})
    same = f"`{_short(column)}` is the same on all turns of each rollout"
    return [f"{same}: if it judges the whole conversation, map it with {names}"]


def _meaning(rows: pl.DataFrame, column: str) -> str | None:
    """Return the column of TURNS that a column probably is, if that is null in all of these rows; else None."""
    if rows.is_empty():
        return None
    name = plain_name(column)
    for meaning in ("target", "attack", "goal", "attempt"):
        if name not in LIKELY[meaning] or (meaning == "attempt") != rows[column].dtype.is_integer():
            continue
        if _is_open(rows, meaning) and rows[column].n_unique() > (meaning == "attempt"):
            return meaning
    if rows[column].n_unique() > MOST_LABELS or not (_is_open(rows, "succeeded") and _is_open(rows, "outcome")):
        return (
            "solved"
            if name in OF_TASKS and _is_open(rows, "solved") and rows[column].n_unique() <= MOST_LABELS
            else None
        )
    if name in OF_TASKS:
        return "solved" if _is_open(rows, "solved") else None
    values = values_named(rows, column).unique().to_list()
    is_judged = (
        is_text(rows[column].dtype) and not unknown_labels(values, ATTACKS) and not {*map(normal, values)} <= BLANK
    )
    return "succeeded" if name in OF_VERDICTS or is_judged else None


def _is_open(rows: pl.DataFrame, name: str) -> bool:
    """Return whether a column of TURNS says nothing in these rows; an attempt that is always 1 does not either."""
    if name not in rows.columns:
        return True
    column = rows[name]
    return column.null_count() == rows.height or (name == "attempt" and (column == 1).all())


def column_or_map(name: str, column: str, labels: Sequence[Any]) -> Any:
    """Return what `names=` needs for a column: its name, with a map of its labels where the usual words are not beyond doubt.

    Examples
    --------
    >>> column_or_map("succeeded", "verdict", ["JAILBREAK"]), column_or_map("succeeded", "is_safe", [True])
    ('verdict', ('is_safe', {'true': False}))
    """
    if name not in MEANINGS or not unknown_labels(labels, meanings(name, column)):
        return column
    return column, example_values(name, column, labels)


def _in_parentheses(values: Sequence[Any]) -> str:
    return f" ({', '.join(map(_short, values[:2]))})" if values else ""


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _LENGTH else f"{text[: _LENGTH - 3]}..."


def likely_names(columns: Iterable[str]) -> dict[str, str]:
    """Return for each column of TURNS the column of the user's that it probably is."""
    plain: dict[str, str] = {}
    for column in columns:
        plain.setdefault(plain_name(column), column)
    names: dict[str, str] = {}
    for name, words in LIKELY.items():
        matches = [plain[word] for word in words if word in plain and plain[word] not in names.values()]
        if matches:
            names[name] = matches[0]
    return names


def looks_like_turns(columns: Iterable[str]) -> bool:
    """Return whether a table with these columns holds turns or messages under other names, rather than prompts to be sent.

    Examples
    --------
    >>> looks_like_turns(["conv", "user_msg", "bot_msg", "behavior"]), looks_like_turns(["id", "behavior", "target"])
    (True, False)
    """
    plain = {plain_name(column) for column in columns}
    likely = likely_names(columns)
    has_id = plain_name(likely.get("rollout_id", "")) in _IDS
    is_message = {"role", "content"} <= likely.keys()
    return "response" in likely or has_id or "turn" in likely or is_message or bool(plain & OF_OUTCOMES)


def are_rollouts(examples: Mapping[str, Sequence[Any]]) -> bool:
    """Return whether rows with these columns, each with some of its values, are rollouts of one turn each.

    They have neither an id of rollouts nor a number of the turn. They have an answer and what is evaluated (a goal, an attack, a
    target, a verdict or a score), or no answer but what was attacked and whether that succeeded. A prompt and an answer alone may
    be data to learn from, and a share of successes is of several rollouts.

    Examples
    --------
    >>> are_rollouts({"goal": [], "response": []}), are_rollouts({"question": [], "answer": []})
    (True, False)
    >>> [are_rollouts({"model": ["m"], "success": values}) for values in ([0, 1], ["no", "yes"], [0.35, 0.4])]
    [True, True, False]
    >>> [are_rollouts({"goal": [], "response": [], "step": steps}) for steps in ([1, 2], [100], [0, 100])]
    [False, True, True]
    """
    likely = _likely_by_values(examples)
    names = {*examples} | likely.keys()
    has_answer = "response" in examples or len(examples.keys() & {*RESPONSES}) == 1
    if names & {"rollout_id", "turn", "node_id", *LISTS}:
        return False
    if not has_answer:
        return _are_outcomes(examples, likely)
    return bool(names & {"goal", "attack", "target", *_RESULTS} or {*map(plain_name, examples)} & OF_VERDICTS)


def _are_outcomes(examples: Mapping[str, Sequence[Any]], likely: Mapping[str, str]) -> bool:
    """Return whether rows without answers say what was attacked and whether that succeeded."""
    if "response" in likely or ("prompt" in likely and "prompt" not in examples):
        return False  # texts under other names, which the user has to name
    # Other verdicts on a row with a prompt may judge the prompt.
    verdicts = OF_ATTACKS if "prompt" in examples else OF_OUTCOMES
    return bool(likely.keys() & {"goal", "attack", "target"}) and any(
        plain_name(name) in verdicts and _are_labels(values) for name, values in examples.items()
    )


def _are_labels(values: Sequence[Any]) -> bool:
    """Return whether values can be verdicts: a few words, or 0 and 1."""
    numbers = [value for value in map(_number, values) if value is not None]
    return 0 < len(values) <= MOST_LABELS and all(number in {0, 1} for number in numbers)


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None


def _likely_by_values(examples: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """Return the `likely_names`, without a step as the turn whose values do not count turns."""
    likely = likely_names(examples)
    if plain_name(likely.get("turn", "")) in _STEPS and not _count_turns(examples[likely["turn"]]):
        del likely["turn"]
    return likely


def _count_turns(values: Sequence[Any]) -> bool:
    """Return whether values count from 0 or 1, as turns do and steps of training hardly ever."""
    numbers = sorted(int(value) for value in values if str(value).isdigit())
    return len(numbers) > 1 and numbers[0] in {0, 1} and numbers == [*range(numbers[0], numbers[0] + len(numbers))]


def columns_in_words(examples: Mapping[str, Sequence[Any]], advice: str = "") -> str:
    """Return a table's columns with up to two example values each, for a message, and the line that names the likely ones.

    Other advice comes before it.

    Examples
    --------
    >>> columns_in_words({"conv": ["c1", "c2"], "user_msg": ["Hi"]})
    'its columns are `conv` (c1, c2), `user_msg` (Hi); name them, as in names={"rollout_id": "conv", "prompt": "user_msg"}'
    """
    columns = [f"`{_short(name)}`{_in_parentheses(values)}" for name, values in examples.items()]
    more = f" and {len(columns) - MOST_COLUMNS} more" if len(columns) > MOST_COLUMNS else ""
    shown = f"{', '.join(columns[:MOST_COLUMNS])}{more}"
    likely = _likely_by_values(examples)
    # A row holds either a prompt and its response, or a message with its speaker.
    others = (
        {"role", "content"}
        if "response" in likely or not {"role", "content"} <= likely.keys()
        else {"prompt", "response"}
    )
    names: dict[str, Any] = {name: likely[name] for name in likely if name != likely[name] and name not in others}
    verdicts = [
        name
        for name, values in examples.items()
        if plain_name(name) in OF_VERDICTS and name != "succeeded" and _are_labels(values)
    ]
    if len(verdicts) == 1 and "succeeded" not in examples:
        labels = [value for value in examples[verdicts[0]] if value is not None]
        names["succeeded"] = column_or_map("succeeded", verdicts[0], labels)
    scores = [
        name for name in examples if plain_name(name).endswith("_score") and None not in map(_number, examples[name])
    ]
    if len(scores) == 1 and not verdicts and not {"score", "succeeded"} & {*examples}:
        names["score"] = scores[0]
    column_of = {column: name for name, column in names.items() if isinstance(column, str)}
    renamed = {column_of.get(name, name): values for name, values in examples.items()}
    if "rollout_id" not in examples and not are_rollouts(renamed):
        names = {"rollout_id": "...", **names}
    elif "response" not in likely and others != {"prompt", "response"}:
        names = {"response": "...", **names}
    return f"its columns are {shown}; {advice}name them, as in {as_names(names)}"
