"""The language models of a file: behind an OpenAI-compatible address, on this machine, or a function."""

import asyncio
from pathlib import Path
from typing import Any

import pydantic

from rollwise.errors import ArgumentError, meant
from rollwise.evaluation.config import EvalConfig, kind_of
from rollwise.files.configuration import ConfigFile, Strict
from rollwise.files.references import object_at
from rollwise.jobs.calls import called, complete
from rollwise.judges.clients import UnservedError, model_of
from rollwise.judges.endpoint import Endpoint
from rollwise.judges.local_model import LocalModel
from rollwise.schema.labels import say

ADD_IT = "the file has no `llms:`; add it at the top, as in `llms: {{{}: {{_type: openai, model_name: gpt-4o}}}}`"
NIM_URL = "https://integrate.api.nvidia.com/v1"


class OpenAIOptions(Strict):
    """A model behind an OpenAI-compatible address."""

    type: str = pydantic.Field("openai", alias="_type")
    model_name: str = pydantic.Field(validation_alias=pydantic.AliasChoices("model_name", "model"))
    base_url: str | None = None
    api_key: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    timeout: float = 120.0
    max_retries: int = 5
    requests_per_minute: float | None = None
    prices: tuple[float, float] | None = None
    options: dict[str, Any] = pydantic.Field(default_factory=dict)


class LocalOptions(Strict):
    """A `transformers` model on this machine."""

    type: str = pydantic.Field("local", alias="_type")
    path: str
    max_new_tokens: int = 256
    temperature: float = 0.0
    device: str | None = None


class FunctionOptions(Strict):
    """A function of the messages."""

    type: str = pydantic.Field("function", alias="_type")
    function: str


class Models:
    """The models of a file, each created on its first use."""

    def __init__(self, document: ConfigFile, config: EvalConfig) -> None:
        self._document, self._entries = document, config.llms
        self._models: dict[str, Any] = {}
        for name, entry in self._entries.items():  # a mistake in any model is an error before the first call
            model, _ = kind_of(document, ("llms", name), entry, _KINDS)
            document.checked(model, entry, ("llms", name))

    def __call__(self, name: str) -> Any:
        """Return the model of this name."""
        if name not in self._entries:
            advice = meant(name, self._entries) if self._entries else ADD_IT.format(name)
            raise ArgumentError(f"{self._document.path}: there is no language model {name!r}; {advice}")
        if name not in self._models:
            model, make = kind_of(self._document, ("llms", name), self._entries[name], _KINDS)
            options = self._document.checked(model, self._entries[name], ("llms", name))
            self._models[name] = make(options, self._document.path.parent)
        return self._models[name]

    def check(self) -> None:
        """Call the `check` of each model that has one; a failure that may be temporary is only reported on stderr."""
        checks = {name: check for name in self._entries if (check := getattr(self(name), "check", None)) is not None}

        async def errors() -> list[Any]:
            return await asyncio.gather(*map(called, checks.values()), return_exceptions=True)

        for name, error in zip(checks, complete(errors()), strict=True):
            # Only a model that is never served stops the run; anything else may work when the run reaches it.
            if isinstance(error, UnservedError):
                raise self._document.error(("llms", name), f"is not served: {error}") from error
            if error is not None:
                say(f"language model {name} does not answer now: {error}")


def _endpoint(options: OpenAIOptions, folder: Path) -> Any:
    further = {name: getattr(options, name) for name in ("top_p", "seed") if getattr(options, name) is not None}
    return Endpoint(
        options.model_name,
        options.base_url,
        options.api_key,
        temperature=options.temperature,
        max_tokens=options.max_tokens,
        timeout=options.timeout,
        max_retries=options.max_retries,
        options={**options.options, **further},
        requests_per_minute=options.requests_per_minute,
        prices=options.prices,
    )


def _nim(options: OpenAIOptions, folder: Path) -> Any:
    return _endpoint(options.model_copy(update={"base_url": options.base_url or NIM_URL}), folder)


def _local(options: LocalOptions, folder: Path) -> Any:
    return LocalModel(options.path, options.max_new_tokens, options.temperature, options.device)


def _function(options: FunctionOptions, folder: Path) -> Any:
    function = object_at(options.function, folder)

    def refused(name: str) -> Any:
        raise ArgumentError(f"llms: {name!r} is a text, not a function; name a function")

    return model_of("llms: the function", function() if isinstance(function, type) else function, refused)


_KINDS: dict[str, Any] = {
    "openai": (OpenAIOptions, _endpoint),
    "nim": (OpenAIOptions, _nim),
    "local": (LocalOptions, _local),
    "function": (FunctionOptions, _function),
}
