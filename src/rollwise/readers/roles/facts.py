"""Facts of rollouts in people's own columns: target, attack, goal, task, category, attempt, costs, tokens and seconds.

What a fact is called is taken as it is, as no rate is wrong by it; a line says what was read. Of several columns for one the
first group of names counts; where these differ, none is taken.
"""

from collections.abc import Iterator

import polars as pl

from rollwise.readers.roles.columns import Column, Table, is_text
from rollwise.readers.roles.names import EITHER_IDS, RANKS, joined, words_of
from rollwise.readers.roles.questions import Role
from rollwise.schema import TURNS

OF_ROLLOUT = "of the whole rollout"  # what a reward rests on that only the last turn has
_PLAIN = frozenset(
    {
        "total", "s", "ms", "sec", "secs", "seconds", "wall", "time", "duration", "latency", "elapsed", "runtime",
        "usd", "cost",
    }
)  # fmt: skip  # words of amounts that say no more of what they are
_SETTINGS = frozenset(
    "run config configuration settings setup meta metadata info params parameters args experiment header options".split()  # noqa: SIM905
)  # words of the names of objects whose facts are of all records around which they stand
_LEAST = 100  # from which whole numbers without a unit may be milliseconds
_LONGEST = 10_000_000  # seconds: more is a moment


def facts(table: Table) -> tuple[list[Role], list[Role]]:
    """Return the columns that are facts of rollouts or turns, and the likely facts that were not read as such."""
    roles: list[Role] = []
    unused: list[Role] = []
    for name in ("target", "attack", "goal", "task", "category"):
        used = {role.column for role in roles}
        candidates = [column for column in _named(table, name) if column.name not in used]
        # An `id` is the task where it repeats over rollouts, and an id of the rollout where it does not.
        if name == "task" and not candidates:
            candidates = [column for column in table.columns if joined(column.own) in EITHER_IDS and _is_task(column)]
        if not candidates or name in table.named:
            continue
        chosen = _chosen(table, candidates, name)
        roles += [Role(column.name, name, "named so") for column in chosen]
        if not chosen and not table.holds(name):
            unused.append(Role(candidates[0].name, name, "named so"))
    attempt = _attempt(table, roles)
    if attempt is not None:
        (roles if attempt[1] else unused).append(attempt[0])
    return [*roles, *_scores(table), *_rewards(table), *_numbers(table)], unused


def _named(table: Table, name: str) -> list[Column]:
    """Return the columns that are called so, the likeliest names first."""
    ranks = RANKS[name]
    candidates = [
        column for column in table.columns if _called(column) in ranks and _fits(column, name) and not column.has_sides
    ]
    # A `prompt_id` that never repeats may be that of a message.
    candidates = [column for column in candidates if _called(column) != "promptid" or _is_task(column)]
    return sorted(candidates, key=lambda column: ranks[_called(column)])


def _called(column: Column) -> str:
    """Return the name of a column as names of facts are compared: that in an object of settings is of all records around it."""
    within, _, name = column.own.rpartition(".")
    is_same = within == name  # such as `behavior.behavior`, the text of a behavior
    return joined(name) if is_same or {*words_of(within)} <= _SETTINGS else joined(column.own)


def _chosen(table: Table, candidates: list[Column], name: str) -> list[Column]:
    """Return the columns that are read as one of TURNS: the first, and others for rows that it says nothing of, as in other files.

    None of them are if several of the likeliest names differ, or if one varies within a rollout or contradicts what is stated.
    """
    ranks = RANKS[name]
    first = candidates[0]
    rivals = [candidate for candidate in candidates if ranks.get(_called(candidate)) == ranks.get(_called(first))]
    # Two equally good names with different values: either may be meant, so neither is read, and a notice says so.
    if any(_differ(first, rival) for rival in rivals):
        return []
    chosen = [candidate for candidate in candidates if candidate.is_fact and _is_open(table, candidate, name)]
    columns, filled = [], pl.repeat(value=False, n=table.frame.height, eager=True)
    for column in chosen if first in chosen else []:
        has_value = column.values.is_not_null()
        # Columns of several files fill different rows. One that overlaps with an earlier one is kept under its own name.
        if not (has_value & filled).any():
            columns.append(column)
            filled = filled | has_value
    return columns


