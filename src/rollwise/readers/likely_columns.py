"""Columns that may be a target, a goal or a verdict and are not used, and tables whose rows are rollouts by their names."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from rollwise.readers.chat_names import LISTS, RESPONSES
from rollwise.readers.labels import as_names
from rollwise.readers.roles.choices import repeated
from rollwise.readers.roles.columns import CUSTOM, Table, name_in_file
from rollwise.readers.roles.decisions import decided
from rollwise.readers.roles.names import joined, judges, judges_attacks, rank_of, role_of, verdict_claim
from rollwise.readers.roles.numbered import rounds_by_name, speakers_by_name
from rollwise.readers.roles.questions import OPEN, OPEN_NUMBER, Question, Role
from rollwise.readers.roles.ratings import may_score
from rollwise.readers.roles.values import kind_of
from rollwise.readers.roles.words import BLANK, normal
from rollwise.schema import TURNS, UNUSED, Column
from rollwise.schema.arguments import frame_of
from rollwise.schema.coercion import cast_column
from rollwise.schema.named import values_named
from rollwise.schema.option_types import check_option_types

# What columns of a row may be, each with the role that its name says.
_LIKELY = {
    "rollout_id": "id", "turn": "turn", "prompt": "prompt", "response": "response", "target": "target", "attack": "attack",
    "goal": "goal", "role": "role", "content": "content", "attempt": "attempt",
}  # fmt: skip
_OF_CONVERSATIONS = (
    "rollout", "conv", "dialog", "chat", "session", "thread", "trajectory", "episode",
)  # fmt: skip  # parts of their ids
_STEPS = {"step", "round"}  # of a rollout, or of training
_RESULTS = ("succeeded", "outcome", "refused", "solved", "score", "reward")
MOST_LABELS = 8  # distinct values of a column of verdicts
MOST_EXAMPLES = 200  # rows whose values a message shows
MOST_COLUMNS = 20  # that a message lists
MOST_SUGGESTED = 4  # columns in one notice
_LENGTH = 40  # characters of an example
_LABEL = 20  # characters of a verdict
_CUT = {"succeeded": OPEN_NUMBER}


def unused_columns(turns: pl.DataFrame) -> pl.DataFrame:
    """Return the columns that are not used although they look like a target, an attack, a goal, an attempt or a verdict.

    Only columns beside rollouts of no single tool count: readers of tools know what their columns mean. A column is unused if
    the column of TURNS that it looks like is null wherever it has a value itself. `rw.read` has the same rules.

    Parameters
    ----------
    turns
        TURNS, as from `rw.read` or `rw.turns`.

    Returns
    -------
    UNUSED: a row for each column, with up to two example values, the column of TURNS that it probably is, and the argument
    `names=` that makes it so, with "?" where only you know: whose success it is (`of`), or what a label means. No rows where
    nothing is left out.

    Examples
    --------
    >>> rows = {"rollout_id": ["a", "b"], "turn": [1, 1], "response": ["x", "y"], "verdict": ["pass", "fail"]}
    >>> unused_columns(pl.DataFrame(rows)).row(0)
    ('verdict', 'fail, pass', 'succeeded', 'names={"succeeded": ("verdict", {"fail": "?", "pass": "?"}), "of": "?"}')
    """
    check_option_types(unused_columns, locals())
    turns = frame_of(turns, "unused_columns")
    if "source" in turns.columns:
        turns = turns.with_columns(cast_column(turns, Column("source", pl.String, "the format"), "unused_columns"))
    return unused_in(turns)


def unused_in(turns: pl.DataFrame) -> pl.DataFrame:
    """Return UNUSED of a frame that is TURNS."""
    turns = _of_no_tool(turns)
    return pl.DataFrame(list(_unused(turns)) if turns.height else [], schema=UNUSED.dtypes, orient="row")


def verdicts_by_value(turns: pl.DataFrame) -> pl.DataFrame:
    """Return UNUSED of the columns that only their values show as a verdict or as a score, whatever their names are.

    Two labels, such as ja and nein, may be a verdict; numbers within 0 and 1, or called a score, a score, unless the turns
    have scores.
    """
    turns = _of_no_tool(turns)
    if "score" in turns.columns and turns["score"].count():
        return pl.DataFrame(
            [("score", _ends(turns["score"]), "score", as_names(_CUT))], schema=UNUSED.dtypes, orient="row"
        )
    rows = []
    is_single = turns["rollout_id"].n_unique() == turns.height  # else a score of the whole is no `score` of a turn
    for column in turns.columns:
        in_file = name_in_file(column)
        values = values_named(turns, column).drop_nulls()
        is_part = "." in in_file and not may_score(in_file)
        if column in TURNS.names or is_part or values.dtype.is_nested() or not values.len():
            continue
        is_score = may_score(in_file) and values.dtype.is_numeric()
        if values.dtype.is_float() or is_score:
            if is_single and values.n_unique() > 2 and (is_score or values.is_between(0, 1).all()):
                rows.append((in_file, _ends(values), "score", as_names({"score": in_file} | _CUT)))
        elif values.head(MOST_EXAMPLES).n_unique() == 2 and (labels := _two_labels(values)):
            names = as_names({"succeeded": (in_file, dict.fromkeys(labels, OPEN))})
            rows.append((in_file, ", ".join(labels), "succeeded", names))
    return pl.DataFrame(rows, schema=UNUSED.dtypes, orient="row")


def _two_labels(values: pl.Series) -> list[str]:
    """Return the labels of a column that has two short ones, or 0 and 1; else none."""
    is_bool = values.dtype == pl.Boolean
    labels = sorted(str(value).lower() if is_bool else str(value) for value in values.unique().to_list())
    is_short = len(labels) == 2 and all(len(label) <= _LABEL and normal(label) not in BLANK for label in labels)
    return labels if is_short and (not values.dtype.is_numeric() or labels == ["0", "1"]) else []


def _ends(values: pl.Series) -> str:
    least, largest = (float(str(end)) for end in (values.min(), values.max()))
    return f"{least:g} to {largest:g}"


def _of_no_tool(turns: pl.DataFrame) -> pl.DataFrame:
    """Return the turns of people's own files: readers of tools know what their columns mean."""
    if "source" not in turns.columns:
        return turns
    is_custom = turns["source"].is_null() | turns["source"].is_in(CUSTOM)
    return turns if is_custom.all() else turns.filter(is_custom)


