"""A chat model on this machine."""

import asyncio
import importlib
import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from rollwise.errors import ArgumentError, counted, message_of
from rollwise.judges.clients import CallError, Messages, Reply, check_installed

PLAIN = "{{ messages[-1]['content'] }}"  # a chat template that adds nothing
_TORCH_THREAD = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rollwise-torch")  # starts at its first use


@dataclass(frozen=True)
class LocalModel:
    """A model that runs on this machine with `transformers` (extra ``local``): a folder, or an id on the Hugging Face hub.

    It is loaded on the first request. All local models run one after another in one thread, because PyTorch has one global
    random state, which is restored after each answer. Without a seed, each answer is sampled anew, in each process.

    Parameters
    ----------
    path
        The folder, or the id.
    max_tokens
        The largest number of tokens of an answer.
    temperature
        0 always takes the most likely token; by default the model's own `generation_config` decides.
    device
        Device that it runs on (``"cpu"``, ``"cuda:1"``); by default the first GPU, if there is one.
    template
        A chat template (Jinja) for a tokenizer that has none.
    options
        Arguments of `generate`: ``{"top_p": 0.9}``.
    loading
        Arguments of `from_pretrained`: ``{"dtype": "bfloat16", "revision": "main"}``.
    plain
        Whether a tokenizer without a chat template gets the last message unchanged; otherwise it is an error.
    model, tokenizer
        Objects that are loaded already; `path` is then only their name.

    Examples
    --------
    ``LocalModel("Qwen/Qwen3-0.6B", max_tokens=200, temperature=0.7)``
    """

    path: str | Path
    max_tokens: int = 256
    temperature: float | None = None
    device: str | None = None
    template: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    loading: Mapping[str, Any] = field(default_factory=dict, repr=False)
    plain: bool = False
    model: Any = field(default=None, repr=False, compare=False)
    tokenizer: Any = field(default=None, repr=False, compare=False)
    _loaded: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raise an error for settings that can never work."""
        for module in ("torch", "transformers"):
            check_installed(module, extra="local", of="LocalModel")
        if self.max_tokens < 1:
            raise ArgumentError(f"LocalModel: max_tokens is {self.max_tokens!r}; give a whole number, 1 or more")

    @property
    def name(self) -> str:
        """Return the folder's name, or the id."""
        return Path(self.path).name if Path(self.path).exists() else str(self.path)

    @property
    def configuration(self) -> dict[str, Any]:
        """Return the settings that determine the answers, as JSON without secrets: all loading options except the token."""
        return {
            "path": str(self.path),
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "template": self.template,
            "options": dict(self.options),
            "loading": {name: str(value) for name, value in self.loading.items() if name != "token"},
            "plain": self.plain,
        }

    async def complete(self, messages: Messages, *, seed: int | None = None) -> Reply:
        """Return the answer to a conversation.

        Raises
        ------
        CallError
            If the model cannot be loaded, or the conversation is too long or in a form that the chat template refuses.
        """
        answer = partial(self._answer, [dict(message) for message in messages], seed)
        return await asyncio.get_running_loop().run_in_executor(_TORCH_THREAD, answer)

    def _answer(self, messages: list[dict[str, str]], seed: int | None) -> Reply:
        torch = importlib.import_module("torch")
        tokenizer, model = self._load()
        try:
            inputs = tokenizer.apply_chat_template(
                messages,
                chat_template=self._template(tokenizer),
                add_generation_prompt=True,
                return_tensors="pt",
                return_dict=True,
            ).to(model.device)
        except Exception as error:  # a template is a program, which can raise anything
            raise CallError(f"{self.name}: its chat template refuses the conversation: {message_of(error)}") from error
        prompt_tokens = int(inputs["input_ids"].shape[1])
        most = getattr(model.config, "max_position_embeddings", None)
        if most is not None and prompt_tokens + self.max_tokens > most:
            raise CallError(
                f"{self.name}: the conversation has {counted(prompt_tokens, 'token')}, which with max_tokens={self.max_tokens} "
                f"is more than the {most} that the model accepts; use fewer turns or tokens"
            )
        # Temperature 0 is greedy decoding; `generate` itself refuses 0.
        sampling: dict[str, Any] = {} if self.temperature is None else {"do_sample": self.temperature > 0}
        if self.temperature:
            sampling["temperature"] = self.temperature
        padding = tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id
        # The seed must not leak into other users of PyTorch: the random states are restored after the answer.
        # `fork_rng` saves the state of the CPU always, and of these GPUs.
        gpus = [model.device] if model.device.type == "cuda" else []
        started = perf_counter()
        with torch.random.fork_rng(devices=gpus), torch.inference_mode():
            torch.manual_seed(secrets.randbits(63) if seed is None else seed)
            tokens = model.generate(
                **inputs,
                **{"max_new_tokens": self.max_tokens, "pad_token_id": padding, **sampling, **self.options},
            )[0, prompt_tokens:].tolist()
        return Reply(
            tokenizer.decode(tokens, skip_special_tokens=True),
            prompt_tokens=prompt_tokens,
            response_tokens=len(tokens),
            finish_reason="length" if len(tokens) >= self.max_tokens and tokens[-1] not in _ends(model) else "stop",
            seconds=perf_counter() - started,
        )

    def _template(self, tokenizer: Any) -> str | None:
        """Return the chat template to use; None means the tokenizer's own."""
        return PLAIN if self.plain and self.template is None and tokenizer.chat_template is None else self.template

    def _load(self) -> tuple[Any, Any]:
        if not self._loaded:
            torch, transformers = importlib.import_module("torch"), importlib.import_module("transformers")
            device = self.device or ("cuda" if torch.cuda.is_available() else "cpu")
            # Hub and PyTorch raise errors of many kinds here; all of them mean that this model cannot be used.
            try:
                tokenizer, model = self.tokenizer, self.model
                if tokenizer is None:
                    tokenizer = transformers.AutoTokenizer.from_pretrained(self.path, **self._hub)
                if model is None:
                    model = transformers.AutoModelForCausalLM.from_pretrained(self.path, **self.loading).eval()
                    model = model if "device_map" in self.loading else model.to(device)
            except (OSError, ValueError, ImportError, KeyError, RuntimeError) as error:
                raise CallError(f"{self.name}: it cannot be loaded: {' '.join(str(error).split())[:400]}") from error
            if self._template(tokenizer) is None and tokenizer.chat_template is None:
                raise CallError(f"{self.name}: its tokenizer has no chat template; pass template=, or plain=True")
            self._loaded.extend((tokenizer, model))
        return self._loaded[0], self._loaded[1]

    @property
    def _hub(self) -> dict[str, Any]:
        """Return the options that loading a tokenizer also takes."""
        shared = ("revision", "token", "cache_dir", "local_files_only", "trust_remote_code", "subfolder")
        return {name: self.loading[name] for name in shared if name in self.loading}


def _ends(model: Any) -> Sequence[int]:
    ends = model.generation_config.eos_token_id
    return ends if isinstance(ends, Sequence) else [ends]