def _differ(first: Column, second: Column) -> bool:
    """Return whether two columns say different things of a row."""
    pairs = first.values.cast(pl.String) != second.values.cast(pl.String)
    return bool(pairs.fill_null(value=False).any())


def _fits(column: Column, name: str) -> bool:
    """Return whether values may be such a fact: words, and of tasks, goals and categories also whole numbers."""
    is_word = is_text(column.dtype) and column.kind not in {"empty", "moment"}
    if name == "target" and column.kind == "text" and any(" " in str(value) for value in column.distinct):
        return False  # how an answer is to begin, unlike a long path of a model
    if name in {"target", "attack"}:
        return is_word and column.kind != "bool"
    return is_word or column.dtype.is_integer()


def _is_open(table: Table, column: Column, name: str) -> bool:
    """Return whether the column of TURNS says nothing where this one has a value; an attempt that is always 1 does not either."""
    if not table.holds(name):
        return True
    stated = table.frame[name]
    if name == "attempt" and (stated.drop_nulls() == 1).all():
        return True
    return not (stated.is_not_null() & column.values.is_not_null()).any()


def _is_task(column: Column) -> bool:
    """Return whether ids repeat over rollouts, as ids of tasks do."""
    if (
        not (is_text(column.dtype) or column.dtype.is_integer())
        or not column.is_fact
        or column.filled < len(column.values)
    ):
        return False
    return 1 < column.values.n_unique() < column.table.frame["rollout_id"].n_unique()


def _attempt(table: Table, roles: list[Role]) -> tuple[Role, bool] | None:
    """Return the column that numbers the attempts, and whether it does so beyond doubt."""
    candidates = [
        column for column in _named(table, "attempt") if column.dtype.is_integer() and column.values.n_unique() > 1
    ]
    if not candidates or "attempt" in table.named:
        return None
    column = candidates[0]
    role = Role(column.name, "attempt", "counts the attempts")
    series_of_facts = [table.frame[name] for name in ("target", "attack", "goal", "task") if table.holds(name)]
    series_of_facts += [table.frame[candidate.column] for candidate in roles if candidate.name != "category"]
    named = [table.frame["rollout_id"].alias("id"), column.values.alias("attempt")]
    rows = pl.DataFrame([*named, *(series.alias(str(place)) for place, series in enumerate(series_of_facts))])
    rollouts = rows.unique("id") if column.is_fact else rows
    is_number = bool(column.values.drop_nulls().cast(pl.Float64).is_between(0, 2**31 - 1).all())
    # It numbers attempts if no two rollouts agree in it and in all other facts: else it repeats something.
    counts = column.is_fact and is_number and rollouts.drop("id").n_unique() == rollouts.height
    is_seed = joined(column.own) == "seed"  # which is a fact of a run, not of an attempt
    if not _is_open(table, column, "attempt"):
        return None
    return (role, counts) if not is_seed else None


def _scores(table: Table) -> Iterator[Role]:
    """Iterate over the columns that are the score and the reward: those called so, and a score that is the only one.

    One that is the same on several turns is of their rollout, and stays a column.
    """
    scores = [column for column in table.of_records if column.role == "score" and _is_number(column)]
    scores = [column for column in scores if table.is_single or not column.is_fact]
    for name in ("score", "reward"):
        named = [column for column in scores if joined(column.own) == name]
        # The only score is `score` under any name; a reward must be called so.
        scores_alone = [column for column in scores if joined(column.own) != "reward"] if name == "score" else []
        chosen = named or (scores_alone if len(scores_alone) == 1 else [])
        if len(chosen) == 1 and not table.holds(name) and (name not in table.named or chosen[0].own == name):
            yield Role(chosen[0].name, name, "named so")


def _rewards(table: Table) -> Iterator[Role]:
    """Iterate over the rewards that records state of their whole rollout: that of the last turn, where no turn has one."""
    for column in table.of_records:
        is_reward = joined(column.own) == "reward" and column.name in table.of_rollouts and column.dtype.is_numeric()
        if is_reward and not table.is_single and column.is_fact:
            yield Role(column.name, "reward", OF_ROLLOUT)


