"""Store what a producer wrote, with its figures, as a fixture of `tests/readers/test_producers.py`."""

import datetime as dt
import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 14):
    import zipfile
else:
    from backports.zstd import zipfile

KEPT = Path(__file__).resolve().parent.parent / "readers" / "produced"


def keep(logs: Path, facts: dict[str, Any], folders: dict[Path, str]) -> None:
    """Store logs and figures. Each of this machine's folders is replaced by its name in `folders`."""
    target = KEPT / facts["tool"]
    shutil.rmtree(target, ignore_errors=True)
    for path in (path for path in logs.rglob("*") if path.is_file()):
        copy = target / "logs" / path.relative_to(logs)
        copy.parent.mkdir(parents=True, exist_ok=True)
        _copy(path, copy, {os.fsencode(folder): name.encode() for folder, name in folders.items()})
    record = {**facts, "date": dt.datetime.now(tz=dt.UTC).date().isoformat()}
    (target / "figures.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def contents(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of a file, or of each member of an archive."""
    if not zipfile.is_zipfile(path):
        yield path.name, path.read_bytes()
        return
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            yield info.filename, archive.read(info)


def _copy(path: Path, copy: Path, folders: dict[bytes, bytes]) -> None:
    """Copy a file, or an archive member by member, without the names of this machine's folders."""

    def clean(content: bytes) -> bytes:
        for folder, name in folders.items():
            content = content.replace(folder, name)
        return content

    if path.suffix == ".db":
        shutil.copyfile(path, copy)
        _clean_database(copy, clean)
        return
    if not zipfile.is_zipfile(path):
        copy.write_bytes(clean(path.read_bytes()))
        return
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(copy, "w") as cleaned:
        for info in archive.infolist():
            cleaned.writestr(info.filename, clean(archive.read(info)), info.compress_type)


def _clean_database(path: Path, clean: Callable[[bytes], bytes]) -> None:
    """Clean every text in a SQLite file."""
    with closing(sqlite3.connect(path)) as database:
        database.create_function(
            "clean", 1, lambda text: clean(text.encode()).decode() if isinstance(text, str) else text
        )
        tables = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        for (table,) in tables:
            names = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
            changes = ", ".join(f'"{name}" = clean("{name}")' for name in names)
            database.execute(f'UPDATE "{table}" SET {changes}')
        database.commit()
        database.execute("VACUUM")
