"""The work of one task and how results are merged, independent of the engine."""

import socket
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from turnwise import schema
from turnwise.errors import MetricError, ReadError, TurnwiseError, listing
from turnwise.estimation.merging import State, state_of
from turnwise.estimation.summary import to_merge
from turnwise.files.manifests import Part, check_content, check_part, check_whole, manifest_of, parquet_in
from turnwise.files.object_stores import Options, address_of, joined, sizes
from turnwise.measurement.measure import measure
from turnwise.readers.read import scan
from turnwise.readers.sources.paths import Paths, listed
from turnwise.schema.arguments import names_of

CONVERT = "`turnwise convert LOGS --out FOLDER` makes files of whole rollouts"
_FILE = "__turnwise_file"


@dataclass(frozen=True, slots=True)
class Item:
    """A file, and what the manifest says of it."""

    path: str
    part: Part | None

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class Work:
    """Work to do with each file.

    `counted` and `kept` are the columns of a `State`, None for ROLLOUTS themselves.
    """

    metrics: tuple[pl.Expr, ...]
    keep: tuple[str, ...]
    columns: pl.Schema  # of the first file, and so of all
    hashed: bool
    options: Options | None
    counted: Sequence[str] | None = None
    kept: Sequence[str] | None = None

    def __call__(self, item: Item) -> pl.DataFrame | State | TurnwiseError:
        """ROLLOUTS of a file, or their state; what went wrong is handed back, for whoever asked to raise."""
        try:
            return self._measured(item)
        except TurnwiseError as error:
            return error if item.path in str(error) else type(error)(f"{item.path}: {error}")
        except OSError as error:
            return ReadError(
                f"{item.path}: cannot be read on {socket.gethostname()} ({error}); "
                "put it where every machine reaches it under this path, or into an object store"
            )
        except Exception as error:  # noqa: BLE001  # a function of the user's, or the engine
            return MetricError(f"{item.path}: cannot be measured ({type(error).__name__}: {_first_line(error)})")

    def _measured(self, item: Item) -> pl.DataFrame | State:
        if item.part is not None and self.hashed:
            check_content(item.path, item.part, self.options)
        turns = scan(item.path, storage_options=self.options)
        if turns.collect_schema() != self.columns:
            odd = set(turns.collect_schema().items()) ^ set(self.columns.items())
            raise ReadError(
                f"{item.path}: has other columns than the first file ({listing({name for name, _ in odd})}); {CONVERT}"
            )
        rollouts = per_partition(turns, self.metrics, self.keep)
        if item.part is not None:
            check_part(item.path, item.part, turns.select(pl.len()).collect().item(), rollouts["rollout_id"])
        if self.counted is None or self.kept is None:
            return rollouts
        return state_of(rollouts, self.counted, self.kept)

    def of_states(self, options: Mapping[str, Any]) -> "Work":
        """Merge states into the result of `turnwise.summarize` with these options."""
        wanted = ("by", "metrics", "cluster", "undecided", "strata")
        counted, kept = to_merge(self.dtypes, **{name: options[name] for name in wanted if name in options})
        return replace(self, counted=counted, kept=kept)

    @property
    def dtypes(self) -> pl.Schema:
        """The columns of ROLLOUTS that are there for certain: not those that come along where they are constant."""
        return measure(pl.LazyFrame(schema=self.columns), *self.metrics, keep=self.keep).collect_schema()


def items_of(paths: Paths, options: Options | None) -> list[Item]:
    """All files, by the manifest of each folder where it has one.

    Raises
    ------
    ReadError
        Where a folder is not what its manifest says, holds no Parquet, or a file is no Parquet or not there.
    """
    items: list[Item] = []
    for path in listed(paths, "distributed"):
        place = address_of(path) or str(path.absolute())  # a worker has a working folder of its own
        if place.endswith(".parquet") and (address_of(path) or path.is_file()):
            items.append(Item(place, None))
            continue
        if address_of(path) is None and not path.is_dir():
            raise ReadError(f"{path}: is no folder and no Parquet file; {CONVERT}")
        manifest = manifest_of(place, options)
        if manifest is not None:
            check_whole(place, manifest, options)
            items += [Item(joined(place, part.file), part) for part in manifest.files]
            continue
        found = parquet_in(place, options)
        if not found:
            raise ReadError(f"{path}: holds no Parquet; {CONVERT}")
        left = sorted(_others(place, options))
        if left:
            raise ReadError(f"{path}: holds what would be left out ({listing(left)} is no Parquet); {CONVERT}")
        items += [Item(joined(place, name), None) for name in found]
    most, times = Counter(item.path for item in items).most_common(1)[0]
    if times > 1:
        raise ReadError(f"{most}: is named {times} times; name each file once")
    return items