def _unused(turns: pl.DataFrame) -> Iterator[tuple[str, str, str, str]]:
    """Iterate over the rows of UNUSED, in the order of the columns."""
    roles, questions, unread_roles = decided(Table(turns, {}))
    printed: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for role in (*unread_roles, *roles):
        in_file = name_in_file(role.column)
        labels = {str(label).lower(): side for label, side in (role.labels or {}).items()}
        printed.setdefault(in_file, (role.name, {role.name: (in_file, labels) if labels else in_file}))
    for question in questions:
        meaning = next(iter(question.names))
        printed[question.column] = ("succeeded" if meaning == "of" else meaning, question.names)
    for column in turns.columns:
        in_file = name_in_file(column)
        if column not in TURNS.names and in_file in printed:
            meaning, names = printed[in_file]
            yield in_file, _examples(turns, column), meaning, as_names(names)


def _examples(turns: pl.DataFrame, column: str) -> str:
    """Return some values of a column: all labels of a verdict, or two of others."""
    values = values_named(turns, column).drop_nulls().unique(maintain_order=True).head(MOST_LABELS + 1).to_list()
    is_verdict = verdict_claim(name_in_file(column)) is not None and len(values) <= MOST_LABELS
    return ", ".join(map(short, sorted(map(str, values)) if is_verdict else values[:2]))


