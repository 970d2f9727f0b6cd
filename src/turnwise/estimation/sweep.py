"""Choices of parameters -> a frame of configurations, which evaluations and rollouts run over."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from turnwise.errors import ArgumentError, counted, writable
from turnwise.estimation.clusters import generator
from turnwise.schema.arguments import whole_numbers

Configuration: TypeAlias = dict[str, Any]
Listed: TypeAlias = Sequence[Mapping[str, Any]]
Space: TypeAlias = Mapping[str, Any] | Listed | Callable[[Configuration], Mapping[str, Any] | Listed]
ID = "configuration"
MOST = 100_000  # configurations of a grid
TRIES = 1000  # draws in a row that give nothing new


class _EndlessError(ArgumentError):
    """A distribution stands where every value is asked for."""


def sweep(
    *spaces: Space, strategy: Literal["grid", "random"] = "grid", n: int | None = None, seed: int = 0
) -> pl.DataFrame:
    """A frame of configurations: `configuration` as the id of each, and a column per parameter in order of appearance.

    Parameters
    ----------
    *spaces
        What there is to choose; several are combined, each with each.

        - A mapping of parameters to lists of values, or to one value. Mappings in it are names within names, with a dot
          between: ``{"llm": {"temperature": [0, 1]}}`` is ``{"llm.temperature": [0, 1]}``, which is what ``override=`` takes;
          of texts it takes the `json.dumps`, so that none is read as YAML.
        - A list of configurations as dicts, whose parameters change together.
        - A function of the configuration so far (a dict by dotted names), instead of such a mapping, also one within another,
          list or parameter's values; one that gives ``[]`` leaves that configuration out.

        With ``strategy="random"`` a distribution of SciPy (whatever has `rvs`) may stand for the values of a parameter.
    strategy
        ``"grid"``: every combination, the last parameter changing fastest. ``"random"``: `n` of them, all different: a sample
        of the grid without replacement where it has up to 100,000 rows, else drawn parameter by parameter.
    n
        How many to draw.
    seed
        Of the draws.

    Returns
    -------
    polars.DataFrame
        None stands for a parameter that is left as it is, and null is where a configuration does not have one: both are the
        reference of `plots.sweep`. The same configuration twice is one row. An id is eight digits of the MD5 of the
        sorted JSON of the values as they are given, without None, as AISteer360 calls its configurations (`config_id` of
        `tw.read`), more where two would be the same; it says nothing of model and data.

    Raises
    ------
    ArgumentError
        Where a space is none of these, a parameter has no values or values of several kinds, or there are fewer than `n`.

    Examples
    --------
    >>> sweep({"width": [2, 4], "depth": lambda so_far: range(1, so_far["width"])}).rows()
    [('466549fb', 2, 1), ('02e2028f', 4, 1), ('07574a6c', 4, 2), ('91f947f1', 4, 3)]

    Every configuration is an evaluation with a folder of its own, and its results are joined by configuration:

    >>> import tempfile
    >>> from pathlib import Path
    >>> import turnwise as tw
    >>> folder = Path(tempfile.mkdtemp())
    >>> entry = {"id": 1, "question": "Who?", "answer": "Ada Lovelace", "generated_answer": "Ada Love"}
    >>> _ = (folder / "data.json").write_text(
    ...     json.dumps([entry, {**entry, "id": 2, "generated_answer": "Ada Lovelace"}])
    ... )
    >>> scorers = {"likeness": {"_type": "similarity"}, "match": {"_type": "exact_match"}}
    >>> asked = {"eval": {"general": {"dataset": {"file_path": str(folder / "data.json")}}, "evaluators": scorers}}
    >>> _ = (folder / "eval.yml").write_text(json.dumps(asked))
    >>> configurations = sweep({"eval.evaluators.likeness": {"similarity_type": ["jaccard", "levenshtein"]}})
    >>> def run(configuration, **parameters):
    ...     given = {name: value for name, value in parameters.items() if value is not None}
    ...     given["eval.general.output_dir"] = str(folder / configuration)
    ...     made = tw.evaluate(folder / "eval.yml", override=given, skip_workflow=True)
    ...     return made.summary.with_columns(configuration=pl.lit(configuration))
    >>> results = pl.concat([run(**row) for row in configurations.iter_rows(named=True)])
    >>> results = results.join(configurations, on="configuration")
    >>> choice = "eval.evaluators.likeness.similarity_type"
    >>> plot = tw.plots.sweep(results.drop("configuration"), of=choice, metric="likeness", statistic="mean")
    >>> rates = results.filter(statistic="mean").pivot("metric", index=["configuration", choice], values="estimate")
    >>> tw.pareto(rates, {"likeness": "higher", "match": "higher"}).select(choice, "match", "pareto").rows()
    [('jaccard', 0.5, False), ('levenshtein', 0.5, True)]
    """
    if strategy not in ("grid", "random"):
        raise ArgumentError(f"sweep: strategy={strategy!r} is neither grid nor random; give one of them")
    if (n is None) == (strategy == "random"):
        raise ArgumentError(
            "sweep: strategy='random' needs n, how many to draw"
            if n is None
            else f"sweep: n={n!r} is for strategy='random'; a grid has all of them"
        )
    if n is None:
        grid = _whole(spaces)
        if grid is None:
            raise ArgumentError(
                f"sweep: the grid has more than {MOST:,} configurations; draw some: strategy='random', n=100"
            )
        return _frame(grid)
    (most,) = whole_numbers(n, "sweep: n", "configurations")
    return _frame(_sampled(spaces, most, generator(seed, [])))


def _whole(spaces: Sequence[Any]) -> list[Configuration] | None:
    """Every configuration once; None where there are more than `MOST`."""
    found = list(islice(_each(spaces, {}), MOST + 1))
    return None if len(found) > MOST else list(_different(found).values())


def _different(configurations: Iterable[Configuration]) -> dict[str, Configuration]:
    """The first of those that are the same, by what makes them so."""
    found: dict[str, Configuration] = {}
    for each in configurations:
        found.setdefault(_key(each), each)
    return found


def _sampled(spaces: Sequence[Any], n: int, rng: np.random.Generator) -> list[Configuration]:
    """So many different ones."""
    try:
        grid = _whole(spaces)
    except _EndlessError:
        grid = None
    if grid is not None:
        if n > len(grid):
            raise ArgumentError(f"sweep: n={n} of {counted(len(grid), 'configuration')}; ask for no more")
        return [grid[row] for row in rng.choice(len(grid), n, replace=False)]
    found: dict[str, Configuration] = {}
    missed = 0
    while len(found) < n:
        before = len(found)
        for each in _each(spaces, {}, rng):
            found.setdefault(_key(each), each)
        missed = 0 if len(found) > before else missed + 1
        if missed == TRIES:
            raise ArgumentError(
                f"sweep: n={n}, and {TRIES} draws in a row gave no more than {len(found)}; ask for fewer"
            )
    return list(found.values())


def _each(
    spaces: Sequence[Any], so_far: Configuration, rng: np.random.Generator | None = None
) -> Iterator[Configuration]:
    """Every configuration, the first space changing slowest; with `rng` one that is drawn."""
    if not spaces:
        yield so_far
        return
    first, *rest = spaces
    for each in _of_space(first, so_far, rng):
        yield from _each(rest, each, rng)


def _of_space(space: Any, so_far: Configuration, rng: np.random.Generator | None) -> Iterator[Configuration]:
    is_asked = callable(space)
    given = space(dict(so_far)) if is_asked else space
    if isinstance(given, Mapping):
        yield from _of_choices([*_choices(given)], so_far, rng)
        return
    if not isinstance(given, Sequence) or not all(isinstance(each, Mapping) for each in given):
        told = f"{given!r:.60}"
        shown = told if "\n" not in told else f"a {type(given).__name__}"  # a frame is drawn over many lines
        raise ArgumentError(f"sweep: {shown} is no space; give a mapping of names to lists, or a list of dicts")
    if not given and not is_asked:
        raise ArgumentError(
            "sweep: an empty list has no configurations; give at least one, {} for none of the parameters"
        )
    for each in _drawn(given, rng):
        yield _with(so_far, _flat(each))


def _of_choices(
    choices: Sequence[tuple[str, Any]], so_far: Configuration, rng: np.random.Generator | None
) -> Iterator[Configuration]:
    if not choices:
        yield so_far
        return
    (name, given), *rest = choices
    is_asked = callable(given) and not hasattr(given, "rvs")
    found = given(dict(so_far)) if is_asked else given
    if isinstance(found, Mapping):
        yield from _of_choices([*_choices(found, f"{name}."), *rest], so_far, rng)
        return
    for value in _values(name, found, rng, may_be_none=is_asked):
        yield from _of_choices(rest, _with(so_far, _flat({name: value})), rng)


def _choices(space: Mapping[Any, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    """Names with what there is to choose from, those of mappings in mappings with a dot between."""
    for name, given in space.items():
        if isinstance(given, Mapping):
            yield from _choices(given, f"{_named(name, within)}.")
        else:
            yield _named(name, within), given


def _values(name: str, given: Any, rng: np.random.Generator | None, *, may_be_none: bool) -> Sequence[Any]:
    """The values of a parameter, one of them where it is drawn."""
    if hasattr(given, "rvs"):
        if rng is None:
            raise _EndlessError(
                f"sweep: `{name}` is a distribution, which no grid holds; draw: strategy='random', n=100"
            )
        return [given.rvs(random_state=rng)]
    listed = _listed(name, given)
    if not listed and not may_be_none:
        raise ArgumentError(f"sweep: `{name}` has no values; give at least one, or leave it out")
    return _drawn(listed, rng)


def _listed(name: str, given: Any) -> Sequence[Any]:
    given = given.to_list() if hasattr(given, "to_list") else given.tolist() if hasattr(given, "tolist") else given
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        return [given]
    if not isinstance(given, Sequence):
        raise ArgumentError(f"sweep: `{name}` is a {type(given).__name__}, whose order may change; give a list")
    try:
        len(given)
    except OverflowError as error:  # of a range
        raise ArgumentError(f"sweep: `{name}` has more values than can be counted; give fewer") from error
    return given


def _drawn(given: Sequence[Any], rng: np.random.Generator | None) -> Sequence[Any]:
    return given if rng is None or not given else [given[int(rng.integers(len(given)))]]


def _with(so_far: Configuration, more: Configuration) -> Configuration:
    for name in more:
        if name in so_far:
            raise ArgumentError(f"sweep: `{name}` is chosen twice; name each parameter in one space")
    return so_far | more


def _flat(given: Mapping[Any, Any], within: str = "") -> Configuration:
    """A configuration by dotted names; None is left out.

    Examples
    --------
    >>> _flat({"llm": {"temperature": 0.5, "top_p": None}, "width": (1, 2)})
    {'llm.temperature': 0.5, 'width': [1, 2]}
    """
    found: Configuration = {}
    for name, value in given.items():
        called = _named(name, within)
        if isinstance(value, Mapping):
            found = _with(found, _flat(value, f"{called}."))
        elif value is not None:
            found = _with(found, {called: _plain(called, value)})
    return found


def _named(name: Any, within: str) -> str:
    if not isinstance(name, str) or not name or within + name == ID or name != writable(name):
        raise ArgumentError(f"sweep: {name!r:.40} is no name of a parameter; give a text other than {ID!r}")
    return within + name


def _plain(name: str, value: Any) -> Any:
    """The value as JSON holds it."""
    try:
        return json.loads(
            json.dumps(value, default=lambda given: given.tolist(), allow_nan=False, ensure_ascii=False).encode()
        )
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ArgumentError(
            f"sweep: `{name}` has a value {value!r:.60}; values are texts, finite numbers, Booleans, and lists of these"
        ) from error


def _key(configuration: Configuration) -> str:
    """Return one key for equal configurations: 1.0 equals 1."""
    return json.dumps({name: _even(value, to=_whole_as_int) for name, value in configuration.items()}, sort_keys=True)


def _even(value: Any, *, to: Callable[[Any], Any]) -> Any:
    """The value, each number in it made what it is to be."""
    if isinstance(value, list):
        return [_even(each, to=to) for each in value]
    return to(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _whole_as_int(number: float) -> float:
    return int(number) if number == int(number) else number


def _ids(configurations: Sequence[Configuration]) -> list[str]:
    digests = [
        hashlib.md5(json.dumps(_nested(each), sort_keys=True).encode(), usedforsecurity=False).hexdigest()
        for each in configurations
    ]
    for digits in (8, 16, 32):
        short = [digest[:digits] for digest in digests]
        if len({*short}) == len(short):
            break
    return short


def _nested(configuration: Configuration) -> dict[str, Any]:
    """Blocks in blocks, as files hold them.

    Examples
    --------
    >>> _nested({"llm.temperature": 0.5, "llm.top_p": 1})
    {'llm': {'temperature': 0.5, 'top_p': 1}}
    """
    made: dict[str, Any] = {}
    for name, value in configuration.items():
        *blocks, last = name.split(".")
        block = made
        for each in blocks:
            block = block.setdefault(each, {})
            if not isinstance(block, dict):
                raise ArgumentError(f"sweep: `{name}` stands in `{each}`, which has a value itself; choose one of them")
        if last in block:
            raise ArgumentError(f"sweep: `{name}` has a value, and parameters within; choose one of them")
        block[last] = value
    return made


def _frame(configurations: Sequence[Configuration]) -> pl.DataFrame:
    if not configurations:
        raise ArgumentError("sweep: the functions leave no configuration; let one of them give a value")
    names = dict.fromkeys(name for each in configurations for name in each)
    columns = [_column(name, [each.get(name) for each in configurations]) for name in names]
    return pl.DataFrame([pl.Series(ID, _ids(configurations), dtype=pl.String), *columns])


def _column(name: str, values: list[Any]) -> pl.Series:
    """The values as they are, whole numbers among others as such; JSON tells True from 1, as Polars does not."""
    for to in (None, float):
        try:
            given = values if to is None else [_even(value, to=to) for value in values]
            column = pl.Series(name, given)
        except (TypeError, OverflowError, pl.exceptions.PolarsError):
            continue
        if json.dumps(column.to_list()) == json.dumps(given) and given == values:
            return column
    raise ArgumentError(f"sweep: `{name}` has values of several kinds, such as {values[0]!r:.40}; give one kind")
