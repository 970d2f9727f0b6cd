"""Files to measure, the work on each of them, and the combination of the results, without any use of Ray."""

import socket
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from rollwise import schema
from rollwise.errors import MetricError, ReadError, RollwiseError, listing, message_of
from rollwise.estimation.merging import State, state_of, to_merge
from rollwise.files.manifests import Part, check_content, check_part, check_whole, manifest_of, parquet_in
from rollwise.files.object_stores import Options, address_of, joined, sizes
from rollwise.measurement.measure import measure
from rollwise.readers.scan import scan
from rollwise.readers.sources.paths import Paths, listed
from rollwise.schema.arguments import names_of
from rollwise.schema.named import columns_named

CONVERT = "`rollwise convert LOGS --out FOLDER` makes files of whole rollouts"
_FILE = "__rollwise_file"


@dataclass(frozen=True, slots=True)
class Item:
    """A file, and its entry in the manifest if there is one."""

    path: str
    part: Part | None

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class Work:
    """The work on each file: measure it and return ROLLOUTS or, with `state_columns`, their `State`.

    Errors are returned, not raised: a cluster would repeat a task that raises, and wrap its error.
    """

    metrics: tuple[pl.Expr, ...]
    keep: tuple[str, ...]
    columns: pl.Schema  # of the first file, and so of all
    hashed: bool
    options: Options | None
    state_columns: tuple[Sequence[str], Sequence[str]] | None = None  # counted by group, and kept as values

    def __call__(self, item: Item) -> pl.DataFrame | State | RollwiseError:
        """Return ROLLOUTS of a file or their state, or the error, which the caller raises."""
        try:
            return self._measured(item)
        except RollwiseError as error:
            return error if item.path in str(error) else type(error)(f"{item.path}: {error}")
        except OSError as error:
            return ReadError(
                f"{item.path}: cannot be read on {socket.gethostname()} ({error}); "
                "put it where every machine finds it under this path, or into an object store"
            )
        except Exception as error:  # noqa: BLE001  # from a user's function or from Polars
            return MetricError(f"{item.path}: cannot be measured ({type(error).__name__}: {_first_line(error)})")

    def _measured(self, item: Item) -> pl.DataFrame | State:
        if item.part is not None and self.hashed:
            check_content(item.path, item.part, self.options)
        turns = scan(item.path, storage_options=self.options)
        # Expressions were tried on the columns of the first file only.
        if turns.collect_schema() != self.columns:
            different = set(turns.collect_schema().items()) ^ set(self.columns.items())
            raise ReadError(
                f"{item.path}: has other columns than the first file ({listing({name for name, _ in different})}); {CONVERT}"
            )
        rollouts = per_partition(turns, self.metrics, self.keep)
        if item.part is not None:
            check_part(item.path, item.part, turns.select(pl.len()).collect().item(), rollouts["rollout_id"])
        return rollouts if self.state_columns is None else state_of(rollouts, *self.state_columns)

    def of_states(self, options: Mapping[str, Any]) -> "Work":
        """Return the work that makes states which `rollwise.summarize` can merge under these options."""
        wanted = ("by", "metrics", "cluster", "unjudged", "strata")
        columns = to_merge(self.dtypes, **{name: options[name] for name in wanted if name in options})
        return replace(self, state_columns=columns)

    @property
    def dtypes(self) -> pl.Schema:
        """The columns of ROLLOUTS in every file, without columns that are kept only where they are constant in a rollout."""
        return measure(pl.LazyFrame(schema=self.columns), *self.metrics, keep=self.keep).collect_schema()


def items_of(paths: Paths, options: Options | None) -> list[Item]:
    """Return all files, from the manifest of each folder that has one."""
    items: list[Item] = []
    for path in listed(paths, "distributed"):
        place = address_of(path) or str(path.absolute())  # absolute: a worker has another working directory
        if place.endswith(".parquet") and (address_of(path) or path.is_file()):
            items.append(Item(place, None))
            continue
        # A folder in an object store exists only by the names of its files, which are listed below.
        if address_of(path) is None and not path.is_dir():
            raise ReadError(f"{path}: is neither a folder nor a Parquet file; {CONVERT}")
        manifest = manifest_of(place, options)
        if manifest is not None:
            check_whole(place, manifest, options)
            items += [Item(joined(place, part.file), part) for part in manifest.files]
            continue
        names = parquet_in(place, options)
        if not names:
            raise ReadError(f"{path}: holds no Parquet; {CONVERT}")
        # Without a manifest nothing says which files belong to the data, so logs in other formats are an error, not a gap.
        others = sorted(_others(place, options))
        if others:
            raise ReadError(
                f"{path}: holds other files than Parquet, which would be left out ({listing(others)}); {CONVERT}"
            )
        items += [Item(joined(place, name), None) for name in names]
    # The same file twice would give each of its rollouts twice.
    most, count = Counter(item.path for item in items).most_common(1)[0]
    if count > 1:
        raise ReadError(f"{most}: is named {count} times; name each file once")
    return items


