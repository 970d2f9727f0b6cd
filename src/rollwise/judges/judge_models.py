"""The model that judges: its options of generation, and whether it is deterministic."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any

from rollwise.errors import ArgumentError
from rollwise.judges.clients import ChatModel, model_of
from rollwise.judges.endpoint import Endpoint
from rollwise.judges.local_model import LocalModel

MOST_TOKENS = 256
_OF_TRANSFORMERS = frozenset({"do_sample", "pad_token_id", "eos_token_id"})  # no server accepts these


def options_of(who: str, gen_kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Return the options of generation, and the number of verdicts that they request."""
    options = dict(gen_kwargs)
    samples: object = options.pop("num_return_sequences", 1)
    if not isinstance(samples, Integral) or int(samples) < 1:
        raise ArgumentError(f"{who}: num_return_sequences is {samples!r}; give a whole number, 1 or more")
    return options, int(samples)


def model_with(who: str, model: Any, options: Mapping[str, Any], tokenizer: Any, device: str | None) -> ChatModel:
    """Return the user's model with these options, as the model that judges; errors begin with `who`."""
    if isinstance(model, Endpoint | LocalModel) and options:
        return _set(model, options)
    if isinstance(model, str):
        return _set(LocalModel(model, MOST_TOKENS, 0.0, device, plain=True, tokenizer=tokenizer), options)
    if hasattr(model, "generate") and not isinstance(model, ChatModel):
        if device is not None:
            warnings.warn(f"{who}: the model is loaded already; device={device!r} is ignored", stacklevel=4)
        name = str(getattr(getattr(model, "config", None), "_name_or_path", "") or type(model).__name__)
        return _set(LocalModel(name, MOST_TOKENS, 0.0, plain=True, model=model, tokenizer=tokenizer), options)
    # A function or a chat model of the user: options of generation do not apply to it.
    return model_of(f"{who}: the model", model, LocalModel)


def is_settled(model: Any, options: Mapping[str, Any]) -> bool:
    """Return whether a model with these options gives the same answer each time."""
    # Later ones win: they are sent in the place of earlier ones.
    layers: list[Mapping[str, Any]] = [{"temperature": getattr(model, "temperature", None)}]
    for further in (getattr(model, "options", None), options):
        if isinstance(further, Mapping):
            body = further.get("extra_body")
            layers += [further, body if isinstance(body, Mapping) else {}]
    temperatures = [layer["temperature"] for layer in layers if layer.get("temperature") is not None]
    samples = [layer["do_sample"] for layer in layers if layer.get("do_sample") is not None]
    return bool(temperatures and temperatures[-1] == 0) or bool(samples and samples[-1] is False)


def _set(model: Endpoint | LocalModel, options: Mapping[str, Any]) -> ChatModel:
    """Return the model with these options of generation, which have the names that `transformers` uses."""
    further = dict(options)
    fields: dict[str, Any] = {}
    if "temperature" in further:
        fields["temperature"] = further.pop("temperature")
    for name in ("max_new_tokens", "max_tokens"):
        if name in further:
            fields["max_tokens"] = further.pop(name)
    if isinstance(model, Endpoint):
        if further.pop("do_sample", None) is False:
            fields["temperature"] = 0.0
        further = {name: value for name, value in further.items() if name not in _OF_TRANSFORMERS}
    return replace(model, **fields, options={**model.options, **further})
