"""The finding of a section of rates or scores: which groups are highest and lowest, or why this cannot be said."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import polars as pl

from rollwise.errors import plural
from rollwise.estimation.comparable import JUDGED_BY
from rollwise.reports.comparisons import (
    JUDGES,
    UNITS,
    assessed,
    judges_of,
    judges_of_editions,
    standing,
    turned,
)
from rollwise.reports.frames import Frames
from rollwise.reports.grouping import naming
from rollwise.reports.headline import Headline
from rollwise.reports.parts import Link
from rollwise.reports.same_goals import FEWEST, FEWEST_CLUSTERS, Shared, is_large
from rollwise.reports.scored import is_varied, score_name
from rollwise.schema import labels
from rollwise.schema.named import columns_named

REMEDY = (
    "--unjudged censor narrows the interval if turns are unjudged at random, --unjudged drop leaves these rollouts out"
)
MOST_NAMED = 4  # groups with the same rate; of more, the rest is counted
LONGEST = 80  # letters of the names of judges
OF_JUDGES = "which did not have the same judge"
DONE = {"attack_success": "attacks succeeded", "task_success": "tasks were solved"}


def of_rates(data: Frames, metric: str) -> str:
    """Say where attacks succeed most and least, or tasks are solved; empty without a verdict.

    Groups that are too small are not named, but counted.
    """
    rows = data.rates(metric).filter(pl.col("n") > 0)
    if rows.is_empty():
        lost = data.rates(metric)
        number = int(lost.select(pl.sum_horizontal("n_error", "n_undetermined", "n_missing").sum()).item())
        unjudged = f"{labels.counted(number, data.noun)} without a verdict, so that there is no rate"
        return labels.sentence(unjudged) if number else ""
    by = naming(rows, data.by)
    named, few, limit = large_groups(rows, "judged", data.noun)
    done = DONE[metric]
    if not by:
        # The only group is all there is: it is reported whatever its size.
        rate = labels.interval_text(rows.row(0, named=True), rate=True)
        small = f", from {limit}" if few else ""
        return labels.sentence(f"{done} in {rate} of {labels.counted(rows['n'][0], f'judged {data.noun}')}{small}")
    if named.is_empty():
        if few == rows.height:
            return labels.sentence(f"{done} in groups that are too small to name ({limit} in each)")
        partly = labels.counted(int(rows["n_undetermined"].sum()), data.noun)
        return labels.sentence(f"how often {done} is open, as {partly} have unjudged turns ({REMEDY})")
    if named.height == 1:
        text = (
            f"{done} in {_number(named, rate=True)} of {data.noun}s of {ends(named, by)[0]} ({sizes(named, data.noun)})"
        )
    elif metric in data.shared and not other_judges(data, named, by):
        text = _over_common(data.shared[metric], done, named, by, data.noun, rate=True)
    elif why_not := undecided(data, named, by):
        groups = labels.counted(named.height, "group")
        text = (
            f"{done} in {between(named, rate=True)} of {data.noun}s in {groups} ({sizes(named, data.noun)}), {why_not}"
        )
    else:
        highest, lowest = (_end(named, by, place, rate=True) for place in (0, -1))
        text = f"{done} most often for {highest}, and least often for {lowest} ({sizes(named, data.noun)})"
    return with_unnamed(text, few, limit)


def of_scores(data: Frames, metric: str) -> str:
    """Say where scores are high and low; groups that are too small are not named, but counted."""
    rows = data.means(metric)
    by = naming(rows, data.by)
    named, few, limit = large_groups(rows, "scored", data.noun)
    what = score_name(metric)
    if not is_varied(data.rollouts, metric):
        scored = labels.counted(int(rows["n"].sum()), f"scored {data.noun}")
        return labels.sentence(
            f"the {what} is {labels.number(rows['estimate'][0])} in {'all ' if rows['n'].sum() > 1 else ''}{scored}"
        )
    if not by:
        mean = labels.interval_text(rows.row(0, named=True), rate=False)
        small = f", from {limit}" if few else ""
        scored = labels.counted(rows["n"][0], f"scored {data.noun}")
        return labels.sentence(f"the mean {what} is {mean} over {scored}{small}")
    if named.is_empty():
        return labels.sentence(f"mean {what}s are of groups that are too small to name ({limit} in each)")
    if named.height == 1:
        text = f"the mean {what} of {ends(named, by)[0]} is {_number(named, rate=False)} ({sizes(named, data.noun)})"
    elif metric in data.shared and not other_judges(data, named, by):
        text = _over_common(data.shared[metric], f"the mean {what} is", named, by, data.noun, rate=False)
    elif why_not := undecided(data, named, by):
        groups = labels.counted(named.height, "group")
        text = f"the mean {what} is {between(named, rate=False)} in {groups} ({sizes(named, data.noun)}), {why_not}"
    else:
        highest, lowest = (_end(named, by, place, rate=False) for place in (0, -1))
        text = f"the mean {what} is highest for {highest}, and lowest for {lowest} ({sizes(named, data.noun)})"
    return with_unnamed(text, few, limit)


def _over_common(
    shared: Shared, subject: str, named: pl.DataFrame, by: tuple[str, ...], noun: str, *, rate: bool
) -> str:
    """Compare groups that did not meet the same goals over the goals that all of them met, or leave them without an order."""
    groups = labels.counted(named.height, "group")
    of = f" of {noun}s" if rate else ""
    rows = over_common(shared, named, by)
    if rows is None:
        return (
            f"{subject} {'in ' if rate else ''}{between(named, rate=rate)}{of} in {groups} ({sizes(named, noun)}), "
            f"which did not meet the same {plural(shared.unit)} ({shared.all_met()}), so that this does not say which "
            "is higher"
        )
    over = f"over {shared.over('both groups' if named.height == 2 else f'all {groups}')}, {subject}"
    if not apart(rows):
        values = f"{'in ' if rate else ''}{between(rows, rate=rate)}{of} ({sizes(rows, noun)})"
        return f"{over} {values}, which their intervals do not tell apart"
    most, least = ("most often", "least often") if rate else ("highest", "lowest")
    highest, lowest = (_end(rows, by, place, rate=rate) for place in (0, -1))
    return f"{over} {most} for {highest}, and {least} for {lowest} ({sizes(rows, noun)})"


def sizes(rows: pl.DataFrame, noun: str, column: str = "n") -> str:
    """Return how many rollouts, or other units, each of some numbers rests on."""
    return f"{labels.counted(rows[column], noun)}{' each' if rows.height > 1 else ''}"


def over_common(shared: Shared, named: pl.DataFrame, by: tuple[str, ...]) -> pl.DataFrame | None:
    """Return the groups over the goals that all of them met, the highest first; None where these are too few."""
    rows = shared.rows.join(named.select(columns_named(by)), on=columns_named(by), how="semi", nulls_equal=True)
    rows = rows.filter(is_large(), pl.col("estimate").is_not_null())
    rows = rows.sort("estimate", descending=True, maintain_order=True)
    return None if shared.common < FEWEST_CLUSTERS or rows.height < named.height else rows


def large_groups(rows: pl.DataFrame, known: str, noun: str = "rollout") -> tuple[pl.DataFrame, int, str]:
    """Return the groups that a sentence names, the highest first; how many are too small for that, and the limit in words."""
    large = is_large()
    named = rows.filter(large, pl.col("estimate").is_not_null()).sort("estimate", descending=True, maintain_order=True)
    unit = labels.cluster_heading(rows)
    return named, rows.filter(large.not_()).height, f"fewer than {FEWEST} {known} {noun}s or {FEWEST_CLUSTERS} {unit}"


def with_unnamed(text: str, few: int, limit: str) -> str:
    """Return a sentence that also says how many groups are too small to be named."""
    more = unnamed(few, limit)
    return labels.sentence(f"{text[:-1]};{more.replace('(', '', 1)}" if more and text.endswith(")") else text + more)


def unnamed(few: int, limit: str) -> str:
    """Say how many groups are too small to be named; empty if none is."""
    return f" ({labels.counted(few, 'group')} with {limit} not named)" if few else ""


def ends(named: pl.DataFrame, by: tuple[str, ...]) -> list[str]:
    """Return the names of the first and the last group; of a single one, once."""
    rows = [named.row(place, named=True) for place in ((0, -1) if named.height > 1 else (0,))]
    return [labels.isolated(labels.group_name(row, by)) for row in rows]


def tied(named: pl.DataFrame, place: int) -> pl.DataFrame:
    """Return the groups with the same estimate as the first or the last one."""
    # Equal rates of different numbers of rollouts may differ by rounding.
    return named.filter((pl.col("estimate") - named["estimate"][place]).abs() <= 1e-12)


def pieces(
    rows: pl.DataFrame, by: Sequence[str], link: Callable[[dict[str, Any]], str], most: int = MOST_NAMED
) -> list[str | Link]:
    """Return the names of some groups, each with a link, and the number of the rest.

    Groups that differ only in the second of two columns share their beginning.
    """
    found: list[str | Link] = []
    starts = list(dict.fromkeys(labels.group_name(row, by[:1]) for row in rows.rows(named=True)))
    for row, name in zip(rows.rows(named=True), labels.group_names(rows, by), strict=True):
        if len(by) != 2:
            found += [", " if found else "", Link(labels.isolated(name), link(row))]
            starts = []
    for start in starts:
        same = [row for row in rows.rows(named=True) if labels.group_name(row, by[:1]) == start]
        found += [", "] if found else []
        if len(same) == 1:
            found.append(Link(labels.isolated(labels.group_name(same[0], by)), link(same[0])))
            continue
        found.append(f"{labels.isolated(start)} (")
        for row in same:
            found += [
                ", " if row is not same[0] else "",
                Link(labels.isolated(labels.group_name(row, by[1:])), link(row)),
            ]
        found.append(")")
    named = [place for place, piece in enumerate(found) if isinstance(piece, Link)]
    if len(named) <= most:
        return [piece for piece in found if piece]
    # A parenthesis that is cut in the middle is closed.
    cut = found[: named[most - 1] + 1]
    is_open = sum(1 if piece.endswith(" (") else -1 if piece == ")" else 0 for piece in cut if isinstance(piece, str))
    return [piece for piece in [*cut, ")" if is_open else "", f" and {len(named) - most} more"] if piece]


def words_of(found: Sequence[str | Link]) -> str:
    """Return pieces as text."""
    return "".join(piece if isinstance(piece, str) else piece.text for piece in found)


def names_of(rows: pl.DataFrame, by: Sequence[str], most: int = MOST_NAMED) -> str:
    """List the names of some groups, and count the rest."""
    return words_of(pieces(rows, by, lambda _: "", most))


def _end(named: pl.DataFrame, by: tuple[str, ...], place: int, *, rate: bool) -> str:
    """Return the first or the last group with its interval, and all others that have the same estimate."""
    rows = tied(named, place)
    texts = dict.fromkeys(labels.interval_text(row, rate=rate) for row in rows.rows(named=True))
    if rows.height == 1:
        return f"{names_of(rows, by)}: {next(iter(texts))}"
    each = next(iter(texts)) if len(texts) == 1 else labels.number(rows["estimate"][0], rate=rate)
    return f"{names_of(rows, by)}: {each} each"


def _number(named: pl.DataFrame, *, rate: bool) -> str:
    return labels.interval_text(named.row(0, named=True), rate=rate)


def between(named: pl.DataFrame, *, rate: bool) -> str:
    """Return the lowest and the highest estimate; one if both are written the same."""
    rows = (named.row(place, named=True) for place in (-1, 0))
    return " to ".join(
        dict.fromkeys(labels.number(row["estimate"], row["low"], row["high"], rate=rate) for row in rows)
    )


def other_judges(data: Frames, named: pl.DataFrame, by: Sequence[str], rollouts: pl.DataFrame | None = None) -> str:
    """Say who judged which of these groups where not all had the same judges; empty where they had."""
    rows = data.rollouts if rollouts is None else rollouts
    if named.is_empty() or not by or not any(rows[name].count() for name in JUDGED_BY if name in rows.columns):
        return ""
    metric, columns = named["metric"][0], columns_named(by)
    tried = assessed(rows, metric) if metric in UNITS else rows.drop_nulls(columns_named([metric]))
    shown = tried.join(named.select(columns), on=columns, how="semi", nulls_equal=True)
    return in_words(judges_of(shown, by), by)


def of_other_judges(data: Frames, named: pl.DataFrame, by: Sequence[str], rollouts: pl.DataFrame | None = None) -> str:
    """Say, after the numbers of some groups, that not all had the same judges; empty where they had."""
    judges = other_judges(data, named, by, rollouts)
    return f"; the groups {OF_JUDGES.removeprefix('which ')} ({judges})" if judges else ""


def judges_since(data: Frames) -> str:
    """Say who judged the rollouts and who the earlier ones; empty where these are the same."""
    if data.earlier is None or data.changes is None:
        return ""
    by = [name for name in data.by if name in data.changes.columns]
    judged = judges_of_editions(data.rollouts, data.earlier.rollouts, by)
    return in_words(judged, [name for name in judged.columns if name != JUDGES])


def in_words(judged: pl.DataFrame, by: Sequence[str]) -> str:
    """Say which groups each judge decided on; empty without any."""
    judges = judged[JUDGES].unique(maintain_order=True).to_list()
    listed = [
        f"{labels.shorten(labels.plain(name), LONGEST)}: {names_of(judged.filter(pl.col(JUDGES) == name), by)}"
        for name in judges[:MOST_NAMED]
    ]
    more = [f"and {len(judges) - MOST_NAMED} more"] if len(judges) > MOST_NAMED else []
    return "; ".join([*listed, *more])


def too_many(data: Frames, head: Headline) -> str:
    """Say that the values of the factor are not compared pair by pair, and with which one of them each is compared."""
    bases = data.contrasts.filter(metric=head.metric, of=head.factor)["baseline"].unique()
    below = f"; below, each is compared with {labels.isolated(labels.plain(bases[0]))}" if len(bases) == 1 else ""
    return f"too many to compare each with the next{below}"


def undecided(data: Frames, named: pl.DataFrame, by: Sequence[str]) -> str:
    """Say why the first and the last groups are not told apart; empty if they are, also by each paired comparison of them."""
    if judges := other_judges(data, named, by):
        return f"{OF_JUDGES} ({judges})"
    pairs = [standing(pair) and pair["difference"] > 0 for pair in _of_the_ends(data, named, by)]
    if pairs and all(pairs):  # a paired comparison sees more than two intervals that overlap
        return ""
    if not apart(named):
        return "which their intervals do not tell apart"
    return "whose paired difference may be chance" if pairs else ""


def _of_the_ends(data: Frames, named: pl.DataFrame, by: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Iterate over the paired differences of a first group from a last one."""
    highest, lowest = (
        {tuple(str(row[name]) for name in by) for row in tied(named, place).rows(named=True)} for place in (0, -1)
    )
    for pair in data.contrasts.filter(metric=named["metric"][0]).rows(named=True):
        if pair["of"] not in by or any(name not in pair for name in by):
            continue
        sides = [
            tuple(str(pair[side] if name == pair["of"] else pair[name]) for name in by)
            for side in ("group", "baseline")
        ]
        if sides[0] in highest and sides[1] in lowest:
            yield pair
        elif sides[1] in highest and sides[0] in lowest:
            yield turned(pair)


def apart(named: pl.DataFrame) -> bool:
    """Return whether the intervals of the first and the last group exclude the estimate of the other."""
    highest, lowest = named.row(0, named=True), named.row(-1, named=True)
    above = lowest["high"] is not None and highest["estimate"] > lowest["high"]
    return above and highest["low"] is not None and bool(lowest["estimate"] < highest["low"])
