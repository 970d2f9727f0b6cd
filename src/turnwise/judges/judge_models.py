"""The judging model, its settings, and whether it is deterministic."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any

from turnwise.errors import ArgumentError
from turnwise.judges.clients import ChatModel, model_of
from turnwise.judges.endpoint import Endpoint
from turnwise.judges.local_model import LocalModel

MOST_TOKENS = 256
_OF_TRANSFORMERS = frozenset({"do_sample", "pad_token_id", "eos_token_id"})  # no server knows these


def options_of(who: str, given: object) -> tuple[dict[str, Any], int]:
    """The options of generation, and how many verdicts they ask for.

    Examples
    --------
    >>> options_of("polite", {"temperature": 0.5, "num_return_sequences": 3})
    ({'temperature': 0.5}, 3)
    """
    if not isinstance(given, Mapping):
        raise ArgumentError(f"{who}: gen_kwargs is {given!r:.60}; give a dict, such as {{'temperature': 0.5}}")
    options = dict(given)
    samples: object = options.pop("num_return_sequences", 1)
    if not isinstance(samples, Integral) or int(samples) < 1:
        raise ArgumentError(f"{who}: num_return_sequences is {samples!r}; it is 1 or more, a whole number")
    return options, int(samples)


def model_with(who: str, given: Any, options: Mapping[str, Any], tokenizer: Any, device: str | None) -> ChatModel:
    """Return the user's model with these options, as the model that judges; `who` is named in errors."""
    if isinstance(given, Endpoint | LocalModel) and options:
        return _set(given, options)
    if isinstance(given, str):
        return _set(LocalModel(given, MOST_TOKENS, 0.0, device, plain=True, tokenizer=tokenizer), options)
    if hasattr(given, "generate") and not isinstance(given, ChatModel):
        if device is not None:
            warnings.warn(f"{who}: the model is where it is; device={device!r} is ignored", stacklevel=4)
        name = str(getattr(getattr(given, "config", None), "_name_or_path", "") or type(given).__name__)
        return _set(LocalModel(name, MOST_TOKENS, 0.0, plain=True, model=given, tokenizer=tokenizer), options)
    return model_of(f"{who}: the model", given, LocalModel)


def is_settled(model: ChatModel, options: Mapping[str, Any]) -> bool:
    """Return whether a model with these options gives the same answer each time."""
    temperature = options.get("temperature", getattr(model, "temperature", None))
    return temperature == 0 or options.get("do_sample") is False


def _set(model: Endpoint | LocalModel, options: Mapping[str, Any]) -> ChatModel:
    """The model with these options of generation, by the names that `transformers` has for them."""
    given = dict(options)
    changed: dict[str, Any] = {}
    if "temperature" in given:
        changed["temperature"] = given.pop("temperature")
    for name in ("max_new_tokens", "max_tokens"):
        if name in given:
            changed["max_tokens"] = given.pop(name)
    if isinstance(model, Endpoint):
        if given.pop("do_sample", None) is False:
            changed["temperature"] = 0.0
        given = {name: value for name, value in given.items() if name not in _OF_TRANSFORMERS}
    return replace(model, **changed, options={**model.options, **given})
