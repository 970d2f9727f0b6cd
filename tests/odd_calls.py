"""Calls of every public function with odd frames and odd options, drawn from a seed.

`functions()` finds the functions by introspection, so that a new one cannot be forgotten. `call_of(seed)` draws one call, and
`problem_of(call)` runs it and says what is wrong with it, if anything: an error that is not rollwise's own, an error of several
lines, or a result that cannot be right. By hand, `python tests/odd_calls.py FIRST COUNT` runs many of them, and also names calls
that take half a minute or a GiB more than those before.
"""

import collections
import contextlib
import inspect
import random
import resource
import sys
import tempfile
import time
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
import polars as pl
from odd_frames import ODD, natural_frame, odd_frame, with_odd_name
from odd_options import FRAMES, NEEDED, value_of

import rollwise as rw
from rollwise import metrics as m
from rollwise.errors import RollwiseError

ELSEWHERE = {
    "distributed.measure": "starts a cluster of Ray",
    "distributed.summarize": "starts a cluster of Ray",
    "evaluate": "runs what a configuration file names",
    "rollout.run": "runs the user's function",
    "metrics.metric": "a decorator: its options are checked where the module is imported",
    "tables.show": "prints; it is `tables.table`",
    "readers.leftovers": "a part for authors of readers, who pass a struct of msgspec",
    "readers.parse": "a part for authors of readers, who pass a struct of msgspec",
    "schema.empty": "takes a schema, which only rollwise makes",
    "schema.kind_of": "takes a dtype",
    "schema.in_order": "takes TURNS that were checked",
    "schema.is_tree": "takes TURNS that were checked",
    "readers.split": "a part for authors of readers, who pass messages",
}
"""Functions that are not called here, and why."""


NO_RESULT = {
    *("judges.read_verdicts", "readers.read_summary", "rollout.read_prompts", "rollout.stored_runs", "readers.steps"),
    *("rollout.flatten", "metrics.instruction_followed", "tables.write_every_eval_ever"),
}
"""Functions that are only refused here: they read files, graphs of objects, or instructions and places that are not made."""


def functions() -> dict[str, Callable[..., Any]]:
    """Every public function: those of `rollwise`, and those of its namespaces."""
    found = dict(_public(rw, ""))
    return {name: function for name, function in found.items() if name not in ELSEWHERE}


def _public(module: Any, prefix: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, types.ModuleType):
            # The catalog is no verb.
            if name != "catalog" and hasattr(value, "__all__"):
                yield from _public(value, f"{prefix}{name}.")
        elif inspect.isfunction(value):
            yield f"{prefix}{name}", value


