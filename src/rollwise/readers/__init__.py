"""Readers: logs of any tool, or tables of the caller's own, into TURNS.

Open `read.py` (`rw.read`) first: it lists the files, asks `registry.py` for the format of each, and lets that format
fill a `table.py`. `formats/` has one file per producer, `mapping/` says how a format is declared as data, `native/` reads
the user's own tables, `chats/` and `traces/` what several formats share, `sources/` the containers (compression, archives,
Parquet, SQLite), and `results/` files that hold verdicts, summaries or prompts instead of rollouts.

Another installed package adds a format by an entry point of the group `rollwise.readers`: see `Format`, whose example is
a complete reader.
"""

from typing import TYPE_CHECKING

from rollwise.faces import lazy

if TYPE_CHECKING:
    from rollwise.readers.accounts import accounting as accounting
    from rollwise.readers.chats.turns import Message as Message
    from rollwise.readers.chats.turns import split as split
    from rollwise.readers.likely_columns import unused_columns as unused_columns
    from rollwise.readers.mapping.mapping import RecordMapping as RecordMapping
    from rollwise.readers.outcomes import read_rollouts as read_rollouts
    from rollwise.readers.plugins import Format as Format
    from rollwise.readers.problems import BrokenError as BrokenError
    from rollwise.readers.problems import Problems as Problems
    from rollwise.readers.problems import Reading as Reading
    from rollwise.readers.proposing import Proposal as Proposal
    from rollwise.readers.records import leftovers as leftovers
    from rollwise.readers.records import parse as parse
    from rollwise.readers.sources.documents import Document as Document
    from rollwise.readers.sources.shapes import Shapes as Shapes
    from rollwise.readers.summaries import read_summary as read_summary
    from rollwise.readers.table import TurnRow as TurnRow
    from rollwise.readers.table import TurnsBuilder as TurnsBuilder
    from rollwise.readers.traces.steps import steps as steps

__all__, __getattr__, __dir__ = lazy(__name__)
