"""Spaces of parameters -> a frame of configurations to evaluate or roll out."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rollwise.errors import ArgumentError, counted, writable
from rollwise.estimation.clusters import generator
from rollwise.schema.arguments import whole_numbers
from rollwise.schema.option_types import check_option_types

Configuration: TypeAlias = dict[str, Any]
Listed: TypeAlias = Sequence[Mapping[str, Any]]
Space: TypeAlias = Mapping[str, Any] | Listed | Callable[[Configuration], Mapping[str, Any] | Listed]
ID = "configuration"
MOST_CONFIGURATIONS = 100_000  # configurations of a grid
MOST_FAILED_DRAWS = 1000  # draws in a row that give nothing new


class _EndlessError(ArgumentError):
    """A grid contains a distribution, which has no list of values."""


def sweep(
    *spaces: Space, strategy: Literal["grid", "random"] = "grid", n: int | None = None, seed: int = 0
) -> pl.DataFrame:
    """Build a frame of configurations: the id `configuration`, and a column per parameter in order of appearance.

    Parameters
    ----------
    *spaces
        Spaces of parameters; several are combined, each configuration of one with each of the others.

        - A mapping of parameters to lists of values, or to one value. Nested mappings give nested names, joined by dots:
          ``{"llm": {"temperature": [0, 1]}}`` is ``{"llm.temperature": [0, 1]}``. `override=` takes these names; for texts
          pass the result of `json.dumps`, so that none is read as YAML.
        - A list of configurations as dicts, whose parameters change together.
        - A function of the configuration so far (a dict by dotted names) that returns such a mapping; also within another
          mapping or list, or in place of a parameter's values. A function that returns ``[]`` excludes that configuration.

        With ``strategy="random"`` a parameter may have a SciPy distribution (any object with `rvs`) in place of values.
    strategy
        ``"grid"``: every combination, the last parameter changing fastest. ``"random"``: `n` distinct ones: a sample of the
        grid without replacement if it has up to 100,000 rows, else drawn parameter by parameter.
    n
        Number of configurations to draw.
    seed
        Seed of the draws.

    Returns
    -------
    polars.DataFrame
        None is a parameter left unchanged, and null a parameter that the configuration does not have; both are the reference
        of `plots.sweep`. Equal configurations form one row. An id is eight digits of the MD5 of the sorted JSON of the
        values, without None, as AISteer360 names its configurations (`config_id` of `rw.read`), or more digits if two would be
        equal. It names the parameters alone; `configuration_id` of what `evaluate` returns depends on data and code too.

    Raises
    ------
    ArgumentError
        If a space has another type, a parameter has no values or values of several kinds, or fewer than `n` exist.

    Examples
    --------
    >>> sweep({"width": [2, 4], "depth": lambda so_far: range(1, so_far["width"])}).rows()
    [('466549fb', 2, 1), ('02e2028f', 4, 1), ('07574a6c', 4, 2), ('91f947f1', 4, 3)]

    Every configuration is an evaluation with a folder of its own, and its results are joined by configuration:

    >>> import tempfile
    >>> from pathlib import Path
    >>> import rollwise as rw
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
    ...     made = rw.evaluate(folder / "eval.yml", override=given, skip_workflow=True)
    ...     return made.summary.with_columns(configuration=pl.lit(configuration))
    >>> results = pl.concat([run(**row) for row in configurations.iter_rows(named=True)])
    >>> results = results.join(configurations, on="configuration")
    >>> choice = "eval.evaluators.likeness.similarity_type"
    >>> plot = rw.plots.sweep(results.drop("configuration"), choice=choice, metric="likeness", statistic="mean")
    >>> rates = results.filter(statistic="mean").pivot("metric", index=["configuration", choice], values="estimate")
    >>> rw.comparisons.pareto(rates, {"likeness": "higher", "match": "higher"}).select(choice, "match", "pareto").rows()
    [('jaccard', 0.5, False), ('levenshtein', 0.5, True)]
    """
    check_option_types(sweep, locals())
    if strategy not in ("grid", "random"):
        raise ArgumentError(f"sweep: strategy={strategy!r} is neither grid nor random; give one of them")
    if (n is None) == (strategy == "random"):
        raise ArgumentError(
            "sweep: strategy='random' needs n, how many to draw"
            if n is None
            else f"sweep: n={n!r} is for strategy='random'; a grid has all of them"
        )
    if n is None:
        grid = _full_grid(spaces)
        if grid is None:
            raise ArgumentError(
                f"sweep: the grid has more than {MOST_CONFIGURATIONS:,} configurations; draw some: strategy='random', n=100"
            )
        return _frame(grid)
    (number,) = whole_numbers(n, "sweep: n", "configurations")
    return _frame(_random_sample(spaces, number, generator(seed, [])))


def _full_grid(spaces: Sequence[Any]) -> list[Configuration] | None:
    """Return every distinct configuration; None if there are more than `MOST_CONFIGURATIONS`."""
    # One more than allowed is enough to know that the grid is too large.
    configurations = list(islice(_combinations(spaces, {}), MOST_CONFIGURATIONS + 1))
    return None if len(configurations) > MOST_CONFIGURATIONS else list(_distinct(configurations).values())


def _distinct(configurations: Iterable[Configuration]) -> dict[str, Configuration]:
    """Return distinct configurations by their keys, the first of equal ones."""
    distinct: dict[str, Configuration] = {}
    for configuration in configurations:
        distinct.setdefault(_key(configuration), configuration)
    return distinct


def _random_sample(spaces: Sequence[Any], n: int, rng: np.random.Generator) -> list[Configuration]:
    """Draw n distinct configurations."""
    try:
        grid = _full_grid(spaces)
    except _EndlessError:
        grid = None
    if grid is not None:
        if n > len(grid):
            raise ArgumentError(f"sweep: n={n} of {counted(len(grid), 'configuration')}; ask for no more")
        return [grid[row] for row in rng.choice(len(grid), n, replace=False)]
    distinct: dict[str, Configuration] = {}
    failures = 0
    # Draw until there are enough distinct configurations, or many draws in a row were repetitions.
    while len(distinct) < n:
        before = len(distinct)
        # A draw yields at most one configuration: none if a function excludes it.
        for configuration in _combinations(spaces, {}, rng):
            distinct.setdefault(_key(configuration), configuration)
        failures = 0 if len(distinct) > before else failures + 1
        if failures == MOST_FAILED_DRAWS:
            raise ArgumentError(
                f"sweep: n={n}, and {MOST_FAILED_DRAWS} draws in a row gave no more than {len(distinct)}; ask for fewer"
            )
    return list(distinct.values())


def _combinations(
    spaces: Sequence[Any], so_far: Configuration, rng: np.random.Generator | None = None
) -> Iterator[Configuration]:
    """Yield every configuration, the first space changing slowest; with `rng`, only one, drawn at random."""
    if not spaces:
        yield so_far
        return
    # Extend the configuration by the first space, then each result by the remaining spaces.
    first, *others = spaces
    for configuration in _extend_by_space(first, so_far, rng):
        yield from _combinations(others, configuration, rng)


def _extend_by_space(space: Any, so_far: Configuration, rng: np.random.Generator | None) -> Iterator[Configuration]:
    is_function = callable(space)
    choices = space(dict(so_far)) if is_function else space
    if isinstance(choices, Mapping):
        yield from _extend_by_choices([*_parameters(choices)], so_far, rng)
        return
    if not isinstance(choices, Sequence) or not all(isinstance(configuration, Mapping) for configuration in choices):
        text = f"{choices!r:.60}"
        text_or_type = text if "\n" not in text else f"a {type(choices).__name__}"  # the repr of a frame has many lines
        raise ArgumentError(
            f"sweep: {text_or_type} is not a space; give a mapping of names to lists, or a list of dicts"
        )
    if not choices and not is_function:
        raise ArgumentError(
            "sweep: an empty list has no configurations; give at least one, {} for none of the parameters"
        )
    for configuration in _one_of(choices, rng):
        yield _joined(so_far, _flat(configuration))


def _extend_by_choices(
    choices: Sequence[tuple[str, Any]], so_far: Configuration, rng: np.random.Generator | None
) -> Iterator[Configuration]:
    if not choices:
        yield so_far
        return
    (name, choice), *others = choices
    # A frozen SciPy distribution is callable too, but its values are drawn.
    is_function = callable(choice) and not hasattr(choice, "rvs")
    values = choice(dict(so_far)) if is_function else choice
    if isinstance(values, Mapping):
        yield from _extend_by_choices([*_parameters(values, f"{name}."), *others], so_far, rng)
        return
    for value in _values_of(name, values, rng, may_be_empty=is_function):
        yield from _extend_by_choices(others, _joined(so_far, _flat({name: value})), rng)


def _parameters(space: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the full name of each parameter with its values, names of nested mappings joined by dots."""
    for name, values in space.items():
        if isinstance(values, Mapping):
            yield from _parameters(values, f"{_full_name(name, prefix)}.")
        else:
            yield _full_name(name, prefix), values


