"""YAML files as checked models; an error names the file, the line, the key, and what was probably meant."""

import types
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar, Union, get_args, get_origin

import pydantic
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from rollwise.errors import ReadError, meant
from rollwise.files.masking import for_message
from rollwise.files.object_stores import path_of

Place = tuple[str | int, ...]
_MARKS = frozenset("'\"|>!&*")  # first characters of text in YAML that is more than plain text
_TOO_DEEP = "an entry contains itself, or is nested too deeply; write it out"
MOST_BYTES = 1 << 20  # of a file of settings, which takes seconds to parse
MOST_ENTRIES = 100_000  # aliases of aliases can make a small file huge
LocalPath = Annotated[Path, pydantic.AfterValidator(path_of)]
Model = TypeVar("Model", bound=pydantic.BaseModel)


class Strict(pydantic.BaseModel):
    """A block of a file; an unknown key is an error, which says why where other tools have the key (`refused`)."""

    model_config = pydantic.ConfigDict(extra="forbid", populate_by_name=True, protected_namespaces=())
    refused: ClassVar[Mapping[str, str]] = {}


@dataclass(slots=True)
class ConfigFile:
    """Content of a YAML file, and the line of each key."""

    path: Path
    data: dict[str, Any]
    lines: dict[Place, int] = field(default_factory=dict)  # by the path of the key, ("eval", "general")
    overrides: list[tuple[str, Any]] = field(default_factory=list)  # dotted keys with the values that replace them
    text: str = ""  # the file as it is, before overrides

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a file (YAML 1.2: `no` is text, 1e-3 a number); tags that would run code are refused."""
        path = Path(path)
        text = text_of(path)
        data, lines = loaded(path, text)
        if not isinstance(data, dict):
            raise ReadError(f"{path}: holds no entries; write `key: value` lines")
        return cls(path, data, lines, text=text)

    def override(self, key: str, value: Any) -> None:
        """Replace the entry at a dotted key; text is parsed as YAML, so that "4" is a number."""
        try:
            parsed = _parsed(value) if isinstance(value, str) else value
        except (YAMLError, UnicodeDecodeError) as error:
            raise ReadError(
                f"--override {key}: {for_message(value, key)!r} is not valid YAML ({_first_line(error)}); put it in quotes"
            ) from error
        except RecursionError as error:
            raise ReadError(f"--override {key}: {_TOO_DEEP}") from error
        # Blocks on the way that do not exist yet are created.
        *blocks, last = key.split(".")
        block = self.data
        for name in blocks:
            inner = block.get(name, {})
            if not isinstance(inner, dict):
                raise ReadError(f"--override {key}: `{name}` is not a block of entries; name an entry that can be set")
            block[name] = dict(inner)  # a copy, so that an alias of it elsewhere in the file does not change
            block = block[name]
        block[last] = parsed
        self.overrides.append((key, parsed))

    def where(self, place: Place) -> str:
        """Return file, line and key of an entry; if the entry is not in the file, the line of the nearest block around it."""
        key = ".".join(str(part) for part in place)
        for overridden, _ in self.overrides:
            is_created = place not in self.lines and overridden.startswith(f"{key}.")
            if key == overridden or key.startswith(f"{overridden}.") or is_created:
                return f"{self.path}, --override: `{key}`"
        nearest = place
        while nearest and nearest not in self.lines:
            nearest = nearest[:-1]
        line = f", line {self.lines[nearest]}" if nearest else ""
        return f"{self.path}{line}: `{key}`" if key else f"{self.path}"

    def error(self, place: Place, sentence: str) -> ReadError:
        """Return an error about an entry, to raise."""
        return ReadError(f"{self.where(place)} {sentence}")

    def checked(self, model: type[Model], data: Any = None, place: Place = ()) -> Model:
        """Check the entries (all, or `data` at a place) against a model."""
        try:
            return model.model_validate(self.data if data is None else data)
        except pydantic.ValidationError as error:
            # The error that comes first in the file; those without a line are last.
            first = min(error.errors(), key=lambda entry: self.lines.get((*place, *entry["loc"]), 1 << 30))
            raise self.error(*self._described(model, first, place)) from error

    def _described(self, model: type[pydantic.BaseModel], error: Any, place: Place) -> tuple[Place, str]:
        """Return the place of an error of pydantic, and its description."""
        inner = tuple(part for part in error["loc"] if not _is_branch(part))
        where = (*place, *inner)
        content = _shortened(for_message(error["input"], ".".join(str(part) for part in where)))
        match error["type"]:
            case "extra_forbidden" if reason := _refusals_at(model, inner[:-1]).get(str(inner[-1])):
                return where, f"{reason}; remove it"
            case "extra_forbidden":
                return where, f"is unknown; {meant(str(inner[-1]), _keys_at(model, inner[:-1]))}"
            case "missing" if isinstance(inner[-1], int):
                return (*where[:-1],), f"is {content}, and lacks a value; add it"
            case "missing":
                return (*where[:-1],), f"lacks the key `{inner[-1]}`; add it"
            case "recursion_loop":
                return where, "contains itself; write it out"
        message = error["msg"].removeprefix("Value error, ").removeprefix("Input ")
        return where, f"is {content}, but {message[:1].lower() + message[1:]}; correct it"


def text_of(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """Return the text of a file of settings."""
    try:
        # A pipe could be waited for without an end, and a device be read without one.
        if not path.is_file():
            path.stat()  # says what is wrong, such as that it does not exist
            raise ReadError(f"{path}: is not a file but a pipe, a device or a folder; name a file")
        with path.open("rb") as file:
            data = file.read(most_bytes + 1)
        if len(data) > most_bytes:
            raise ReadError(
                f"{path}: is larger than {most_bytes} bytes, too large for a configuration; keep data in a separate file"
            )
        return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise ReadError(f"{path}: {error.strerror}; check the path") from error
    except UnicodeEncodeError as error:  # of the path
        raise ReadError(f"{str(path)!a}: no file has such a name; check the path") from error
    except UnicodeDecodeError as error:
        raise ReadError(f"{path}: is not UTF-8 (byte {error.start}); save it as UTF-8") from error


def loaded(path: Path, text: str) -> tuple[Any, dict[Place, int]]:
    """Return what the text of a YAML file says, and the line of each key."""
    try:
        return _loaded(text)
    except MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f", line {error.problem_mark.line + 1}"
        raise ReadError(f"{path}{line}: is not valid YAML ({_first_line(error.problem or error)}); fix it") from error
    except (YAMLError, UnicodeDecodeError, ValueError) as error:
        raise ReadError(f"{path}: is not valid YAML ({_first_line(error)}); fix it") from error
    except RecursionError as error:
        raise ReadError(f"{path}: {_TOO_DEEP}") from error


def _loaded(text: str) -> tuple[Any, dict[Place, int]]:
    r"""Load YAML, with the line of each key; a character that JSON writes as two escapes (``\ud83d\ude00``) becomes one."""
    # The tree of nodes has the lines of keys, and the loaded data has the values.
    node = YAML(typ="safe", pure=True).compose(text)
    lines = dict(_lines(node, (), {})) if isinstance(node, Node) else {}
    data = YAML(typ="safe", pure=True).load(text)
    return _joined(data) if "\\ud" in text.lower() else data, lines


def _parsed(text: str) -> Any:
    """Parse a text as YAML; a plain text keeps its lines, spaces and anything after ``#``."""
    # YAML would take it for a comment.
    if text.lstrip().startswith("#"):
        return text
    # YAML folds the lines of plain text, so such text is taken unparsed.
    value, _ = _loaded(text)
    return text if isinstance(value, str) and text.lstrip()[0] not in _MARKS else value


