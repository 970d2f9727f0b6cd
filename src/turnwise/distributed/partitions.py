"""What one task does and how results are put together; nothing here knows of an engine."""

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl
import polars.selectors as cs

from turnwise import schema
from turnwise.arguments import names_of
from turnwise.errors import MetricError, ReadError, TurnwiseError, listing
from turnwise.manifests import Part, check_content, check_part, check_whole, manifest_of, parquet_in
from turnwise.object_stores import Options, address_of, joined
from turnwise.readers.formats import Paths, listed, scan
from turnwise.rollouts import measure

CONVERT = "`turnwise convert LOGS --out FOLDER` makes files of whole rollouts"
_FILE = "__turnwise_file"


@dataclass(frozen=True, slots=True)
class Item:
    """A file, and what the manifest says of it."""

    path: str
    part: Part | None


@dataclass(frozen=True, slots=True)
class Work:
    """What is done with each file."""

    metrics: tuple[pl.Expr, ...]
    keep: tuple[str, ...]
    columns: pl.Schema  # of the first file, and so of all
    hashed: bool
    options: Options | None

    def __call__(self, item: Item) -> pl.DataFrame | TurnwiseError:
        """ROLLOUTS of a file; what went wrong is handed back, for whoever asked to raise."""
        try:
            return self._measured(item)
        except TurnwiseError as error:
            return error
        except OSError as error:
            return ReadError(
                f"{item.path}: cannot be read on {socket.gethostname()} ({error}); "
                "put it where every machine reaches it under this path, or into an object store"
            )
        except Exception as error:  # noqa: BLE001  # a function of the user's, or the engine
            return MetricError(f"{item.path}: cannot be measured ({type(error).__name__}: {_first_line(error)})")

    def _measured(self, item: Item) -> pl.DataFrame:
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
            check_part(item.path, item.part, turns.select(pl.len()).collect().item(), rollouts.height)
        return rollouts


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
        items += [Item(joined(place, name), None) for name in found]
    twice = [item.path for item in items if sum(other.path == item.path for other in items) > 1]
    if twice:
        raise ReadError(f"{twice[0]}: is named twice; name each file once")
    return items


def work_of(
    items: Sequence[Item],
    metrics: Mapping[str, pl.Expr],
    keep: str | Sequence[str] | None,
    *,
    hashed: bool,
    options: Options | None,
) -> Work:
    """What is to be done, tried on the columns of the first file, so that a metric that cannot be measured is told at once.

    Raises
    ------
    MetricError, SchemaError
        As in `turnwise.measure`.
    """
    turns = scan(items[0].path, storage_options=options)
    named = tuple(expression.alias(name) for name, expression in metrics.items())
    measure(turns, *named, keep=keep)
    return Work(named, names_of(keep or ()), turns.collect_schema(), hashed, options)


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
    with pl.Config(engine_affinity="in-memory"):  # adds in one order, whatever the file and however many threads
        return measure(needed.collect(), *metrics, keep=keep)


def whole(parts: Mapping[str, pl.DataFrame | None]) -> pl.DataFrame:
    """ROLLOUTS of all files in order of `rollout_id`; a column that varies within rollouts of one file is left out.

    Raises
    ------
    ReadError
        Where nothing came back of a file, or a rollout stands in two.

    Examples
    --------
    >>> parts = {"b.parquet": pl.DataFrame({"rollout_id": ["b"]}), "a.parquet": pl.DataFrame({"rollout_id": ["a"]})}
    >>> whole(parts)["rollout_id"].to_list()
    ['a', 'b']
    """
    lost = [path for path, frame in parts.items() if frame is None]
    if lost:
        raise ReadError(f"{listing(lost)}: no result came back from the cluster, which says no more; run it again")
    frames = [frame for frame in parts.values() if frame is not None]
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