def _values_of(name: str, choice: Any, rng: np.random.Generator | None, *, may_be_empty: bool) -> Sequence[Any]:
    """Return the values of a parameter; with `rng`, only one, drawn at random."""
    if hasattr(choice, "rvs"):
        if rng is None:
            raise _EndlessError(
                f"sweep: `{name}` is a distribution, which a grid cannot list; draw with strategy='random', n=100"
            )
        return [choice.rvs(random_state=rng)]
    values = _as_sequence(name, choice)
    if not values and not may_be_empty:
        raise ArgumentError(f"sweep: `{name}` has no values; give at least one, or leave it out")
    return _one_of(values, rng)


def _as_sequence(name: str, choice: Any) -> Sequence[Any]:
    choice = (
        choice.to_list() if hasattr(choice, "to_list") else choice.tolist() if hasattr(choice, "tolist") else choice
    )
    if isinstance(choice, str | bytes | Mapping) or not isinstance(choice, Iterable):
        return [choice]
    if not isinstance(choice, Sequence):
        raise ArgumentError(f"sweep: `{name}` is a {type(choice).__name__}, whose order may change; give a list")
    try:
        len(choice)
    except OverflowError as error:  # of a range
        raise ArgumentError(f"sweep: `{name}` has more values than can be counted; give fewer") from error
    return choice