def _joined(value: Any) -> Any:
    if isinstance(value, dict):
        return {_joined(key): _joined(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_joined(inner) for inner in value]
    return value.encode("utf-16", "surrogatepass").decode("utf-16") if isinstance(value, str) else value


def _lines(node: Node, place: Place, node_sizes: dict[int, int | None]) -> Iterator[tuple[Place, int]]:
    """Iterate over the keys with their lines; entries that an alias repeats have the line of the alias.

    `node_sizes` holds the number of entries of each visited node with all aliases expanded; None while a node is being
    visited. A node that contains itself, or expands to too many entries, is an error.
    """
    if node_sizes.get(id(node), 0) is None:
        raise RecursionError
    if id(node) in node_sizes:
        return
    # Marked as being visited.
    node_sizes[id(node)] = None
    children: list[Node] = []
    if isinstance(node, MappingNode):
        for key, value in node.value:
            yield (*place, str(key.value)), key.start_mark.line + 1
            yield from _lines(value, (*place, str(key.value)), node_sizes)
            children.append(value)
    elif isinstance(node, SequenceNode):
        for number, value in enumerate(node.value):
            yield (*place, number), value.start_mark.line + 1
            yield from _lines(value, (*place, number), node_sizes)
            children.append(value)
    node_sizes[id(node)] = size = 1 + sum(node_sizes[id(child)] or 0 for child in children)
    if size > MOST_ENTRIES:
        raise RecursionError


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_branch(part: object) -> bool:
    """Return whether a part of a place in pydantic is a branch of a union, not a key."""
    return isinstance(part, str) and (
        part.startswith(("list[", "dict[", "constrained", "function-", "literal["))
        or part in {"int", "str", "float", "bool", "[key]"}
    )


def _refusals_at(model: Any, place: Place) -> Mapping[str, str]:
    """Return the reasons why a block has no such key, by key."""
    for part in place:
        model = _within(model, part)
    return getattr(model, "refused", {})


def _keys_at(model: Any, place: Place) -> list[str]:
    """Return the keys of a block."""
    for part in place:
        model = _within(model, part)
    fields: Mapping[str, Any] = getattr(model, "model_fields", {})
    return [info.alias or name for name, info in fields.items()]


def _within(kind: Any, part: str | int) -> Any:
    """Return the type of an entry of a block or list."""
    for alternative in _alternatives(kind):
        fields = getattr(alternative, "model_fields", None)
        if fields is not None:
            return next((info.annotation for name, info in fields.items() if part in {name, info.alias}), None)
        with suppress(IndexError):
            return get_args(alternative)[-1]
    return None


def _alternatives(kind: Any) -> Iterator[Any]:
    if get_origin(kind) in {Union, types.UnionType}:
        for member in get_args(kind):
            yield from _alternatives(member)
    elif kind is not type(None):
        yield kind


def _first_line(error: object) -> str:
    message = str(error).strip()
    return message.splitlines()[0] if message else type(error).__name__
