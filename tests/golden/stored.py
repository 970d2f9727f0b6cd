"""How results are stored and compared: columns as JSON, long ones as a hash, and what changed in plain words."""

import datetime as dt
import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from rollwise.errors import RollwiseError

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
RESULTS = HERE / "results"
SHARED = Path(os.environ.get("ROLLWISE_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))

Result = pl.DataFrame | Mapping[str, pl.DataFrame]
"""What a case computes: a table, or several by name."""

Cases = dict[str, Callable[[], Result]]
"""What computes the result of each case, by its name: `group/what is computed`."""

RELATIVE, ABSOLUTE = 1e-9, 1e-12
FULL = re.compile(
    r"(?<![\w.])-?\d+\.\d{12,}(?:e-?\d+)?(?!\w)"
)  # a number in full, whose last digit depends on the processor
DIGITS = 12
MOST_IN_TABLE, MOST_IN_COLUMN, MOST_IN_NUMBERS = 16_000, 1_500, 16_000
"""Characters of JSON up to which a table, a column of a longer table, and its floating-point column are stored whole."""

MOST_OF_REAL_LOGS = 60
"""The same for logs of other tools, whose texts should not stand in this repository a second time."""

REAL_LOGS = "real_logs"


def plain(value: Any) -> Any:  # noqa: PLR0911  # a line for each kind of cell
    """A cell as JSON: floats to 12 digits, times as text, and folders of this machine as their roles."""
    match value:
        case None | bool() | int():
            return value
        case float():
            return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else {"float": str(value)}
        case str():
            return value.replace(str(REPOSITORY), "<repository>").replace(str(SHARED), "<shared>")
        case bytes():
            return value.hex()
        case dt.timedelta():
            return value.total_seconds()
        case dt.date() | dt.time():
            return value.isoformat()
        case dict():
            return {name: plain(inner) for name, inner in value.items()}
        case list() | tuple() | pl.Series():
            return [plain(inner) for inner in value]
        case _:
            return str(value)


def digest(values: list[Any]) -> str:
    """A hash of cells that are plain already."""
    return hashlib.blake2b(json.dumps(values).encode(), digest_size=10).hexdigest()


def packed(values: list[Any], dtype: str) -> dict[str, Any]:
    """A column in full: its one value where all rows have the same, and texts that come again once."""
    texts = {json.dumps(value): value for value in values}
    if len(texts) == 1:
        return {"dtype": dtype, "same": values[0]}
    if dtype == "String" and 2 * len(texts) <= len(values):
        places = {text: place for place, text in enumerate(texts)}
        return {"dtype": dtype, "texts": list(texts.values()), "which": [places[json.dumps(value)] for value in values]}
    return {"dtype": dtype, "values": values}


def hashed(values: list[Any], dtype: str) -> dict[str, Any]:
    """A column as the number of its nulls and a hash."""
    return {"dtype": dtype, "nulls": sum(value is None for value in values), "hash": digest(values)}


def table_entry(frame: pl.DataFrame, *, real: bool = False) -> dict[str, Any]:
    """A table as JSON: its number of rows, and its columns in order."""
    cells = {column.name: ([plain(value) for value in column.to_list()], str(column.dtype)) for column in frame}
    columns = {name: packed(values, dtype) for name, (values, dtype) in cells.items()}
    sizes = {name: len(json.dumps(column)) for name, column in columns.items()}
    for name, (values, dtype) in cells.items():
        most = MOST_IN_NUMBERS if frame.schema[name].is_float() else MOST_IN_COLUMN
        if real:
            most = len(dtype) + MOST_OF_REAL_LOGS
        if (real or sum(sizes.values()) > MOST_IN_TABLE) and sizes[name] > most:
            columns[name] = hashed(values, dtype)
    return {"rows": frame.height, "columns": columns}


def entry(name: str, result: Result) -> dict[str, Any]:
    """The result of a case as JSON, table by table."""
    tables = {"table": result} if isinstance(result, pl.DataFrame) else result
    return {part: table_entry(frame, real=group_of(name) == REAL_LOGS) for part, frame in tables.items()}


def or_refusal(compute: Callable[[], Result]) -> Callable[[], Result]:
    """What is computed, or the error in which the package says why not: what is refused is a result as well."""

    def case() -> Result:
        try:
            return compute()
        except RollwiseError as refused:
            return pl.DataFrame({"error": [type(refused).__name__], "message": [str(refused)]})

    return case


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def group_of(name: str) -> str:
    """The group of a case, which names its file."""
    return name.split("/", 1)[0]


def load() -> dict[str, Any]:
    """All stored results by case."""
    files = sorted(RESULTS.glob("*.json")) if RESULTS.is_dir() else []
    return {name: case for file in files for name, case in json.loads(file.read_text("utf-8")).items()}


def save(results: Mapping[str, Any]) -> None:
    """Write all results, a file for each group and a line for each column, so that a diff shows what changed."""
    RESULTS.mkdir(exist_ok=True)
    groups = sorted({group_of(name) for name in results})
    for file in RESULTS.glob("*.json"):
        if file.stem not in groups:
            file.unlink()
    for group in groups:
        cases = [f"{quoted(name)}: {case_text(results[name])}" for name in sorted(results) if group_of(name) == group]
        (RESULTS / f"{group}.json").write_text("{\n" + ",\n".join(cases) + "\n}\n", "utf-8")


def quoted(value: Any) -> str:
    """JSON in one line, with letters of all scripts as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def case_text(case: Mapping[str, Any]) -> str:
    """A case with a line for each of its columns."""
    tables = []
    for part, table in case.items():
        columns = ",\n".join(f"  {quoted(name)}: {quoted(column)}" for name, column in table["columns"].items())
        tables.append(f' {quoted(part)}: {{"rows": {table["rows"]}, "columns": {{\n{columns}}}}}')
    return "{\n" + ",\n".join(tables) + "}"


# ── what changed ──────────────────────────────────────────────────────────────────────────────────────────────────────
def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What changed between two results of a case, a sentence each; empty where they agree."""
    lines = [f"table {part} is gone" for part in before if part not in after]
    lines += [f"table {part} is new" for part in after if part not in before]
    for part in before:
        if part in after:
            lines += [f"{part}: {line}" for line in table_changes(before[part], after[part])]
    return lines


def reorderings(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Tables whose columns stand in another order, which is told and is no failure."""
    return [
        f"{part}: columns stand in another order: {', '.join(after[part]['columns'])}"
        for part in before
        if part in after
        and list(before[part]["columns"]) != list(after[part]["columns"])
        and set(before[part]["columns"]) == set(after[part]["columns"])
    ]


def table_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What changed in a table."""
    old, new = before["columns"], after["columns"]
    lines = []
    if gone := [name for name in old if name not in new]:
        lines.append(f"columns removed: {', '.join(gone)}")
    if added := [name for name in new if name not in old]:
        lines.append(f"columns added: {', '.join(added)}")
    if before["rows"] != after["rows"]:
        lines.append(f"{before['rows']} rows became {after['rows']}")
    for name in old:
        if name not in new:
            continue
        if old[name]["dtype"] != new[name]["dtype"]:
            lines.append(f"{name}: {old[name]['dtype']} became {new[name]['dtype']}")
        if line := column_change(old[name], before["rows"], new[name], after["rows"]):
            lines.append(f"{name}: {line}")
    return lines


def column_change(old: Mapping[str, Any], old_rows: int, new: Mapping[str, Any], new_rows: int) -> str:
    """What changed in the cells of a column; empty where nothing did."""
    if "hash" in old or "hash" in new:
        before, after = (
            column if "hash" in column else hashed(unpacked(column, rows), column["dtype"])
            for column, rows in ((old, old_rows), (new, new_rows))
        )
        if before["hash"] == after["hash"]:
            return ""
        return f"other cells (stored as a hash); {before['nulls']} nulls before, {after['nulls']} now"
    pairs = list(zip(unpacked(old, old_rows), unpacked(new, new_rows), strict=False))
    places = [place for place, (one, other) in enumerate(pairs) if not alike(one, other)]
    if not places:
        return ""
    gaps = [gap for place in places for gap in differences(*pairs[place])]
    absolute, relative = (max((gap[which] for gap in gaps), default=None) for which in (0, 1))
    size = f"; largest difference {absolute:.3g}, relative {relative:.3g}" if gaps else ""
    first, (one, other) = places[0], pairs[places[0]]
    return f"{len(places)} of {len(pairs)} cells differ{size}; first in row {first}: {short(one)} became {short(other)}"


def unpacked(column: Mapping[str, Any], rows: int) -> list[Any]:
    """The cells of a column that was stored in full."""
    if "which" in column:
        return [column["texts"][place] for place in column["which"]]
    return list(column["values"]) if "values" in column else [column["same"]] * rows


def is_number(value: Any) -> bool:
    """Whether a cell is a number, and no Boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def alike(one: Any, other: Any) -> bool:
    """Whether two cells agree: floats closely, also where a text has them in full, everything else exactly."""
    if isinstance(one, float) and isinstance(other, float | int) and not isinstance(other, bool):
        return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    if isinstance(one, str) and isinstance(other, str) and one != other:  # such as a line of CSV
        numbers = [[*map(float, FULL.findall(text))] for text in (one, other)]
        return FULL.sub("", one) == FULL.sub("", other) and alike(*numbers)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return type(one) is type(other) and one == other


def differences(one: Any, other: Any) -> list[tuple[float, float]]:
    """Absolute and relative differences of the numbers in two cells."""
    if is_number(one) and is_number(other):
        gap = abs(one - other)
        return [(gap, gap / abs(one) if one else math.inf)]
    if isinstance(one, dict) and isinstance(other, dict):
        return [gap for name in one if name in other for gap in differences(one[name], other[name])]
    if isinstance(one, list) and isinstance(other, list):
        return [gap for pair in zip(one, other, strict=False) for gap in differences(*pair)]
    return []


def short(value: Any, most: int = 160) -> str:
    """A cell as JSON, cut where it is long."""
    text = quoted(value)
    return text if len(text) <= most else f"{text[:most]}..."