def _one_of(values: Sequence[Any], rng: np.random.Generator | None) -> Sequence[Any]:
    return values if rng is None or not values else [values[int(rng.integers(len(values)))]]


def _joined(so_far: Configuration, more: Configuration) -> Configuration:
    for name in more:
        if name in so_far:
            raise ArgumentError(f"sweep: `{name}` is chosen twice; name each parameter in one space")
    return so_far | more


def _flat(mapping: Mapping[Any, Any], prefix: str = "") -> Configuration:
    """Flatten a configuration to dotted names, without None."""
    configuration: Configuration = {}
    for name, value in mapping.items():
        full_name = _full_name(name, prefix)
        if isinstance(value, Mapping):
            configuration = _joined(configuration, _flat(value, f"{full_name}."))
        elif value is not None:
            configuration = _joined(configuration, {full_name: _as_json(full_name, value)})
    return configuration


def _full_name(name: Any, prefix: str) -> str:
    if not isinstance(name, str) or not name or prefix + name == ID or name != writable(name):
        raise ArgumentError(f"sweep: {name!r:.40} is not the name of a parameter; give a text other than {ID!r}")
    return prefix + name


def _as_json(name: str, value: Any) -> Any:
    """Return the value as it is after a round trip through JSON."""
    try:
        return json.loads(
            json.dumps(value, default=lambda item: item.tolist(), allow_nan=False, ensure_ascii=False).encode()
        )
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ArgumentError(
            f"sweep: `{name}` has a value {value!r:.60}; values are texts, finite numbers, Booleans, and lists of these"
        ) from error


def _key(configuration: Configuration) -> str:
    """Return one key for equal configurations: 1.0 equals 1."""
    return json.dumps(
        {name: _convert_numbers(value, convert=_integral_as_int) for name, value in configuration.items()},
        sort_keys=True,
    )


def _convert_numbers(value: Any, *, convert: Callable[[Any], Any]) -> Any:
    """Convert each number in the value; Booleans are not numbers."""
    if isinstance(value, list):
        return [_convert_numbers(item, convert=convert) for item in value]
    return convert(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _integral_as_int(number: float) -> float:
    return int(number) if number == int(number) else number


def _ids(configurations: Sequence[Configuration]) -> list[str]:
    digests = [
        hashlib.md5(json.dumps(_nested(configuration), sort_keys=True).encode(), usedforsecurity=False).hexdigest()
        for configuration in configurations
    ]
    # The shortest prefix that keeps all ids distinct; 32 digits are the whole digest.
    for digits in (8, 16, 32):
        short = [digest[:digits] for digest in digests]
        if len({*short}) == len(short):
            break
    return short


def _nested(configuration: Configuration) -> dict[str, Any]:
    """Return a configuration as nested mappings, as in configuration files."""
    blocks_by_name: dict[str, Any] = {}
    for name, value in configuration.items():
        *blocks, last = name.split(".")
        block = blocks_by_name
        for part in blocks:
            block = block.setdefault(part, {})
            if not isinstance(block, dict):
                raise ArgumentError(f"sweep: `{name}` is inside `{part}`, which has a value itself; choose one of them")
        # `a.b` was set before and so has nested names, or twice.
        if last in block:
            raise ArgumentError(f"sweep: `{name}` has a value, and parameters within; choose one of them")
        block[last] = value
    return blocks_by_name


def _frame(configurations: Sequence[Configuration]) -> pl.DataFrame:
    if not configurations:
        raise ArgumentError("sweep: the functions leave no configuration; let one of them give a value")
    names = dict.fromkeys(name for configuration in configurations for name in configuration)
    columns = [_column(name, [configuration.get(name) for configuration in configurations]) for name in names]
    return pl.DataFrame([pl.Series(ID, _ids(configurations), dtype=pl.String), *columns])


def _column(name: str, values: list[Any]) -> pl.Series:
    """Return the values as a column, integers as floats if floats occur too.

    The comparison as JSON detects values that Polars changed silently, such as True among integers.
    """
    for convert in (None, float):
        try:
            converted = values if convert is None else [_convert_numbers(value, convert=convert) for value in values]
            column = pl.Series(name, converted)
        except (TypeError, OverflowError, pl.exceptions.PolarsError):
            continue
        if json.dumps(column.to_list()) == json.dumps(converted) and converted == values:
            return column
    raise ArgumentError(f"sweep: `{name}` has values of several kinds, such as {values[0]!r:.40}; give one kind")
