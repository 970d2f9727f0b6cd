"""Goals whose result changed since the earlier report: both texts beside each other, with the words that differ."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import polars as pl

from rollwise.estimation.changes import changes
from rollwise.reports.comparisons import EARLIER, EDITION, NOW, UNITS, both_editions, unit_in
from rollwise.reports.frames import Earlier, Frames
from rollwise.reports.parts import Link, Part
from rollwise.schema import is_tree, labels
from rollwise.schema.named import column_named

MOST = 30  # goals with their texts on the page: each is read by a person
MOST_WORDS = 400  # of a text; more are in the transcript
ALIKE = 0.4  # share of the words of the shorter text, at least, for marks to be of use
_WORD = re.compile(r"(?:\w+|[^\w\s])\s*|\s+")  # with the space after it
_RESULTS = {"attack_success": ("broken", "held"), "task_success": ("solved", "not solved")}

Piece = tuple[str, bool]  # a piece of a text, and whether the other text lacks it


@dataclass(frozen=True, slots=True)
class Side:
    """One edition of a goal: its result in words, the turn that is shown, and the pieces of what was said in it."""

    title: str
    where: str
    said: list[tuple[str, list[Piece]]]


@dataclass(frozen=True, slots=True)
class Pair:
    """A goal in both editions."""

    group: str
    goal: str
    counts: str
    link: Link
    sides: tuple[Side, Side]


def changed_goals(data: Frames) -> list[Part]:
    """Return the goals that changed, those of the largest changes first, with the texts of one rollout of each edition."""
    if data.earlier is None or data.changes is None or data.tree or is_tree(data.earlier.turns):
        return []  # the paths of trees have no texts of their own
    by = tuple(name for name in data.by if name in data.changes.columns)
    metrics = [metric for metric in UNITS if data.changes.filter(metric=metric).height]
    return [part for metric in metrics for part in _of_metric(data, data.earlier, metric, by)]


def _of_metric(data: Frames, earlier: Earlier, metric: str, by: tuple[str, ...]) -> list[Part]:
    """Count the goals whose rate changed, and show the largest changes."""
    unit = unit_in(metric, data.rollouts, earlier.rollouts)
    both = both_editions(data.rollouts, earlier.rollouts, metric, by)
    editions = {EARLIER: earlier.turns, NOW: data.turns}
    goals = changes(both, of=EDITION, group=NOW, baseline=EARLIER, metric=metric, by=by, cluster=unit)
    changed = goals.filter(pl.col("change").is_in(["gained", "lost"]))
    number = {name: goals.filter(change=name).height for name in ("gained", "lost", "same")}
    yes, _ = _RESULTS[metric]
    scope = f" (a {unit} counts in each group)" if goals[unit].n_unique() < goals.height else ""
    text = (
        f"{yes.capitalize()} more often now than before: {labels.counted(number['gained'], unit)}{scope}; less often: "
    )
    text += f"{labels.count(number['lost'])}; as often: {labels.count(number['same'])}."
    if changed.is_empty():
        return [Part("text", text=text)]
    largest = changed.sort(pl.col("difference").abs(), descending=True, maintain_order=True).head(MOST)
    pairs = [pair for row in largest.rows(named=True) if (pair := _pair(editions, both, row, metric, by, unit))]
    if not pairs:
        return [Part("text", text=text)]
    shown = f" The {labels.count(len(pairs))} largest changes:" if changed.height > len(pairs) else ""
    return [
        Part("text", text=f"{text} Words that only one of two similar texts has are marked.{shown}"),
        Part("pairs", lines=pairs),
    ]


def _pair(
    editions: dict[str, pl.DataFrame],
    both: pl.DataFrame,
    row: dict[str, Any],
    metric: str,
    by: Sequence[str],
    unit: str,
) -> Pair | None:
    """Return a goal with the texts of one rollout of each edition, as alike as there are: one that is broken, one that held."""
    rows = both.filter(column_named(unit).eq_missing(pl.lit(row[unit])), column_named(metric).is_not_null())
    for name in by:
        rows = rows.filter(column_named(name).eq_missing(pl.lit(row[name], rows.schema[name])))
    is_now_yes = row["difference"] > 0
    chosen = _chosen(rows, metric, is_now_yes=is_now_yes)
    if chosen is None:
        return None
    ids = {edition: str(chosen[edition]).removeprefix(f"{edition}/") for edition in (EARLIER, NOW)}
    turns = {edition: _turns(frame, ids[edition]) for edition, frame in editions.items()}
    place = _deciding(turns[NOW if is_now_yes else EARLIER])
    said = {edition: _at(rows, place) for edition, rows in turns.items()}
    if not any(said[edition].get(name) for edition in said for name in ("prompt", "response")):
        return None
    yes, no = _RESULTS[metric]
    pieces = {name: _pieces(said[EARLIER].get(name), said[NOW].get(name)) for name in ("prompt", "response")}
    sides = [
        Side(
            f"{edition}: {yes if is_yes else no}",
            f"turn {said[edition]['turn']} of {turns[edition].height}" if turns[edition].height > 1 else "",
            [(name, found[index]) for name, found in pieces.items() if found[index]],
        )
        for index, (edition, is_yes) in enumerate(((EARLIER, not is_now_yes), (NOW, is_now_yes)))
    ]
    tried = {edition: rows.filter(pl.col(EDITION) == edition)[metric].cast(pl.Float64) for edition in (EARLIER, NOW)}
    numbers = ", ".join(
        f"{labels.count(float(values.sum()))} of {labels.count(values.len())} {when}"
        for values, when in ((tried[EARLIER], "before"), (tried[NOW], "now"))
    )
    return Pair(
        labels.group_name(row, list(by)) if by else "",
        labels.plain(row[unit]),
        f"{yes} in {numbers}",
        Link("the transcript of now", f"#rollout={quote(ids[NOW], safe='')}"),
        (sides[0], sides[1]),
    )


def _chosen(rows: pl.DataFrame, metric: str, *, is_now_yes: bool) -> dict[str, Any] | None:
    """Choose a rollout of each edition with the two results, of the same attempt where there is one; None without both."""
    wanted = {NOW: is_now_yes, EARLIER: not is_now_yes}
    sides = {
        edition: rows.filter(pl.col(EDITION) == edition, column_named(metric) == is_yes).select(
            pl.col("attempt") if "attempt" in rows.columns else pl.lit(None, pl.Int32).alias("attempt"),
            pl.col("rollout_id").alias(edition),
        )
        for edition, is_yes in wanted.items()
    }
    if not all(side.height for side in sides.values()):
        return None
    same = sides[NOW].join(sides[EARLIER], on="attempt", how="inner", maintain_order="left")
    best = same if same.height else sides[NOW].head(1).join(sides[EARLIER].head(1), how="cross", suffix="_before")
    return best.row(0, named=True)


def _turns(turns: pl.DataFrame, rollout: str) -> pl.DataFrame:
    return turns.filter(pl.col("rollout_id") == rollout).sort("turn", nulls_last=True, maintain_order=True)


def _deciding(turns: pl.DataFrame) -> int:
    """Return the place of the first successful turn, or of the last."""
    success = turns["succeeded"].fill_null(value=False).arg_true() if "succeeded" in turns.columns else pl.Series([])
    return int(success[0]) if len(success) else turns.height - 1


def _at(turns: pl.DataFrame, place: int) -> dict[str, Any]:
    """Return the turn at a place, or the last one of a shorter rollout."""
    return turns.row(min(place, turns.height - 1), named=True)


def _pieces(earlier: str | None, now: str | None) -> tuple[list[Piece], list[Piece]]:
    """Return the pieces of two texts, marked where the other one differs; only their beginnings where they are long."""
    words = [_WORD.findall(labels.plain_lines(text or ""))[:MOST_WORDS] for text in (earlier, now)]
    bare = [[word.strip() for word in side] for side in words]
    matcher = difflib.SequenceMatcher(None, bare[0], bare[1], autojunk=False)
    common = sum(block.size for block in matcher.get_matching_blocks())
    # Of two texts that have little in common almost every word would be marked: nothing is, then.
    is_alike = common >= ALIKE * min(map(len, words))
    steps = matcher.get_opcodes() if is_alike else [("equal", 0, len(words[0]), 0, len(words[1]))]
    sides: tuple[list[Piece], list[Piece]] = ([], [])
    for kind, a, b, c, d in steps:
        for side, piece in zip(sides, ("".join(words[0][a:b]), "".join(words[1][c:d])), strict=True):
            if piece:
                side.append((piece, kind != "equal"))
    for side, text, shown in zip(sides, (earlier, now), words, strict=True):
        if len("".join(shown)) < len(labels.plain_lines(text or "")):
            side.append((" … (shortened)", False))
    return sides
