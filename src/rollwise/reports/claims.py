"""The claims on the first screen of a report: the worst group, the largest difference, the best news, and what is open."""

from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from rollwise.measurement.unused_verdicts import VERDICT
from rollwise.reports.comparisons import EARLIER, UNITS, baseline_in, standing, turned
from rollwise.reports.ends import (
    OF_JUDGES,
    between,
    judges_since,
    large_groups,
    other_judges,
    over_common,
    pieces,
    tied,
    too_many,
    unnamed,
    words_of,
)
from rollwise.reports.frames import Frames
from rollwise.reports.grouping import naming, varying
from rollwise.reports.headline import Headline
from rollwise.reports.parts import Link, to_transcripts
from rollwise.reports.same_goals import FEWEST
from rollwise.reports.scored import score_name, threshold
from rollwise.reports.title import in_order, since_the_first_step
from rollwise.schema import labels
from rollwise.schema.named import column_named

MOST_OPEN = 0.1  # share of rollouts without a verdict that the first screen says aloud
MOST_LINKS = 4
_FAR = 0.005  # a paired difference and that of the rates beside it are other numbers
_TIMES = ("", "", "twice", "three times", "four times", "five times", "six times", "seven times", "eight times")
_ALONE = "an interval for this group alone, chosen by its value"
_BOUND_ALONE = "a bound for one group alone, chosen by its value"
_ASK = (
    "Name the column that holds the verdict (`rollwise map FILE` shows how), or let a judge read the answers "
    "(`rw.judge` in Python): the page then has rates."
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A number with what it is of, what it rests on, and its transcripts."""

    kind: Literal["corrected", "worst", "highest", "difference", "best", "lowest", "open", "ask"]
    value: str
    text: list[str | Link]
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.value}: {words_of(self.text)}{f' ({self.detail})' if self.detail else ''}"


def claims(data: Frames) -> list[Claim]:
    """Return the claims that the data allow, in the order of the page; each number is also in a table of the folder."""
    head = data.headline
    found = [] if head is None else [_worst(data, head), _difference(data, head), _best(data, head)]
    return [claim for claim in (*found, *_open(data), _ask(data)) if claim is not None]


def _groups(data: Frames, head: Headline) -> tuple[pl.DataFrame, tuple[str, ...], str, str]:
    """Return the groups that may be named, the columns that name them, over what they are compared, and which were too small."""
    rows = data.rates(head.metric).filter(pl.col("n") > 0) if head.is_rate else data.means(head.metric)
    by = naming(rows, data.by)
    if not by:
        return rows.drop_nulls("estimate"), by, "", ""
    named, few, limit = large_groups(rows, "judged" if head.is_rate else "scored", data.noun)
    shared = data.shared.get(head.metric)
    if other_judges(data, named, by):
        return named.clear(), by, "", ""
    if shared is None or named.height < 2:
        return named, by, "", unnamed(few, limit)
    common = over_common(shared, named, by)
    return (named.clear() if common is None else common), by, shared.over(), unnamed(few, limit)


def _worst(data: Frames, head: Headline) -> Claim | None:
    """Return the group that fares worst: the highest rate of attacks, or the lowest of tasks; of scores the highest."""
    named, by, common, few = _groups(data, head)
    if named.is_empty():
        return _without_order(data, head)
    if head.metric == "attack_success" and named["estimate"].max() == 0:
        return None
    lowest = head.metric == "task_success"
    place = -1 if lowest else 0
    rows = tied(named, place)
    value, details = _value(data, head, rows)
    if named.height == 1:
        text = _names(data, head, rows, by)
    elif rows.height == named.height:
        text = [f"{_subject(head)} in each of {labels.counted(named.height, 'group')}"]
    else:
        text = [f"{'lowest' if lowest else 'highest'} of {labels.counted(named.height, 'group')}: "]
        text += _names(data, head, rows, by)
    details += [f"over {common}"] if common else []
    details += [_ALONE] if rows.height < named.height else []
    details += _rank(head, named, rows, by, lowest=lowest) + _denied(data, head, rows, by, lowest=lowest)
    details += [few.strip(" ()")] if few else []
    return Claim("worst" if head.is_rate else "highest", value, text, "; ".join(details))


def _without_order(data: Frames, head: Headline) -> Claim | None:
    """Return the range of groups of other goals or of other judges; None where none may be named at all."""
    shared = data.shared.get(head.metric)
    rows = data.rates(head.metric) if head.is_rate else data.means(head.metric)
    named, few, limit = large_groups(rows.filter(pl.col("n") > 0), "judged", data.noun)
    if judges := other_judges(data, named, naming(rows, data.by)):
        text = f"range of {labels.counted(named.height, 'group')}, {OF_JUDGES}"
        detail = f"{judges}, so that this does not say which is higher{unnamed(few, limit)}"
        return Claim("worst", between(named, rate=head.is_rate), [text], detail)
    if shared is None or named.is_empty():
        return None
    text = f"range of {labels.counted(named.height, 'group')}, which did not meet the same {shared.unit}s"
    detail = f"{shared.all_met()}, so that this does not say which is higher{unnamed(few, limit)}"
    return Claim("worst", between(named, rate=head.is_rate), [text], detail)


def _subject(head: Headline) -> str:
    return {"attack_success": "attack success", "task_success": "tasks solved"}.get(
        head.metric, f"mean {score_name(head.metric)}"
    )


def _value(data: Frames, head: Headline, rows: pl.DataFrame) -> tuple[str, list[str]]:
    """Return the value of groups that tie, with its interval, and what it rests on; intervals that differ are details."""
    row = rows.row(0, named=True)
    if rows.select("low", "high").n_unique() == 1:
        return labels.interval_text(row, rate=head.is_rate), [_counts(data, head, rows)]
    value = labels.number(row["estimate"], row["low"], row["high"], rate=head.is_rate)
    hull = labels.bracket(rows["low"].min(), rows["high"].max(), value=row["estimate"], rate=head.is_rate)  # type: ignore[arg-type]
    return value, [_counts(data, head, rows), f"intervals within {hull}"]


def _counts(data: Frames, head: Headline, rows: pl.DataFrame) -> str:
    """Return how many rollouts, of how many goals, each of some groups has; counts that differ are all given."""
    texts = [*dict.fromkeys(_count(data, head, row) for row in rows.rows(named=True))]
    if len(texts) == 1:
        return f"{texts[0]}{' each' if rows.height > 1 else ''}"
    return " and ".join(texts[:MOST_LINKS]) + (
        f" and {len(texts) - MOST_LINKS} more" if len(texts) > MOST_LINKS else ""
    )


def _count(data: Frames, head: Headline, row: dict[str, Any]) -> str:
    """Return how many rollouts, of how many goals, a number is from."""
    number = labels.counted(row["n"], data.noun)
    number = f"{labels.count(row['estimate'] * row['n'])} of {number}" if head.is_rate else number
    clusters, rates = row["n_clusters"], pl.DataFrame([row], infer_schema_length=None)
    at = f" at {labels.clusters_counted(clusters, rates)}" if clusters and clusters != row["n"] else ""
    return f"{number}{at}"


def _rank(head: Headline, named: pl.DataFrame, rows: pl.DataFrame, by: tuple[str, ...], *, lowest: bool) -> list[str]:
    """Say between which ranks a group is, counted from its end, unless its rank is sure."""
    names = labels.group_names(rows, by)
    mine = head.ranks.filter(pl.col("group").is_in(names))
    if mine.height != rows.height or head.ranks.height != named.height or rows.height == named.height:
        return []
    first, last = int(mine["rank_low"].min()), int(mine["rank_high"].max())  # type: ignore[arg-type]
    if head.is_rate:  # the worst group is named, and rank 1 is the best
        first, last = named.height + 1 - last, named.height + 1 - first
    if (first, last) == (1, rows.height):
        return []
    end = "lowest" if lowest else "highest"
    return [f"rank {first} to {last} from the {end} with {labels.level_text(rows['level'][0])} confidence"]


def _denied(data: Frames, head: Headline, rows: pl.DataFrame, by: tuple[str, ...], *, lowest: bool) -> list[str]:
    """Say which group the paired comparisons put beyond the one that is named, if one does: its goals were tried unequally."""
    for pair in data.contrasts.filter(metric=head.metric).rows(named=True) if head.is_rate else []:
        if not standing(pair):
            continue
        above = (pair["difference"] > 0) is not lowest
        winner, loser = (pair["group"], pair["baseline"]) if above else (pair["baseline"], pair["group"])
        for row in rows.rows(named=True):
            others = [name for name in by if name != pair["of"] and name in pair]
            if pair["of"] in by and str(row[pair["of"]]) == loser and all(row[name] == pair[name] for name in others):
                return [
                    f"paired by {data.unit(head.metric)}, {labels.plain(winner)} is {'lower' if lowest else 'higher'}"
                ]
    return []


def _difference(data: Frames, head: Headline) -> Claim | None:
    """Return the largest difference that stands: since the earlier report, from the baseline, or between neighbors."""
    if data.changes is not None and head.is_rate:
        return _change(data, head)
    if trained := since_the_first_step(data, head):
        value, words, detail = trained
        return Claim("difference", value, [words], detail)
    arms, factor = in_order(head), labels.label(head.factor)
    places = {arm["arm"]: place for place, arm in enumerate(arms)}
    rows = [row for row in head.differences.rows(named=True) if {row["group"], row["baseline"]} <= places.keys()]
    baseline = baseline_in(list(places)) if rows else None
    if baseline is None:
        rows = [row for row in rows if abs(places[row["group"]] - places[row["baseline"]]) == 1]
        what = f"neighbors of {labels.counted(len(arms), factor)} in the order of their {'rates' if head.is_rate else 'means'}"
    else:
        what = f"{labels.counted(len(arms) - 1, factor)} and {labels.plain(baseline)}, the baseline"
    rows = [_from_above(row, places, baseline) for row in rows if row["p_value"] is not None]
    if not rows:
        number = labels.counted(len(arms), factor)
        return Claim("difference", number, [too_many(data, head)]) if head.has_too_many else None
    stood = [row for row in rows if standing(row) and (baseline is not None or row["difference"] > 0)]
    largest = max(stood or rows, key=lambda row: abs(row["difference"]))
    tie = [row for row in stood if abs(abs(row["difference"]) - abs(largest["difference"])) <= 1e-12]
    scale = "points" if head.is_rate else "number"
    said = labels.difference_text(largest, scale)
    pooled = f"; {' and '.join(f'{labels.label(name)}s' for name in head.others)} pooled" if head.others else ""
    paired = f"paired by {labels.counted(largest['n_pairs'], data.unit(head.metric) if head.is_rate else 'goal')}"
    estimates = {arm["arm"]: arm["estimate"] for arm in arms}
    if (
        head.is_rate
        and abs(estimates[largest["group"]] - estimates[largest["baseline"]] - largest["difference"]) > _FAR
    ):
        paired += ", each weighing the same"  # the pooled rates, by rollouts, have another difference
    p_value = f"adjusted p {_p(largest['p_adjusted'])}" if largest["p_adjusted"] is not None else "no p-value"
    details = [paired, p_value, *_opposite(data, head, largest)]
    details += [f"over the {head.common} that all met"] if head.common else []
    pairs = [piece for row in (tie or [largest])[:MOST_LINKS] for piece in ("; ", *_pair(head, row, baseline))][1:]
    if not stood:
        largest_is = ["; the largest is ", *pairs, f", {said}"] if largest["difference"] else [f": {said}"]
        text = [f"between {what}", *largest_is, pooled]
        return Claim("difference", "No difference shown", text, "; ".join(details))
    text = [*pairs, "" if baseline else f", the next {factor}", pooled]
    return Claim("difference", said + _times(len(tie)), text, "; ".join(details))


def _from_above(row: dict[str, Any], places: dict[str, int], baseline: str | None) -> dict[str, Any]:
    """Turn a difference so that it is of the higher value minus the lower one, or of a value minus the baseline."""
    wrong = row["group"] == baseline if baseline else places[row["group"]] > places[row["baseline"]]
    return turned(row) if wrong else row


def _pair(head: Headline, row: dict[str, Any], baseline: str | None) -> list[str | Link]:
    """Name the two values of a difference, the first one with a link to its transcripts."""
    upper, lower = (labels.isolated(labels.plain(row[name])) for name in ("group", "baseline"))
    chosen = {head.factor or "": row["group"]} | ({head.metric: "yes"} if head.metric == "attack_success" else {})
    words = f" {'above' if row['difference'] >= 0 else 'below'} {lower}{', the baseline' if baseline else ''}"
    return [to_transcripts(upper, list(chosen), chosen), words]


def _p(value: float) -> str:
    text = labels.p_text(value)
    return text if text.startswith("<") else f"= {text}"


def _opposite(data: Frames, head: Headline, row: dict[str, Any]) -> list[str]:
    """Say at which values of the other columns a difference that stands goes the other way."""
    if not head.is_rate or not head.others:
        return []
    against = []
    for pair in data.contrasts.filter(metric=head.metric, of=head.factor).rows(named=True):
        same = (pair["group"], pair["baseline"]) == (row["group"], row["baseline"])
        if {pair["group"], pair["baseline"]} == {row["group"], row["baseline"]} and standing(pair):
            difference = pair["difference"] if same else -pair["difference"]
            if difference * row["difference"] < 0:
                against.append(labels.group_name(pair, [name for name in head.others if name in pair]))
    return [f"the other way at {', '.join(against[:MOST_LINKS])}"] if against else []


def _change(data: Frames, head: Headline) -> Claim | None:
    """Return the largest change since the earlier report that stands, with all that are as large."""
    changes = pl.DataFrame() if data.changes is None else data.changes
    if changes.is_empty():
        return None
    changes = changes.filter(pl.col("p_value").is_not_null(), metric=head.metric)
    rows = changes.rows(named=True)
    if not rows:
        return None
    stood = [row for row in rows if standing(row)]
    largest = max(stood or rows, key=lambda row: abs(row["difference"]))
    by = varying(changes, data.by)
    said = labels.difference_text(largest, "points")
    name = labels.isolated(labels.group_name(largest, by))
    link: str | Link = to_transcripts(name, by, largest) if by else name
    p_value = f", adjusted p {_p(largest['p_adjusted'])}" if largest["p_adjusted"] is not None else ""
    judges = f"; not the same judges ({since})" if (since := judges_since(data)) else ""
    detail = f"paired by {labels.counted(largest['n_pairs'], data.unit(head.metric))}{p_value}{judges}"
    if not stood:
        of = labels.counted(len(rows), "rate")
        text = [f"among {of} since {EARLIER}; the largest is ", link, f", {said}"]
        return Claim("difference", "No change shown", text, detail)
    more = f" ({len(stood)} of {len(rows)} changes {'stands' if len(stood) == 1 else 'stand'})" if len(rows) > 1 else ""
    words = f" {'above' if largest['difference'] > 0 else 'below'} {EARLIER}, the largest change{more}"
    return Claim("difference", said, [link, words], detail)


def _best(data: Frames, head: Headline) -> Claim | None:
    """Return the best news as a bound, with all groups that have it: the lowest upper end, or of tasks the highest lower end."""
    named, by, common, _ = _groups(data, head)
    if not head.is_rate:
        return _lowest_score(data, head, named, by, common)
    end, least = ("high", True) if head.metric == "attack_success" else ("low", False)
    rows = named.drop_nulls(end)
    if rows.is_empty() or (named.height == 1 and 0 < named["estimate"][0] < 1):
        return None
    bound = rows[end].min() if least else rows[end].max()
    if bound == (1 if least else 0):  # which says nothing
        return None
    rows = rows.filter((column_named(end) - bound).abs() <= 1e-12)
    row = rows.row(0, named=True)
    worst = tied(named, 0 if least else -1)
    if named["estimate"].n_unique() > 1 and worst.height == rows.height and worst["estimate"][0] == row["estimate"]:
        return None
    rows = rows.filter(pl.col("n") == row["n"])
    groups = labels.counted(named.height, "group")
    limit = labels.bracket(row["low"], row["high"], value=row["estimate"], rate=True)[1:-1].split(", ")
    sure = f"at most {limit[1]} %" if least else f"at least {limit[0]} %"
    name = _names(data, head, rows, by, succeeded=False)
    confidence = f"with {labels.level_text(row['level'])} confidence"
    if row["estimate"] == (0 if least else 1):
        value = f"{labels.count(row['estimate'] * row['n'])} of {labels.count(row['n'])}{_times(rows.height)}"
        text, details = name, [f"{'each ' if rows.height > 1 else ''}{sure} {confidence}"]
    else:
        value, text = sure, [*name, f": {_counts(data, head, rows)}"]
        details = [f"the {'lowest upper' if least else 'highest lower'} end of {groups}, {confidence}"]
    details += [_BOUND_ALONE] if rows.height < named.height else []
    details += [f"over {common}"] if common else []
    return Claim("best", value, text, "; ".join(details))


def _times(number: int) -> str:
    """Return how often something was found, if more than once."""
    words = _TIMES[number] if number < len(_TIMES) else f"{number} times"
    return f", {words}" if number > 1 else ""


def _lowest_score(data: Frames, head: Headline, named: pl.DataFrame, by: tuple[str, ...], common: str) -> Claim | None:
    if named.height < 2 or named["estimate"].n_unique() == 1:
        return None
    rows = tied(named, -1)
    value, details = _value(data, head, rows)
    text = [f"lowest of {labels.counted(named.height, 'group')}: ", *_names(data, head, rows, by)]
    details += [f"over {common}"] if common else []
    return Claim("lowest", value, text, "; ".join(details))


def _names(
    data: Frames, head: Headline, rows: pl.DataFrame, by: tuple[str, ...], *, succeeded: bool = True
) -> list[str | Link]:
    """Name groups, each with a link to its transcripts: those of successes, where an attack is to be read."""
    if not by:
        return [f"{_subject(head)} over all {data.noun}s"]
    columns = [name for name in data.by if name in rows.columns]
    some = {head.metric: "yes"} if head.metric == "attack_success" and succeeded else {}
    return pieces(rows, by, lambda row: to_transcripts("", columns, row, **(some if row["estimate"] else {})).href)


def _open(data: Frames) -> list[Claim]:
    """Return for each rate how many rollouts have no verdict, where they are more than a tenth of all or of a group."""
    found = []
    metrics = [name for name in data.units if data.rates(name).height] if data.is_rated else data.scores[:1]
    for metric in metrics:
        rows = data.summary.filter(metric=metric, statistic="mean").with_columns(
            total=pl.sum_horizontal("n", "n_error", "n_undetermined", "n_missing"),
        )
        rows = rows.with_columns(lost=pl.col("total") - pl.col("n")).sort(
            pl.col("lost") / pl.col("total"), descending=True, maintain_order=True
        )
        lost, total = int(rows["lost"].sum()), int(rows["total"].sum())
        worst = next(iter(rows.filter(pl.col("total") >= FEWEST).head(1).rows(named=True)), None)
        share = 0 if worst is None else worst["lost"] / worst["total"]
        if max(lost / max(total, 1), share) <= MOST_OPEN:
            continue
        known = "verdict" if metric in UNITS else "score"
        errors = int(rows["n_error"].sum())
        counts = {"ended in error": errors, f"without a {known}": lost - errors}
        text = " and ".join(f"{labels.count(number)} {words}" for words, number in counts.items() if number)
        by = naming(rows, data.by)
        details = []
        if worst is not None and share:
            if by and rows.height > 1:
                name = labels.isolated(labels.group_name(worst, by))
                details.append(f"of {name} {labels.count(worst['lost'])} of {labels.count(worst['total'])}")
            if worst["bound_low"] is not None and worst["bound_high"] is not None and metric in UNITS:
                ends = (f"{100 * worst[f'bound_{end}']:.0f}" for end in ("low", "high"))
                details.append(f"whatever they are, its rate is {next(ends)} to {next(ends)} %")
        of = f" for {labels.label(metric)}" if len(metrics) > 1 else ""
        noun = labels.counted(total, data.noun)
        found.append(Claim("open", f"{labels.count(lost)} of {noun} unknown{of}", [text], "; ".join(details)))
    return found


def _ask(data: Frames) -> Claim | None:
    """Return what to do where nothing is judged."""
    if data.is_rated or not data.rollout_count:
        return None
    question = threshold(data.turns, data.rollouts, data.scores)
    notes = [labels.sentence(note) for note in data.unused_verdicts]
    if question and not any(VERDICT in note for note in notes):
        notes = [question]
    # Rewards of a training are no verdicts, and need none.
    text = " ".join(notes) or ("" if data.scores else _ASK)
    return Claim("ask", "What to do", [text]) if text else None