_SLOW = {"report": 0.1, "simulate": 0.4, "convert": 0.4}
_FEW = ("metrics.", "schema.", "readers.")


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the name of the function, its arguments, and the seed that drew it."""

    seed: int
    name: str
    arguments: tuple[Any, ...]
    options: dict[str, Any]


def call_of(seed: int, folder: Path, *, only: str | None = None, plain: bool = False) -> Call:
    """Draw one call."""
    rng = random.Random(seed)
    every = functions()
    weights = [_SLOW.get(name, 0.15 if name.startswith(_FEW) else 1.0) for name in every]
    name = only or rng.choices(list(every), weights)[0]
    arguments: list[Any] = []
    options: dict[str, Any] = {}
    odd = 0.0 if plain else rng.choice([0.0, 0.0, 0.1, 0.3])  # of the options of this call
    default = rng.choice([0.6, 0.8, 1.0])  # of the options that have one
    for parameter in inspect.signature(every[name]).parameters.values():
        required = parameter.default is inspect.Parameter.empty
        drawn = name.startswith(("plots.", "tables.")) and name != "plots.palette"
        optional = {"rollouts"} if name == "report" else {"labels", "rollouts"}
        is_frame = name != "simulate" and (
            (required and drawn and not arguments)
            or (parameter.name in FRAMES and not drawn and (required or parameter.name in optional))
        )
        value: Any
        if is_frame:
            value = odd_frame(natural_frame(name, parameter.name, rng), rng)
        elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            arguments += _several(name, rng)
            continue
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        elif rng.random() < odd and parameter.name not in {"out", "path", "ax", "store", "paths"}:
            value = rng.choice(ODD)
        elif (
            parameter.default is not inspect.Parameter.empty
            and (name, parameter.name) not in NEEDED
            and rng.random() < default
            and parameter.name not in {"resamples", "progress"}
        ):
            continue
        else:
            value = value_of(name, parameter, rng, folder)
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY or parameter.default is not inspect.Parameter.empty:
            options[parameter.name] = value
        else:
            arguments.append(value)
    return Call(seed, name, tuple(arguments), options)


def _several(name: str, rng: random.Random) -> list[Any]:
    if name == "rollout.sweep":
        spaces = [{"a": [1, 2]}, [{"a": 1}, {"a": 2}], {"a": []}, {"": [None]}]
        return [rng.choice(spaces if rng.random() < 0.7 else ODD)]
    if name == "metrics.measure_steps":
        return [m.model_calls()]
    some = [
        m.attack_success(),
        m.time_to_success(),
        m.num_turns,
        m.TIMING,
        pl.col("score").max().alias("a"),
        rng.choice(ODD),
    ]
    return rng.sample(some, rng.randrange(1, 4))


# ── judging a call ────────────────────────────────────────────────────────────────────────────────────────────────────


def problem_of(call: Call) -> tuple[str | None, str]:
    """Run a call; return what is wrong with it, if anything, and how it ended: result or refused."""
    import matplotlib.pyplot as plt

    mpl.use("Agg")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = functions()[call.name](*call.arguments, **call.options)
            flaw = _flaw(call, result)
    except RollwiseError as error:
        return (f"{type(error).__name__} of several lines: {error}" if "\n" in str(error) else None), "refused"
    except (Exception, pl.exceptions.PolarsError) as error:  # noqa: BLE001  # this is what is looked for
        where = traceback.extract_tb(error.__traceback__)
        ours = [place for place in where if "/rollwise/" in place.filename] or where
        at = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
        return f"{type(error).__name__} at {at}: {str(error)[:200]}", "raw"
    finally:
        plt.close("all")
    return flaw, "result"


def _flaw(call: Call, result: Any) -> str | None:  # noqa: C901, PLR0911, PLR0912  # one check after the other
    """Return what is wrong with a result."""
    if isinstance(result, pl.LazyFrame):
        result = result.collect()
    if isinstance(result, rw.plots.Plot):
        if call.seed % 7 == 0:
            ET.fromstring(result.svg())  # our own
        return None
    if isinstance(result, rw.tables.Table):
        if call.seed % 7 == 0:
            str(result), result.html, result.markdown, result.latex
        return None
    if not isinstance(result, pl.DataFrame) or call.name.startswith(
        ("plots.", "turns", "comparisons.best", "comparisons.pareto", "read", "scan")
    ):
        return None
    columns = set(result.columns)
    numbers = [name for name in ("estimate", "difference", "low", "high", "std_error", "p_value") if name in columns]
    for name in numbers:
        if result.schema[name].is_float() and result[name].is_nan().any():
            return f"NaN in {name}"
    center = next((name for name in ("estimate", "difference") if name in columns), None)
    if center and {"low", "high"} <= columns:
        gap = 1e-9 * (1 + result[center].abs())
        outside = (result["low"] > result[center] + gap) | (result["high"] < result[center] - gap)
        if outside.any():
            return f"outside its interval: {result.filter(outside).select(center, 'low', 'high').row(0)}"
        if (result["low"] > result["high"]).any():
            return "low above high"
    counts = ["n", "n_error", "n_undetermined", "n_missing", "n_inapplicable"]
    if (
        call.name == "summarize"
        and set(counts) <= columns
        and result.height
        and not call.options.get("by")
        and not call.options.get("margins")
    ):
        frame = call.arguments[0]
        height = (
            frame.lazy().select(pl.len()).collect().item() if isinstance(frame, pl.DataFrame | pl.LazyFrame) else None
        )
        if height is not None and (result.select(pl.sum_horizontal(counts)).to_series() != height).any():
            return "counts do not add up to the rollouts"
    return None


def problems(seeds: range, folder: Path, *, names: bool = False) -> list[str]:
    """Run the calls of these seeds, with odd names of columns if so wished; return what is wrong, with the seed and the name."""
    found = []
    with contextlib.chdir(folder):
        for seed in seeds:
            call = call_of(seed, folder, plain=names)
            if names:
                arguments, options = with_odd_name(call.arguments, call.options, random.Random(seed))
                call = replace(call, arguments=arguments, options=options)
            problem, _ = problem_of(call)
            if problem:
                found.append(f"seed {seed}: {call.name}: {problem}")
    return found


def peak_of_memory() -> float:
    """The most memory that this process has had, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def say(line: str) -> None:
    """A line on the screen."""
    print(line, flush=True)  # noqa: T201  # a script that is run by hand


def main(first: int, count: int, only: str | None = None) -> int:
    """Run `count` calls from seed `first`; print what is wrong, and return how many were."""
    problems: collections.Counter[str] = collections.Counter()
    ends: collections.Counter[tuple[str, str]] = collections.Counter()
    example: dict[str, int] = {}
    began, peak = time.perf_counter(), peak_of_memory()
    # A call may write where it is told to, and some are told a name alone.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for seed in range(first, first + count):
            start = time.perf_counter()
            call = call_of(seed, Path(folder), only=only)
            problem, end = problem_of(call)
            ends[call.name, end] += 1
            seconds = time.perf_counter() - start
            if seconds > 30:
                problem = problem or f"{seconds:.0f} seconds"
            before, peak = peak, peak_of_memory()
            if peak - before > 1:
                problem = problem or f"{peak - before:.1f} GiB more"
            if problem:
                key = f"{call.name} | {problem}"
                problems[key] += 1
                example.setdefault(key, seed)
    for key, number in problems.most_common():
        say(f"{number:5} (seed {example[key]}) {key}")
    names = sorted({name for name, _ in ends})
    for name in names:
        say(f"{name}: " + ", ".join(f"{ends[name, end]} {end}" for end in ("result", "refused", "raw")))
    results = sum(number for (_, end), number in ends.items() if end == "result")
    seconds = time.perf_counter() - began
    say(f"{count} calls in {seconds:.0f} s; {sum(problems.values())} problems; results {results}")
    return sum(problems.values())


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])))