def suggestions(unused: pl.DataFrame) -> list[str]:
    """Return a sentence for each of the columns of UNUSED."""
    sentences = []
    for row in unused.rows(named=True)[:MOST_SUGGESTED]:
        concern = {"succeeded": "attack", "outcome": "whole conversation", "solved": "task"}.get(row["meaning"])
        if concern is not None:
            words = f"column `{short(row['column'])}` holds {row['examples']}: if it judges the {concern},"
        else:
            words = f"column `{short(row['column'])}` ({row['examples']}) may be the {row['meaning']}:"
        sentences.append(f"{words} map it with {row['names']}")
    if unused.height > MOST_SUGGESTED:
        sentences.append("`rw.readers.unused_columns(turns)` lists more columns")
    return sentences


def of_facts(roles: Iterable[Role], turns: pl.DataFrame) -> list[str]:
    """Return a sentence for each column that may be a fact and was not taken, as several differ."""
    rows = [
        (in_file, _examples(turns, role.column), role.name, as_names({role.name: in_file}))
        for role in roles
        for in_file in (name_in_file(role.column),)
    ]
    return suggestions(pl.DataFrame(rows, schema=UNUSED.dtypes, orient="row"))


def repeated_verdicts(turns: pl.DataFrame, column: str = "succeeded", labels: Any = None) -> list[Question]:
    """Return the question whether verdicts on turns are on conversations, where they are the same on all turns of each.

    `column` and `labels` are the user's name of the verdicts, and the user's map of their labels.
    """
    if not turns["succeeded"].count():
        return []
    is_custom = turns["source"].is_null() | turns["source"].is_in(CUSTOM) if "source" in turns.columns else None
    rows = turns if is_custom is None else turns.filter(is_custom)
    if not repeated(rows["rollout_id"], rows["succeeded"]):
        return []
    sentence = f"`{short(column)}` is the same on all turns of each rollout: does it judge the whole conversation?"
    return [Question(column, sentence, {"outcome": column if labels is None else (column, dict(labels))})]


def repeated_rewards(turns: pl.DataFrame) -> list[str]:
    """Return the notice on rewards that may be of whole rollouts: the same on all turns of each, and others elsewhere."""
    # In most tables two neighbors differ, which costs less than to gather all rollouts.
    ids, rewards = turns["rollout_id"], turns["reward"]
    if not rewards.count() or ((ids == ids.shift()) & (rewards != rewards.shift())).any():
        return []
    is_own = turns["source"].is_null() | turns["source"].is_in(CUSTOM) if "source" in turns.columns else True
    rollouts = turns.lazy().filter(is_own, pl.col("reward").is_not_null()).group_by("rollout_id")
    values = rollouts.agg(pl.len(), pl.col("reward").n_unique().alias("num"), pl.col("reward").first())
    several = values.filter(pl.col("len") > 1).collect()
    if several["num"].n_unique() != 1 or several["num"][0] != 1 or several["reward"].n_unique() < 2:
        return []
    return [
        "`reward` is the same on all turns of each rollout: if it is of the rollout, measure `final_reward`; `total_reward` sums it"
    ]


def in_parentheses(values: Sequence[Any]) -> str:
    """Return some values as examples in a sentence."""
    return f" ({', '.join(map(short, values[:2]))})" if values else ""


def short(value: object) -> str:
    """Return a value as an example, cut."""
    text = " ".join(str(value).split())
    return text if len(text) <= _LENGTH else f"{text[: _LENGTH - 3]}..."


def likely_names(columns: Iterable[str]) -> dict[str, str]:
    """Return for each column of TURNS the column of the user's that it probably is."""
    names: dict[str, str] = {}
    named = [*columns]
    for name, role in _LIKELY.items():
        matches = [column for column in named if role_of(name_in_file(column)) == role and column not in names.values()]
        if name in named:
            names[name] = name
        elif matches:
            names[name] = min(matches, key=lambda column: (not _names_conversations(column), rank_of(column)))
    return names


def _names_conversations(column: str) -> bool:
    return joined(column).startswith(_OF_CONVERSATIONS)


