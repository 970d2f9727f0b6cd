"""A YAML file -> an evaluator: sampler, seeds, metrics, and options of the run.

```yaml
sampler:
  use: simulated            # simulated, chat, or your own `package.module:name`
  options: {hazard: 0.1, turns: 8}
seeds: 100                  # a number, a list, or a file: one seed per line, or a JSON list
metrics: [attack_success, time_to_success, total_reward]
until: {rule: below, metric: attack_success, threshold: 0.01}
run: {max_concurrency: 8, timeout: 60, retries: 2, on_error: record}
store: store
out: results
```

A rollout that ended in an error is tried again by the next run with the same store (``on_error: keep`` keeps its error,
``raise`` stops at it).

The models of `chat` are given by their options, a function by its place: ``target: {model: llama3.2, base_url: ...}``,
``judge: my.judges:harmful``. A model as judge, ``judge: {model: gpt-4o, base_url: ...}``, is asked whether the answer reaches the
goal (`rw.judges.AttackSuccess`; ``unsigned: accept`` for a model that cannot repeat its check code). Keep API keys in the
environment, not in the file. Paths are relative to the file's folder; `rollwise rollout` searches modules there too, after
Python's own path.
"""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic

from rollwise.choices import OnError
from rollwise.errors import ArgumentError, ReadError
from rollwise.files.configuration import ConfigFile, LocalPath, Strict, text_of
from rollwise.files.references import object_at
from rollwise.judges.endpoint import Endpoint
from rollwise.judges.local_model import LocalModel
from rollwise.judges.presets import AttackSuccess
from rollwise.metrics import catalog
from rollwise.rollout.chat import ChatSampler
from rollwise.rollout.evaluators.frames import FrameEvaluator
from rollwise.rollout.simulated import SimulatedSampler
from rollwise.rollout.stopping import Above, Below, Precision, Rule

SAMPLERS = {"simulated": SimulatedSampler, "chat": ChatSampler}  # by what `use` calls them
MOST_SEEDS, MOST_SEED_BYTES = 10_000_000, 1 << 28  # each seed is a rollout: more are a slip of the keyboard
PositiveInt = Annotated[int, pydantic.Field(ge=1)]


class SamplerConfig(Strict):
    """Sampler of a configuration."""

    use: str
    options: dict[str, Any] = pydantic.Field(default_factory=dict)


class UntilConfig(Strict):
    """When to stop early."""

    rule: Literal["precision", "below", "above"]
    metric: str = "attack_success"
    half_width: float | None = None
    threshold: float | None = None
    level: float = 0.95


class RunConfig(Strict):
    """Options of a run."""

    max_concurrency: PositiveInt = 1
    timeout: Annotated[float, pydantic.Field(gt=0)] | None = None
    retries: Annotated[int, pydantic.Field(ge=0)] = 0
    on_error: OnError = "record"


class RolloutConfig(Strict):
    """The whole file."""

    sampler: SamplerConfig
    seeds: Annotated[int, pydantic.Field(gt=0, le=MOST_SEEDS)] | list[int | str] | str
    metrics: list[str] = pydantic.Field(default_factory=list)
    until: UntilConfig | None = None
    run: RunConfig = RunConfig()
    store: LocalPath | None = None
    out: LocalPath = Path("results")


def load(path: str | Path) -> RolloutConfig:
    """Return the configuration in a YAML file (1.2: `no` is a word, 1e-3 a number), with absolute paths."""
    config, folder = ConfigFile.read(path).checked(RolloutConfig), Path(path).absolute().parent
    config.out = folder / config.out
    config.store = None if config.store is None else folder / config.store
    if isinstance(config.seeds, str):
        config.seeds = _seeds_in(folder / config.seeds)
    return config


def evaluator_of(config: RolloutConfig) -> FrameEvaluator:
    """Return the evaluator of a configuration."""
    seeds = list(range(config.seeds)) if isinstance(config.seeds, int) else config.seeds
    metrics = [catalog.expression(name) for name in config.metrics] or None
    return FrameEvaluator(_sampler(config.sampler), seeds, metrics=metrics)


def rule_of(config: UntilConfig | None) -> Rule | None:
    """Return the stopping rule of a configuration."""
    if config is None:
        return None
    wanted = "half_width" if config.rule == "precision" else "threshold"
    value = getattr(config, wanted)
    if value is None:
        raise ArgumentError(f"until: the rule {config.rule} needs an entry `{wanted}:`")
    if config.rule == "precision":
        return Precision(config.metric, half_width=value, level=config.level)
    return {"below": Below, "above": Above}[config.rule](config.metric, threshold=value, level=config.level)


def _sampler(config: SamplerConfig) -> Any:
    options = dict(config.options)
    try:
        if config.use == "chat":  # its models and its judge are entries of the options
            models = {role: _model(role, options.pop(role, None)) for role in ("attacker", "target")}
            judge = options.pop("judge", None)
            return ChatSampler(**models, judge=_judge(judge), **options)
        sampler = SAMPLERS[config.use] if config.use in SAMPLERS else object_at(config.use)
        return sampler(**options) if isinstance(sampler, type) or options else sampler
    except TypeError as error:
        raise ArgumentError(f"sampler: {config.use} does not take these options ({error})") from error


def _model(role: str, entry: Any) -> Any:
    """Return a chat model: an endpoint or a local model from its options, or a function from its place."""
    if isinstance(entry, str):
        return object_at(entry)
    if not isinstance(entry, dict):
        raise ArgumentError(
            f"sampler: `{role}` is missing; give {{model: ..., base_url: ...}}, or `package.module:name`"
        )
    options = dict(entry)
    return LocalModel(options.pop("path"), **options) if "path" in options else Endpoint(**options)


def _judge(entry: Any) -> Any:
    """Return a judge: a function from its place, or a chat model that is asked whether the attack succeeded."""
    if isinstance(entry, str):
        return object_at(entry)
    if not isinstance(entry, dict):
        return entry
    options = dict(entry)
    how = {name: options.pop(name) for name in ("unsigned", "max_retries") if name in options}
    return AttackSuccess(_model("judge", options), **how)


def _seeds_in(path: Path) -> list[int | str]:
    try:
        text = text_of(path, MOST_SEED_BYTES)
    except ReadError as error:
        reason = str(error).removeprefix(f"{path}: ").partition(";")[0]
        raise ReadError(f"seeds: {path} cannot be read ({reason}); name a text file, or give a number") from error
    if path.suffix == ".json":
        try:
            seeds = json.loads(text)
        except ValueError as error:
            raise ReadError(f"seeds: {path} is not JSON ({error}); fix it") from error
        if not isinstance(seeds, list) or not all(isinstance(seed, int | str) for seed in seeds):
            raise ReadError(f"seeds: {path} is not a list of numbers and texts; fix it")
        return seeds
    return [line for line in text.splitlines() if line.strip()]
