"""Registered evaluators: built-in, from installed packages, and named in a file.

An evaluator is a configuration class and a function that builds it, bound by `register_evaluator`. Its name is the `_type` of a
configuration file. The first of these that has the name is used, and stderr names the others, which it replaces: plug-ins that
the file lists under ``plugins:`` or that were imported before; plug-ins of installed packages (entry points of the group
``rollwise.rollout``); built-in evaluators. Two plug-ins of the same kind and name are an error.
"""

import importlib
import importlib.util
import inspect
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pydantic

from rollwise.errors import ArgumentError, RollwiseError, in_one_line
from rollwise.evaluation.atif import AtifEvalSample
from rollwise.evaluation.items import EvalInput
from rollwise.evaluation.option_words import option_words
from rollwise.files.atomic import content_hash
from rollwise.files.references import looking_in
from rollwise.metrics import catalog
from rollwise.schema.labels import say

GROUP = "rollwise.rollout"
IN_THE_BOX = "rollwise.evaluation.builtin"
_BUILTIN_PREFIX = f"{IN_THE_BOX}."


class EvaluatorBaseConfig(pydantic.BaseModel):
    """The options of an evaluator: the class keyword `name` of a subclass names it, and each of its fields is an option.

    Examples
    --------
    >>> class LengthConfig(EvaluatorBaseConfig, name="length"):
    ...     '''Length of the answer.'''
    ...
    ...     unit: str = "words"
    >>> LengthConfig.static_type(), LengthConfig(unit="characters").unit
    ('length', 'characters')
    """

    model_config = pydantic.ConfigDict(
        extra="forbid", populate_by_name=True, arbitrary_types_allowed=True, protected_namespaces=()
    )
    _name: ClassVar[str | None] = None

    def __init_subclass__(cls, name: str | None = None, **kwargs: Any) -> None:
        """Store the name."""
        super().__init_subclass__(**kwargs)
        if name is not None:
            cls._name = name

    @classmethod
    def __pydantic_init_subclass__(cls, name: str | None = None, **kwargs: Any) -> None:
        """Accept the name, which pydantic passes on."""

    @classmethod
    def static_type(cls) -> str:
        """Return the name, which a configuration file gives as `_type`."""
        if cls._name is None:
            raise ArgumentError(f'{cls.__qualname__} has no name; write class {cls.__name__}(..., name="my_evaluator")')
        return cls._name


@dataclass
class EvaluatorInfo:
    """A built evaluator: its options, the function that evaluates, a description, and the range of its scores.

    Attributes
    ----------
    config
        The options.
    evaluate_fn
        A function of all items (`EvalInput`) that returns an `EvalOutput`.
    description
        One line about it.
    bounds
        The lowest and the highest possible score; the interval of a mean does not go beyond them.
    evaluate_atif_fn
        A function of all items with their trajectories in ATIF (a list of `AtifEvalSample`); if given, it is called in place
        of `evaluate_fn`.

    Examples
    --------
    >>> async def evaluate(eval_input): ...
    >>> EvaluatorInfo(config=EvaluatorBaseConfig(), evaluate_fn=evaluate, description="Nothing").description
    'Nothing'
    """

    config: Any
    evaluate_fn: Callable[[EvalInput], Any] | None = None
    description: str = ""
    bounds: tuple[float, float] | None = None
    evaluate_atif_fn: Callable[[Sequence[AtifEvalSample]], Any] | None = None

    def __post_init__(self) -> None:
        """Raise an error for bounds that are not a range."""
        if self.bounds is not None:
            from rollwise.judges.verdicts import bounds_of

            bounds_of(self.bounds, "EvaluatorInfo, bounds")


class EvalBuilder:
    """Services that an evaluator may request while it is built.

    Parameters
    ----------
    max_concurrency
        Number of items evaluated at the same time.
    llms
        The language models of the file, by their names.

    Examples
    --------
    >>> EvalBuilder(max_concurrency=8).get_max_concurrency()
    8
    """

    def __init__(self, max_concurrency: int = 8, llms: Callable[[str], Any] | None = None) -> None:
        self._max_concurrency = max_concurrency
        self._llms = llms
        self.given: dict[str, Any] = {}  # the models requested so far, by name

    def get_max_concurrency(self) -> int:
        """Return the number of items evaluated at the same time: ``eval.general.max_concurrency``."""
        return self._max_concurrency

    async def get_llm(self, llm_name: str, wrapper_type: Any = None) -> Any:  # noqa: ARG002  # the seed has one
        """Return the language model of this name under ``llms:``, a `ChatModel`; there are no wrappers for frameworks.

        Raises
        ------
        ArgumentError
            If there is no model of that name.
        """
        return self.llm(llm_name)

    def llm(self, name: str) -> Any:
        """Return the model of this name, as `get_llm` does, for code that is not asynchronous."""
        if self._llms is None:
            raise ArgumentError(f"there is no language model {name!r}, as the file has no `llms:`; add it there")
        self.given[name] = self._llms(name)
        return self.given[name]


