"""Files of requirements, such as gate.yml: the arguments of `gate`, by their names."""

import json
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic

from rollwise.errors import ReadError
from rollwise.files.configuration import ConfigFile, Strict, text_of

_SUFFIXES = (".yml", ".yaml", ".json", ".toml")


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Texts = Annotated[list[str], pydantic.BeforeValidator(_as_list)]


class GateFile(Strict):
    """Entries of the file; absent ones keep the defaults of `gate`."""

    require: Texts
    by: Texts | None = None
    cluster: Texts | None = None  # a column, a list of two crossed columns, or ``none``
    level: Annotated[float, pydantic.Field(gt=0, lt=1)] = 0.95
    unjudged: Literal["bounds", "drop", "sample"] = "bounds"
    undecided: Literal["stop", "warn"] = "stop"
    expect: Texts | None = None
    baseline: Texts | None = None  # paths are relative to the working folder
    goals: Literal["same", "common", "all"] = "same"
    against_self: Annotated[int, pydantic.Field(ge=0)] = 0
    looks: Literal["one", "many"] = "one"
    family: Literal["each", "all"] = "each"
    seed: int = 0


def read_gate_file(path: str | Path) -> dict[str, Any]:
    """Read a file of requirements, and return the entries that it has."""
    path = Path(path)
    if path.suffix not in _SUFFIXES:
        raise ReadError(f"{path}: is not a file of requirements; name one that ends in {', '.join(_SUFFIXES)}")
    document = ConfigFile.read(path) if path.suffix in {".yml", ".yaml"} else _without_lines(path)
    entries: dict[str, Any] = document.checked(GateFile).model_dump(exclude_unset=True)
    if not entries["require"]:
        raise document.error(("require",), "holds no requirement; write one such as 'attack_success < 1%'")
    return entries


def _without_lines(path: Path) -> ConfigFile:
    """Read JSON or TOML, whose parsers do not say in which line an entry is."""
    text = text_of(path)
    try:
        data = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ReadError(f"{path}: is not valid {path.suffix[1:].upper()} ({error}); fix it") from error
    if not isinstance(data, dict):
        raise ReadError(f"{path}: holds no entries; write an object with the key `require`")
    return ConfigFile(path, data)
