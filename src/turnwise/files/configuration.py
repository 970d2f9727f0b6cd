"""A YAML file -> a checked model; every mistake in it is a sentence with file, line and key, and what was probably meant."""

import types
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar, Union, get_args, get_origin

import pydantic
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from turnwise.errors import ReadError, meant
from turnwise.files.object_stores import path_of

Place = tuple[str | int, ...]
_MARKS = frozenset("'\"|>!&*")  # before what YAML does not take as it is
MOST_ENTRIES = 100_000  # aliases of aliases can make a small file a huge one
LocalPath = Annotated[Path, pydantic.AfterValidator(path_of)]
Model = TypeVar("Model", bound=pydantic.BaseModel)


class Strict(pydantic.BaseModel):
    """A block of a file; a key that it does not know is an error."""

    model_config = pydantic.ConfigDict(extra="forbid", populate_by_name=True, protected_namespaces=())


@dataclass(slots=True)
class Document:
    """Content of a YAML file, and the line of each key.

    Attributes
    ----------
    path
        The file.
    data
        Its content: dicts, lists, text, numbers.
    lines
        The line of each key by its place, ``("eval", "general")``.
    overrides
        What replaces entries of the file, as (dotted key, value).
    """

    path: Path
    data: dict[str, Any]
    lines: dict[Place, int] = field(default_factory=dict)
    overrides: list[tuple[str, Any]] = field(default_factory=list)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        r"""The content of a file (YAML 1.2: `no` is a word, 1e-3 a number); tags that would run code are refused.

        Raises
        ------
        ReadError
            Where the file is not there, is no YAML, holds a key twice, or holds no entries.

        Examples
        --------
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "run.yaml"
        >>> _ = path.write_text("eval:\n  general: {max_concurrency: 4}\n")
        >>> Document.read(path).lines["eval", "general"]
        2
        """
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
            node = YAML(typ="safe", pure=True).compose(text)
            lines = dict(_lines(node, (), {})) if isinstance(node, Node) else {}
            data = _loaded(text)
        except OSError as error:
            raise ReadError(f"{path}: {error.strerror}; check the path") from error
        except MarkedYAMLError as error:
            line = "" if error.problem_mark is None else f", line {error.problem_mark.line + 1}"
            raise ReadError(f"{path}{line}: is not valid YAML ({_first(error.problem or error)}); fix it") from error
        except (YAMLError, UnicodeDecodeError, ValueError) as error:
            raise ReadError(f"{path}: is not valid YAML ({_first(error)}); fix it") from error
        except RecursionError as error:
            raise ReadError(f"{path}: an entry holds itself, or is nested too deeply; write it out") from error
        if not isinstance(data, dict):
            raise ReadError(f"{path}: holds no entries; write `key: value` lines")
        return cls(path, data, lines)

    def override(self, key: str, given: Any) -> None:
        """Replace the entry at a dotted key; a text is read as YAML, so that "4" is a number, and one that stays text is as given.

        Raises
        ------
        ReadError
            Where the key leads through something that is no block, or the text is no YAML.
        """
        try:
            value = _meant(given) if isinstance(given, str) else given
        except (YAMLError, UnicodeDecodeError) as error:
            raise ReadError(
                f"--override {key}: {given!r} is not valid YAML ({_first(error)}); put it in quotes"
            ) from error
        *blocks, last = key.split(".")
        block = self.data
        for name in blocks:
            inner = block.get(name, {})
            if not isinstance(inner, dict):
                raise ReadError(f"--override {key}: `{name}` is not a block of entries; name an entry that can be set")
            block[name] = dict(inner)  # an alias of it elsewhere in the file stays as it is
            block = block[name]
        block[last] = value
        self.overrides.append((key, value))

    def where(self, place: Place) -> str:
        """File, line and key of an entry: of the next one around it that is written down, where it is not itself."""
        key = ".".join(str(part) for part in place)
        for overridden, _ in self.overrides:
            made = place not in self.lines and overridden.startswith(f"{key}.")
            if key == overridden or key.startswith(f"{overridden}.") or made:
                return f"{self.path}, --override: `{key}`"
        known = place
        while known and known not in self.lines:
            known = known[:-1]
        line = f", line {self.lines[known]}" if known else ""
        return f"{self.path}{line}: `{key}`" if key else f"{self.path}"

    def error(self, place: Place, sentence: str) -> ReadError:
        """A mistake at an entry, as an error to raise."""
        return ReadError(f"{self.where(place)} {sentence}")

    def checked(self, model: type[Model], data: Any = None, place: Place = ()) -> Model:
        """The entries (all, or those at a place) as a model.

        Raises
        ------
        ReadError
            With file, line and key of the first mistake: unknown, missing, or of the wrong kind.
        """
        try:
            return model.model_validate(self.data if data is None else data)
        except pydantic.ValidationError as error:
            found = min(error.errors(), key=lambda each: self.lines.get((*place, *each["loc"]), 1 << 30))
            raise self.error(*self._told(model, found, place)) from error

    def _told(self, model: type[pydantic.BaseModel], found: Any, place: Place) -> tuple[Place, str]:
        """Return the place of a mistake and its description."""
        inner = tuple(part for part in found["loc"] if not _is_branch(part))
        where = (*place, *inner)
        match found["type"]:
            case "extra_forbidden":
                known = _keys_at(model, inner[:-1])
                return where, f"is unknown; {meant(str(inner[-1]), known)}"
            case "missing" if isinstance(inner[-1], int):
                return (*where[:-1],), f"is {_shown(found['input'])}, and lacks a value; add it"
            case "missing":
                return (*where[:-1],), f"lacks the key `{inner[-1]}`; add it"
            case "recursion_loop":
                return where, "holds itself; write it out"
        said = found["msg"].removeprefix("Value error, ").removeprefix("Input ")
        return where, f"is {_shown(found['input'])}, but {said[:1].lower() + said[1:]}; mend it"