Build = Callable[[Any, EvalBuilder], AbstractAsyncContextManager[EvaluatorInfo]]


@dataclass(frozen=True)
class Registration:
    """A registered evaluator: its name, the class of its options, the function that builds it, and its origin."""

    name: str
    config_type: type[EvaluatorBaseConfig]
    build: Build
    module: str
    place: str
    source: tuple[str, str] = ("", "")  # file and qualified name: one file may be imported as two modules

    @property
    def in_the_box(self) -> bool:
        """Return whether it is part of rollwise."""
        return self.module.startswith(_BUILTIN_PREFIX)

    @property
    def code(self) -> list[str]:
        """Return the hashes of the files of a plug-in: of its package, or of its single file."""
        file = Path(self.source[0])
        if self.in_the_box or not file.is_file():
            return []
        files = sorted(file.parent.rglob("*.py")) if (file.parent / "__init__.py").exists() else [file]
        return [content_hash(path) for path in files]

    @property
    def about(self) -> str:
        """Return a description: the docstring of its options, else of its function."""
        inherited = EvaluatorBaseConfig.__doc__
        doc = self.config_type.__doc__ if self.config_type.__doc__ != inherited else None
        return inspect.cleandoc(doc or getattr(self.build, "__doc__", None) or "No description.")

    @property
    def options(self) -> dict[str, str]:
        """Return the type and default of each option, as text."""
        return {name: option_words(field) for name, field in self.config_type.model_fields.items()}


_PLUGINS: dict[str, Registration] = {}
_BUILTINS: dict[str, Registration] = {}
_INSTALLED: dict[str, Registration] = {}
_CLASHES: dict[str, str] = {}  # of names that two installed plug-ins have: an error only where such a name is used
_installing: ContextVar[bool] = ContextVar("_installing", default=False)
_Function = TypeVar("_Function", bound=Callable[..., Any])


def register_evaluator(*, config_type: type[EvaluatorBaseConfig]) -> Callable[[_Function], Any]:
    """Bind a configuration class to the function that builds its evaluator: an async generator that yields `EvaluatorInfo`.

    Code after the ``yield`` runs when the evaluation ends.

    Parameters
    ----------
    config_type
        A subclass of `EvaluatorBaseConfig` that has a name.

    Raises
    ------
    ArgumentError
        If another plug-in has that name already.

    Examples
    --------
    >>> class AlwaysConfig(EvaluatorBaseConfig, name="always_for_this_example"):
    ...     "The same score for everything."
    >>> @register_evaluator(config_type=AlwaysConfig)
    ... async def always(config, builder):
    ...     yield EvaluatorInfo(config=config, evaluate_fn=None, description="Always")
    >>> find("always_for_this_example").about
    'The same score for everything.'
    """

    def register(function: _Function) -> Any:
        name = config_type.static_type()
        if not inspect.isasyncgenfunction(function):
            raise ArgumentError(
                f"{name}: {function.__qualname__} is not an async generator; write `async def` and `yield`"
            )
        build = asynccontextmanager(function)
        module = getattr(function, "__module__", "") or ""
        source = (function.__code__.co_filename, function.__qualname__)
        registration = Registration(name, config_type, build, module, f"{module}.{function.__qualname__}", source)
        # The same source registered again replaces itself: a file may be imported twice, or a notebook cell run again.
        registry = _BUILTINS if registration.in_the_box else _INSTALLED if _installing.get() else _PLUGINS
        existing = registry.get(name)
        if existing is not None and existing.source != registration.source:
            clash = f"two plug-ins are called `{name}`: {existing.place} and {registration.place}"
            if registry is not _INSTALLED:
                raise ArgumentError(f"{clash}; rename one, or name one of them only")
            _CLASHES[name] = f"{clash}; list the module of one of them under `plugins:`, or uninstall the other"
        registry[name] = registration
        return build

    return register