def looks_like_turns(columns: Iterable[str]) -> bool:
    """Return whether a table with these columns holds turns or messages under other names, rather than prompts to be sent."""
    names = [*columns]
    likely = likely_names(names)
    has_id = _names_conversations(likely.get("rollout_id", ""))
    is_message = {"role", "content"} <= likely.keys()
    return "response" in likely or has_id or "turn" in likely or is_message or any(map(judges, names))


def are_rollouts(examples: Mapping[str, Sequence[Any]]) -> bool:
    """Return whether rows with these columns, each with some of its values, are rollouts of one turn each.

    They have neither an id of rollouts nor a number of the turn. They have an answer and what is evaluated (a goal, an attack, a
    target, a verdict or a score), or no answer but what was attacked and whether that succeeded. A prompt and an answer alone may
    be data to learn from, and a share of successes is of several rollouts.
    """
    likely = _likely_by_values(examples)
    names = {*examples} | likely.keys()
    has_answer = "response" in examples or len(examples.keys() & {*RESPONSES}) == 1
    if names & {"rollout_id", "turn", "node_id", *LISTS} or rounds_by_name(examples):
        return False
    if not has_answer:
        texts = (name for name, values in examples.items() if kind_of(values) == "text")
        return not speakers_by_name(texts) and _are_outcomes(examples, likely)
    return bool(names & {"goal", "attack", "target", *_RESULTS} or any(map(verdict_claim, examples)))


def _are_outcomes(examples: Mapping[str, Sequence[Any]], likely: Mapping[str, str]) -> bool:
    """Return whether rows without answers say what was attacked and whether that succeeded."""
    if "response" in likely or ("prompt" in likely and "prompt" not in examples):
        return False  # texts under other names, which the user has to name
    # Other verdicts on a row with a prompt may judge the prompt.
    is_verdict = judges_attacks if "prompt" in examples else judges
    return bool(likely.keys() & {"goal", "attack", "target"}) and any(
        is_verdict(name) and _are_labels(values) for name, values in examples.items()
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
    if joined(likely.get("turn", "")) in _STEPS and not _count_turns(examples[likely["turn"]]):
        del likely["turn"]
    return likely


def _count_turns(values: Sequence[Any]) -> bool:
    """Return whether values count from 0 or 1, as turns do and steps of training hardly ever."""
    numbers = sorted(int(value) for value in values if str(value).isdigit())
    return len(numbers) > 1 and numbers[0] in {0, 1} and numbers == [*range(numbers[0], numbers[0] + len(numbers))]


def columns_in_words(examples: Mapping[str, Sequence[Any]]) -> str:
    """Return a table's columns with up to two example values each, for a message, and the line that names the likely ones."""
    columns = [f"`{short(name)}`{in_parentheses(values)}" for name, values in examples.items()]
    more = f" and {len(columns) - MOST_COLUMNS} more" if len(columns) > MOST_COLUMNS else ""
    first = f"{', '.join(columns[:MOST_COLUMNS])}{more}"
    likely = _likely_by_values(examples)
    # A row holds either a prompt and its response, or a message with its speaker.
    others = (
        {"role", "content"}
        if "response" in likely or not {"role", "content"} <= likely.keys()
        else {"prompt", "response"}
    )
    names: dict[str, Any] = {name: likely[name] for name in likely if name != likely[name] and name not in others}
    verdicts = [
        name for name, values in examples.items() if judges(name) and name != "succeeded" and _are_labels(values)
    ]
    if len(verdicts) == 1 and "succeeded" not in examples:
        names["succeeded"] = verdicts[0]
    scores = [name for name in examples if role_of(name) == "score" and None not in map(_number, examples[name])]
    if len(scores) == 1 and not verdicts and not {"score", "succeeded"} & {*examples}:
        names["score"] = scores[0]
    column_of = {column: name for name, column in names.items() if isinstance(column, str)}
    renamed = {column_of.get(name, name): values for name, values in examples.items()}
    if "rollout_id" not in examples and not are_rollouts(renamed):
        names = {"rollout_id": "...", **names}
    elif "response" not in likely and others != {"prompt", "response"}:
        names = {"response": "...", **names}
    return f"its columns are {first}; name them, as in {as_names(names)}"