def _loaded(text: str) -> Any:
    r"""Load YAML; a character that JSON escapes as two halves (``\ud83d\ude00``) becomes one."""
    data = YAML(typ="safe", pure=True).load(text)
    return _joined(data) if "\\ud" in text.lower() else data


def _meant(text: str) -> Any:
    r"""Parse a text as YAML; a plain text keeps its lines, blanks and anything after ``#``.

    Examples
    --------
    >>> _meant("4"), _meant("'4'"), _meant("Two lines,\n# and no comment")
    (4, '4', 'Two lines,\n# and no comment')
    """
    if text.lstrip().startswith("#"):
        return text
    value = _loaded(text)
    return text if isinstance(value, str) and text.lstrip()[0] not in _MARKS else value


def _joined(value: Any) -> Any:
    if isinstance(value, dict):
        return {_joined(key): _joined(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_joined(inner) for inner in value]
    return value.encode("utf-16", "surrogatepass").decode("utf-16") if isinstance(value, str) else value


def _lines(node: Node, place: Place, seen: dict[int, int | None]) -> Iterator[tuple[Place, int]]:
    """The line of each key; what an alias repeats keeps the line of the alias.

    `seen` is how many entries each node comes to when written out, None while it is being walked: an alias that leads back to
    itself, or aliases of aliases that come to too many entries, are errors.
    """
    if seen.get(id(node), 0) is None:
        raise RecursionError
    if id(node) in seen:
        return
    seen[id(node)] = None
    children: list[Node] = []
    if isinstance(node, MappingNode):
        for key, value in node.value:
            yield (*place, str(key.value)), key.start_mark.line + 1
            yield from _lines(value, (*place, str(key.value)), seen)
            children.append(value)
    elif isinstance(node, SequenceNode):
        for number, value in enumerate(node.value):
            yield (*place, number), value.start_mark.line + 1
            yield from _lines(value, (*place, number), seen)
            children.append(value)
    seen[id(node)] = size = 1 + sum(seen[id(child)] or 0 for child in children)
    if size > MOST_ENTRIES:
        raise RecursionError


def _shown(value: object) -> str:
    given = repr(value)
    return given if len(given) <= 60 else f"{given[:57]}..."


def _is_branch(part: object) -> bool:
    """Return whether a part of pydantic's place names a branch of a union, not a key."""
    return isinstance(part, str) and (
        part.startswith(("list[", "dict[", "constrained", "function-", "literal["))
        or part in {"int", "str", "float", "bool", "[key]"}
    )


def _keys_at(model: Any, place: Place) -> list[str]:
    """The keys that a block knows."""
    for part in place:
        model = _within(model, part)
    fields: Mapping[str, Any] = getattr(model, "model_fields", {})
    return [found.alias or name for name, found in fields.items()]


def _within(kind: Any, part: str | int) -> Any:
    """The type of an entry of a block or list."""
    for found in _alternatives(kind):
        fields = getattr(found, "model_fields", None)
        if fields is not None:
            return next((each.annotation for name, each in fields.items() if part in {name, each.alias}), None)
        with suppress(IndexError):
            return get_args(found)[-1]
    return None


def _alternatives(kind: Any) -> Iterator[Any]:
    if get_origin(kind) in {Union, types.UnionType}:
        for each in get_args(kind):
            yield from _alternatives(each)
    elif kind is not type(None):
        yield kind


def _first(error: object) -> str:
    words = str(error).strip()
    return words.splitlines()[0] if words else type(error).__name__