def _others(place: str, options: Options | None) -> Iterator[str]:
    """Yield files other than Parquet, without hidden ones and names with an underscore, which engines leave behind."""
    if address_of(place) is None:
        names = [file.relative_to(place).as_posix() for file in Path(place).rglob("*") if file.is_file()]
    else:
        names = [name for name in sizes(place, options) if not name.endswith("/")]  # a name that ends in / is a folder
    for name in names:
        if not name.endswith(".parquet") and not any(part.startswith((".", "_")) for part in name.split("/")):
            yield name


def prepare(
    paths: Paths,
    metrics: Mapping[str, pl.Expr],
    keep: str | Sequence[str] | None,
    *,
    also_keep: Iterable[str] = (),
    hashed: bool,
    options: Options | None,
) -> tuple[list[Item], Work]:
    """Return the files and the work on each, after a trial on the columns of the first, so that mistakes show at once."""
    items = items_of(paths, options)
    columns = scan(items[0].path, storage_options=options).collect_schema()
    always = {*schema.TURNS.required, *schema.ROLLOUTS.facts, *metrics}
    further = [name for name in also_keep if name in columns and name not in always]
    expressions = tuple(expression.alias(name) for name, expression in metrics.items())
    work = Work(expressions, tuple(dict.fromkeys([*names_of(keep or ()), *further])), columns, hashed, options)
    assert work.dtypes  # measures an empty table: a metric that does not fit the columns fails here
    return items, work


def per_partition(turns: pl.LazyFrame, metrics: Sequence[pl.Expr], keep: Sequence[str] = ()) -> pl.DataFrame:
    """Return ROLLOUTS of whole rollouts, as `rollwise.measure` returns them; only the columns that it needs are read."""
    roots = {root for metric in metrics for root in metric.meta.root_names()}
    facts = {"rollout_id", "turn", "succeeded", "node_id", *schema.ROLLOUTS.facts, *keep, *roots}
    # `measure` also keeps columns of words that are constant in each rollout, so all of them have to be read.
    words = (cs.string() | cs.categorical() | cs.enum() | cs.temporal()) - cs.by_name(
        schema.TURNS.names, require_all=False
    )
    needed = turns.select(cs.by_name(facts - {""}, require_all=False) | words)
    return measure(needed.collect(), *metrics, keep=keep)


def check_ranges(items: Sequence[Item]) -> None:
    """Refuse files with overlapping ranges of rollout ids, as far as manifests list them."""
    ranges = [(item.path, item.part) for item in items if item.part is not None]
    for (path, part), (next_path, following) in pairwise(sorted(ranges, key=lambda pair: pair[1].first)):
        if not part.last < following.first:
            raise ReadError(
                f"{next_path}: begins with rollout {following.first!r}, before {path} ends ({part.last!r}); merge=True needs files "
                "in order of their rollouts: `rollwise convert` without --partition-by makes them"
            )


def combined(items: Sequence[Item], frames: Mapping[int, pl.DataFrame]) -> pl.DataFrame:
    """Return ROLLOUTS of all files, sorted by `rollout_id`, with the columns that every file has.

    A column that is not constant within each rollout is missing from the ROLLOUTS of its file, and so from the result.
    """
    ordered = [frames[number] for number in range(len(items))]
    columns = [name for name in ordered[0].columns if all(name in frame.columns for frame in ordered)]
    numbered = [
        frame.select(*columns_named(columns), pl.lit(number).alias(_FILE)) for number, frame in enumerate(ordered)
    ]
    # A stable sort brings the copies of a rollout together, and the number of its file says where it came from.
    rollouts = pl.concat(numbered).sort("rollout_id", maintain_order=True)
    duplicates = rollouts.filter(pl.col("rollout_id") == pl.col("rollout_id").shift())
    if duplicates.height:
        name = duplicates[0, "rollout_id"]
        files = [items[number].path for number in rollouts.filter(pl.col("rollout_id") == name)[_FILE]]
        raise ReadError(
            f"rollout {name!r} is in {len(files)} files ({listing(files)}), and would be measured in pieces; {CONVERT}"
        )
    return rollouts.drop(_FILE)


def _first_line(error: Exception) -> str:
    return (message_of(error).strip().splitlines() or [""])[0][:300]