def _is_number(column: Column) -> bool:
    """Return whether all values are numbers, or texts that are."""
    if not column.filled or not (column.dtype.is_numeric() or is_text(column.dtype)):
        return False
    # A cast that loses values means that some text is not a number.
    numbers = column.values.cast(pl.Float64, strict=False)
    return numbers.null_count() == column.values.null_count()


def _numbers(table: Table) -> Iterator[Role]:
    """Iterate over costs, tokens and seconds; what is one for each rollout is of the rollout, and never counted by turn."""
    columns_by_name: dict[str, list[Column]] = {}
    for column in table.of_records:
        if not column.dtype.is_numeric() or column.role not in {"cost", "tokens", "seconds"} or not _is_amount(column):
            continue
        if (
            column.name in table.enclosing
        ):  # an amount of all records of an object, which each of them would count again
            continue
        name = {"cost": _cost_name, "seconds": _seconds_name, "tokens": _tokens_name}[column.role](column)
        is_named = name in table.named or (column.own in table.named and column.name not in table.of_rollouts)
        if name is not None and not is_named and not table.holds(name):
            columns_by_name.setdefault(name, []).append(column)
    for name, columns in columns_by_name.items():
        # Words that all candidates share do not distinguish them.
        shared = frozenset.intersection(*(column.words for column in columns))
        # `latency_ms` says more than nothing beside `judge_latency_ms`; `a_latency_ms` and `b_latency_ms` are of two things.
        plain = [column for column in columns if column.words <= shared | _PLAIN]
        for column in (plain or columns)[: 1 if plain or len(columns) == 1 else 0]:
            is_thousandths = column.role == "seconds" and "ms" in column.words
            yield Role(column.name, name, "thousandths" if is_thousandths else "named so")


def _is_amount(column: Column) -> bool:
    """Return whether numbers may be an amount: finite, not negative, and whole if they count tokens."""
    values = column.values.drop_nulls().cast(pl.Float64)
    # -1 is a common mark of an unknown amount, which a sum would subtract.
    is_fitting = values.is_finite() & (values >= 0)
    return bool((is_fitting & (values == values.floor()) if column.role == "tokens" else is_fitting).all())


def _is_of_rollout(column: Column) -> bool:
    """Return whether an amount is of whole rollouts; what turns state is of turns, even where it is constant."""
    of_records = column.table.of_rollouts
    if column.name in of_records or not column.is_fact:
        return column.is_fact
    # A constant amount in rows where records state nothing was stated by turns, and adds up.
    in_records = pl.repeat(value=False, n=column.table.frame.height, eager=True)
    for rows in of_records.values():
        in_records = in_records | rows
    return not of_records or bool((column.values.is_not_null() & ~in_records).any())


def _cost_name(column: Column) -> str | None:
    return "total_cost_usd" if _is_of_rollout(column) else "cost_usd"


def _seconds_name(column: Column) -> str | None:
    values = column.values.drop_nulls()
    has_unit = bool(column.words & {"s", "ms", "sec", "secs", "seconds"})
    if not has_unit:
        most = float(values.max() or 0)  # type: ignore[arg-type]
        # Without a unit, 1500 may be milliseconds, and 1700000000 is a moment: a wrong unit is worse than none.
        if most > _LONGEST or (column.dtype.is_integer() and most >= _LEAST):
            return None
    return "total_seconds" if _is_of_rollout(column) else "seconds"


def _tokens_name(column: Column) -> str | None:
    words = column.words
    # Limits are not used up, and cached or reasoning tokens are parts of a total.
    if words & {"max", "limit", "per", "budget", "cached", "cache", "reasoning", "request"}:
        return None
    if words & {"input", "prompt"}:
        return "prompt_tokens" if column.table.is_single or not column.is_fact else None
    if words & {"output", "completion", "response", "generated"}:
        return "response_tokens" if column.table.is_single or not column.is_fact else None
    return "total_tokens" if words <= {"total", "tokens", "used", "num", "n", "usage"} and column.is_fact else None


def cast(values: pl.Series, role: Role) -> pl.Series:
    """Return the values of a fact in the dtype of its column of TURNS; a number that does not fit is null."""
    if role.why == "thousandths":
        values = values / 1000
    return values.cast(TURNS.dtypes[role.name], strict=False).alias(role.name)
