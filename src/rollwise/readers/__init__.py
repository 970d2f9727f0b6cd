"""Readers: logs of any tool, or tables of the caller's own, into TURNS.

Open `read.py` (`rw.read`) first: it lists the files, asks `registry.py` for the format of each, and lets that format
fill a `table.py`. `formats/` has one file per producer, `mapping/` says how a format is declared as data, `native/` reads
the user's own tables, `chats/` and `traces/` what several formats share, `sources/` the containers (compression, archives,
Parquet, SQLite), and `results/` files that hold verdicts, summaries or prompts instead of rollouts.

Another installed package adds a format by an entry point of the group `rollwise.readers`: see `Format`, whose example is
a complete reader.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rollwise.readers.accounts import accounting
    from rollwise.readers.chats.turns import Message, split
    from rollwise.readers.likely_columns import unused_columns
    from rollwise.readers.mapping.mapping import RecordMapping
    from rollwise.readers.outcomes import read_rollouts
    from rollwise.readers.plugins import Format
    from rollwise.readers.problems import BrokenError, Problems, Reading
    from rollwise.readers.proposing import Proposal
    from rollwise.readers.records import leftovers, parse
    from rollwise.readers.sources.documents import Document
    from rollwise.readers.sources.shapes import Shapes
    from rollwise.readers.summaries import read_summary
    from rollwise.readers.table import TurnRow, TurnsBuilder
    from rollwise.readers.traces.steps import steps

__all__ = [
    "BrokenError",
    "Document",
    "Format",
    "Message",
    "Problems",
    "Proposal",
    "Reading",
    "RecordMapping",
    "Shapes",
    "TurnRow",
    "TurnsBuilder",
    "accounting",
    "leftovers",
    "parse",
    "read_rollouts",
    "read_summary",
    "split",
    "steps",
    "unused_columns",
]

_MODULES = {
    "BrokenError": ".problems",
    "Document": ".sources.documents",
    "Format": ".plugins",
    "RecordMapping": ".mapping.mapping",
    "Message": ".chats.turns",
    "Problems": ".problems",
    "Proposal": ".proposing",
    "Reading": ".problems",
    "Shapes": ".sources.shapes",
    "TurnsBuilder": ".table",
    "TurnRow": ".table",
    "accounting": ".accounts",
    "leftovers": ".records",
    "parse": ".records",
    "read_rollouts": ".outcomes",
    "read_summary": ".summaries",
    "split": ".chats.turns",
    "steps": ".traces.steps",
    "unused_columns": ".likely_columns",
}


def __getattr__(name: str) -> Any:
    """Import a name on first use."""
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return list(__all__)