_MODULES = {
    "answers": ("similarity", "classification_accuracy", "instruction_following"),
    "catalog": ("avg_llm_latency", "avg_workflow_runtime", "avg_num_llm_calls", "avg_tokens_per_llm_end", "cost"),
    "judges": (
        *("factuality", "relevance", "truthfulness", "informativeness", "harmfulness", "refusal"),
        *("attack_success_judge", "groundedness", "answer_accuracy", "context_relevance", "goal_completion"),
        *("llm_judge", "trajectory", "tunable_rag_evaluator"),
    ),
    "ragas": ("ragas",),
    "red_team": ("red_teaming_evaluator",),
    "tools": ("trajectory_match", "tsq_evaluator", "tool_quality"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}  # metrics are in `catalog`


def load_builtin(name: str) -> None:
    """Register the built-in evaluator of this name, if there is one."""
    is_metric = any(metric.name == name for metric in catalog.everything())
    module = _MODULE_OF.get(name) or ("catalog" if is_metric else None)
    if module is not None:
        importlib.import_module(f"{IN_THE_BOX}.{module}")


def load_builtins() -> None:
    """Register all built-in evaluators."""
    for module in _MODULES:
        importlib.import_module(f"{IN_THE_BOX}.{module}")


@cache
def load_installed() -> None:
    """Import the plug-ins of installed packages, once; one that cannot be imported is reported on stderr and skipped."""
    # While this is set, what registers itself is an installed plug-in, which yields to plug-ins named in the file.
    token = _installing.set(True)
    try:
        for point in entry_points(group=GROUP):
            try:
                point.load()
            except (Exception, SystemExit) as error:  # noqa: BLE001  # a broken package must not stop an evaluation without it
                say(f"the plug-in {point.name} ({point.value}) cannot be imported ({in_one_line(error)}); left out")
    finally:
        _installing.reset(token)


def load(places: Iterable[str], folder: Path) -> None:
    """Import the plug-ins that a file lists: modules (``my_package.register``), or paths relative to the file's folder.

    Modules are searched on Python's path, then in the working folder, then in the folder of the file. A plug-in file may
    import its neighbors as ``from .neighbor import ...``.
    """
    with looking_in(folder):
        for place in places:
            _import(place, folder)


def find(name: str) -> Registration | None:
    """Return the evaluator of this name, or None. If a plug-in replaces another evaluator, stderr says so."""
    load_builtin(name)
    load_installed()
    candidates = [registry[name] for registry in (_PLUGINS, _INSTALLED, _BUILTINS) if name in registry]
    if name in _CLASHES and name not in _PLUGINS:
        raise ArgumentError(_CLASHES[name])
    if len(candidates) > 1:
        outranked = " and ".join(
            "the built-in evaluator" if registration.in_the_box else f"the installed {registration.place}"
            for registration in candidates[1:]
        )
        say(f"`{name}` is the plug-in {candidates[0].place}, which outranks {outranked} of that name")
    return candidates[0] if candidates else None


def everything() -> list[Registration]:
    """Return all available evaluators, sorted by name; for one name, the one that `find` returns comes first."""
    load_builtins()
    load_installed()
    registrations = [*_PLUGINS.values(), *_INSTALLED.values(), *_BUILTINS.values()]
    return sorted(registrations, key=lambda registration: registration.name)


def listed() -> dict[str, str]:
    """Describe each evaluator as text: purpose, origin and options; for one name, the evaluator in effect."""
    descriptions = {}
    for evaluator in reversed(everything()):  # so that of one name the first, which is in effect, is written last
        summary, _, details = evaluator.about.partition("\n")
        origin = "" if evaluator.in_the_box else f" [plug-in {evaluator.place}]"
        lines = [f"  {name}: {words}" for name, words in evaluator.options.items()]
        options = "\n".join(["", "", "Options:", *lines]) if lines else ""
        descriptions[evaluator.name] = f"{summary}{origin}{details and chr(10)}{details.rstrip()}{options}"
    return descriptions


def _import(place: str, folder: Path) -> None:
    try:
        if place.endswith(".py"):
            _import_file((folder / place).resolve() if (folder / place).exists() else Path(place).resolve())
        else:
            importlib.import_module(place)
    except RollwiseError:
        raise
    except (Exception, SystemExit) as error:
        raise ArgumentError(
            f"the plug-in {place!r} cannot be imported ({in_one_line(error)}); is it installed, and spelled correctly?"
        ) from error


def _import_file(path: Path) -> None:
    """Import a file as a module of a package made of its folder."""
    # A package per folder, so that `from .neighbor import ...` works and equal file names in two folders do not collide.
    package = f"rollwise_plugins_{blake2b(str(path.parent).encode(), digest_size=4).hexdigest()}"
    if package not in sys.modules:
        module = types.ModuleType(package)
        module.__path__ = [str(path.parent)]
        sys.modules[package] = module
    importlib.import_module(f"{package}.{path.stem}")