def _others(place: str, options: Options | None) -> Iterator[str]:
    """Files that are no Parquet, but for hidden ones and those that begin with an underscore, as engines leave them."""
    if address_of(place) is None:
        names = [file.relative_to(place).as_posix() for file in Path(place).rglob("*") if file.is_file()]
    else:
        names = [name for name in sizes(place, options) if not name.endswith("/")]  # which stands for a folder
    for name in names:
        if not name.endswith(".parquet") and not any(part.startswith((".", "_")) for part in name.split("/")):
            yield name


def prepared(
    paths: Paths,
    metrics: Mapping[str, pl.Expr],
    keep: str | Sequence[str] | None,
    *,
    beside: Iterable[str] = (),
    hashed: bool,
    options: Options | None,
) -> tuple[list[Item], Work]:
    """The files, and what is to be done with each: tried on the columns of the first, so that mistakes are told at once.

    Parameters
    ----------
    beside
        Further names that are kept where they are columns of the turns and would not come along by themselves.

    Raises
    ------
    ReadError
        Where a folder is not what its manifest says, or a file cannot be read.
    MetricError, SchemaError
        As in `turnwise.measure`.
    """
    items = items_of(paths, options)
    columns = scan(items[0].path, storage_options=options).collect_schema()
    own = {*schema.TURNS.required, *schema.ROLLOUTS.facts, *metrics}
    kept = dict.fromkeys([*names_of(keep or ()), *(name for name in beside if name in columns and name not in own)])
    named = tuple(expression.alias(name) for name, expression in metrics.items())
    work = Work(named, tuple(kept), columns, hashed, options)
    assert work.dtypes
    return items, work


def per_partition(turns: pl.LazyFrame, metrics: Sequence[pl.Expr], keep: Sequence[str] = ()) -> pl.DataFrame:
    """ROLLOUTS of some whole rollouts, as `turnwise.measure` gives them of a frame; only the columns that it needs are read.

    Examples
    --------
    >>> from turnwise import metrics as m
    >>> turns = pl.LazyFrame({"rollout_id": ["a", "a"], "turn": [1, 2], "succeeded": [False, True], "note": ["x", "x"]})
    >>> per_partition(turns, [m.attack_success()]).select("rollout_id", "note", "attack_success").rows()
    [('a', 'x', True)]
    """
    roots = {root for metric in metrics for root in metric.meta.root_names()}
    facts = {"rollout_id", "turn", "succeeded", "node_id", *schema.ROLLOUTS.facts, *keep, *roots}
    words = (cs.string() | cs.categorical() | cs.enum() | cs.temporal()) - cs.by_name(
        schema.TURNS.names, require_all=False
    )
    needed = turns.select(cs.by_name(facts - {""}, require_all=False) | words)
    return measure(needed.collect(), *metrics, keep=keep)


def check_ranges(items: Sequence[Item]) -> None:
    """Refuse files of which one reaches into the ids of another, as far as a manifest says.

    Examples
    --------
    >>> check_ranges([Item(name, Part(f"{name}.parquet", 9, 3, *ids, 0, "")) for name, *ids in ("xac", "yci")])
    Traceback (most recent call last):
    turnwise.errors.ReadError: y: begins with rollout 'c', before x ends ('c'); ...
    """
    known = [(item.path, item.part) for item in items if item.part is not None]
    for (path, part), (other, following) in pairwise(sorted(known, key=lambda pair: pair[1].first)):
        if not part.last < following.first:
            raise ReadError(
                f"{other}: begins with rollout {following.first!r}, before {path} ends ({part.last!r}); merge=True needs files "
                "in order of their rollouts: `turnwise convert` without --partition-by makes them"
            )


def whole(parts: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """ROLLOUTS of all files in order of `rollout_id`; a column that varies within rollouts of one file is left out.

    Raises
    ------
    ReadError
        Where a rollout stands in two files.

    Examples
    --------
    >>> parts = {"b.parquet": pl.DataFrame({"rollout_id": ["b"]}), "a.parquet": pl.DataFrame({"rollout_id": ["a"]})}
    >>> whole(parts)["rollout_id"].to_list()
    ['a', 'b']
    """
    frames = list(parts.values())
    columns = [name for name in frames[0].columns if all(name in frame.columns for frame in frames)]
    numbered = [frame.select(*columns, pl.lit(number).alias(_FILE)) for number, frame in enumerate(frames)]
    rollouts = pl.concat(numbered).sort("rollout_id", maintain_order=True)
    twice = rollouts.filter(pl.col("rollout_id") == pl.col("rollout_id").shift())
    if twice.height:
        name = twice[0, "rollout_id"]
        where = [list(parts)[number] for number in rollouts.filter(pl.col("rollout_id") == name)[_FILE]]
        raise ReadError(
            f"rollout {name!r} stands in {len(where)} files ({listing(where)}), and so would be measured in pieces; {CONVERT}"
        )
    return rollouts.drop(_FILE)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [""])[0][:300]
