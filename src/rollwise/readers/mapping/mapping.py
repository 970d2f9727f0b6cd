"""A format as data: how the records of a file become turns."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import starmap
from typing import Any

from rollwise.readers.common import outcome_of
from rollwise.readers.mapping.cells import (
    ATTACK,
    COLUMNS_OF,
    TASK,
    Rules,
    Turns,
    as_object,
    complete,
    identity_of,
    names_of,
    needed,
    own_columns,
    rules_of,
    turns_of,
    without_defaults,
)
from rollwise.readers.mapping.description import described, described_turns, row_of
from rollwise.readers.mapping.paths import Around, Record
from rollwise.readers.mapping.records import records_at
from rollwise.readers.mapping.reshaping import OwnFiles
from rollwise.readers.mapping.types import checked, type_of
from rollwise.readers.mapping.values import Rule, value_of
from rollwise.readers.problems import BrokenError, Problems
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnsBuilder


@dataclass(frozen=True, eq=False)
class RecordMapping:
    r"""A mapping from the records of a file to turns.

    Columns are filled by rules: see `rollwise.readers.mapping.values`, and for paths `rollwise.readers.mapping.paths`.
    A field has the type of the column that it fills. One that does not fit is a problem; where problems are collected, the
    field is null. A record that cannot be read counts as a rollout whose outcome is missing, if a verdict of it can be read.
    Fields that no rule reads become columns of their own names.

    Attributes
    ----------
    doc
        What a reader of the documentation should know. ``{fields}`` in it is replaced by a table of fields and columns.
    records
        Where the records are in each line, item of a list, or object that is a whole file, as in ``results[*]``; or a
        function that yields them.
    run
        The rule for `run`; by default, and where it is null, the format and a hash of the content.
    rollout
        Rules for the parts of `rollout_id` after the run; null parts of more than one are left out.
    facts
        Rules for the columns of TURNS that describe the rollout.
    turns
        Where the turns of a record are: a path to messages; a path to a list of objects that `turn` describes; or a function
        that returns turns (and their further columns). By default the record is one turn.
    turn
        Rules for the columns of one turn.
    last
        Rules for the columns of the last turn.
    verdicts
        Rules with ``of``: of the ``attack`` (columns `succeeded` of the last turn and `outcome`), of the ``rollout``
        (`outcome` alone), or of the ``task`` (`solved`).
    crashed
        A function that says whether an error ended the rollout before it was judged. A reward, score or verdict that then
        says no (0 or false) was written by the framework, not by a judge: it is null, and a notice counts it.
    columns
        Rules for columns of your own; a name that ends in ``*`` spreads an object, ``"*"`` what a function returns.
    turn_columns
        Rules for columns of your own of each turn, where `turns` is a path and `turn` describes its items.
    fields
        Types of fields that differ from the type of their column, or that functions read; also of fields around a record, as
        ``^name``, where `records` is a path. A field whose type allows null may be absent; ``Required[...]`` and
        ``NotRequired[...]`` say otherwise.
    signs
        Further rules, besides the verdicts, whose values show that a broken record is a rollout: a number or Boolean, alone
        or in a list.
    used
        Further fields that do not become columns, because functions read them.
    empty
        Values that are null in fields that no rule reads.
    where
        Values by path that a record must have; other records are passed over.
    around
        A function that returns what a file, or its folder, says of all its records: ``@name`` in paths.
    own
        How files of no tool's format are read, whose records may be rows, lists or values; None for the format of a tool.
    module
        Name of the module that declares it, whose docstring says what is known of the format.

    Examples
    --------
    >>> from pathlib import Path
    >>> toy = RecordMapping(
    ...     doc="Read each line as a rollout of one turn.\n\n{fields}",
    ...     rollout=["@key"],
    ...     facts={"target": "model"},
    ...     turn={"prompt": "ask", "response": "reply"},
    ...     fields={"reply": str},
    ...     verdicts=[{"of": "attack", "from": "verdict", "true": ["broken"], "false": ["held"]}],
    ... )
    >>> log = Document(
    ...     Path("log.jsonl"), b'{"ask": "Hi", "reply": "Oaf", "verdict": "broken", "mood": 3}\n{"verdict": "held"}'
    ... )
    >>> table = TurnsBuilder("toy", Problems(collect=True), {})
    >>> toy(log, table)
    >>> table.frame().select("turn", "prompt", "response", "outcome", "mood").rows()
    [(1, 'Hi', 'Oaf', 'success', 3), (None, None, None, None, None)]
    >>> table.problems.frame().rows()
    [('log.jsonl', '2', None, 'object missing required field `reply`')]
    """

    doc: str
    rollout: Sequence[Rule]
    records: str | Callable[[Document, TurnsBuilder, Around], Iterable[Record]] = "."
    run: Rule | None = None
    facts: Mapping[str, Rule] = field(default_factory=dict)
    turns: str | Callable[[Record], Turns] | None = None
    turn: Mapping[str, Rule] = field(default_factory=dict)
    last: Mapping[str, Rule] = field(default_factory=dict)
    verdicts: Sequence[Mapping[str, Any]] = ()
    crashed: Callable[[Record], bool] | None = None
    columns: Mapping[str, Rule] = field(default_factory=dict)
    turn_columns: Mapping[str, Rule] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    signs: Sequence[Rule] = ()
    used: Collection[str] = ()
    empty: Sequence[Any] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    around: Callable[[Document], Mapping[str, Any]] | None = None
    own: OwnFiles | None = None
    module: str | None = None

    def __post_init__(self) -> None:
        """Make the documentation, and check every rule."""
        run = [("hash of the content" if self.run is None else value_of(self.run).in_file, "`run`")]
        parts = ["run", *(value_of(rule).in_file for rule in self.rollout)]
        turns = [(described_turns(self.turns), "turns")] if self.turns is not None else []
        columns = [*self._rules.facts.items(), *self._rules.turn.items(), *self._rules.last.items()]
        verdicts = [row_of("`, `".join(COLUMNS_OF[of]), rule) for of, rule, _ in self._rules.verdicts]
        row_rules = [row_of(name, rule) for name, rule in self._rules.columns.items() if name not in {"*", *rule.paths}]
        rows = [*run, (", ".join(parts), "`rollout_id`"), *turns, *starmap(row_of, columns), *verdicts, *row_rules]
        object.__setattr__(self, "__doc__", described(self.doc, rows))
        if self.module is not None:
            object.__setattr__(self, "__module__", self.module)

    @cached_property
    def _rules(self) -> "Rules":
        return rules_of(self)

    def misfit(self, document: Document) -> str | None:
        """Say why a file is not read by this mapping: it lacks the records, or a field that turns or verdicts come from.

        Examples
        --------
        >>> from pathlib import Path
        >>> mapping = RecordMapping(doc="", rollout=["@key"], records="results[*]", turn={"response": "reply"})
        >>> files = (b'{"results": [{"reply": "Hi"}]}', b'{"results": [{"answer": "Hi"}]}', b'{"rows": []}')
        >>> [mapping.misfit(Document(Path("a.json"), data)) for data in files]
        [None, 'has no field `reply`', 'holds no records at `results[*]`']
        """
        if document.kind in {"zip", "sqlite", "empty", "other"}:
            return "is empty" if document.kind == "empty" else "is neither JSON nor a table"
        missing, num_records = needed(self, self._rules), 0
        table = TurnsBuilder("", Problems(collect=True), {})
        try:
            for record in self._records(document, table, Around(document, "")):
                as_object(record, self._rules)
                if not isinstance(record.value, dict) or any(record[path] != is_ for path, is_ in self.where.items()):
                    continue
                num_records += 1
                missing = [part for part in missing if not part.is_in(record)]
                if not missing:
                    return None
        except BrokenError as error:
            if not error.reason.startswith("object missing") and "expected" not in error.reason:
                raise
        if not num_records:
            return "holds no records" if self.records == "." else f"holds no records at `{self.records}`"
        return f"has no field `{missing[0].listed}`" if missing else None

    def _records(self, document: Document, builder: TurnsBuilder, around: Around) -> Iterable[Record]:
        """Return the records of a file, in the shape that the rules read."""
        if callable(self.records):
            return self.records(document, builder, around)
        outer, own_files = self._rules.outer, OwnFiles() if self.own is None else self.own
        check = partial(checked, kind=type_of(outer), tree=outer) if outer else None
        records: Iterable[Record] = records_at(
            self.records, document, builder, around, check, frozenset(own_files.texts)
        )
        for shape in own_files.shapes:
            records = shape(records, builder)
        return records

    def __call__(self, document: Document, builder: TurnsBuilder, run: str | None = None) -> None:
        """Add the rollouts of a file to the table of a format; `run` is the run of records that name none."""
        around = Around(document, f"{builder.source}-{document.digest}" if run is None else run)
        if self.around is not None:
            around.found.update(self.around(document))
        rules = self._rules
        raw, fields = object(), {}
        for record in self._records(document, builder, around):
            if self.own is not None:
                as_object(record, rules)
            with builder.rollout(document.name, record.name, partial(identity_of, record, rules)):
                if record.broken is not None:
                    raise record.broken
                if record.raw is not raw:  # several rollouts may be in one
                    fields = checked(record.value, rules.type, rules.tree, record.within)
                    raw = record.raw
                record.value = fields
                if self.where and any(record[path] != value for path, value in self.where.items()):
                    builder.passes_over(document.name)
                    continue
                turns, turn_columns = turns_of(record, self.turns, rules, self.own)
                run, rollout_id = names_of(record, rules)
                facts = {"run": run, **{name: read(record) for name, read in rules.cells["facts"].items()}}
                last = {name: read(record) for name, read in rules.cells["last"].items()}
                verdicts = [(of, rule.of(record), unknown) for of, rule, unknown in rules.verdicts]
                if self.crashed is not None and self.crashed(record):
                    last, verdicts = without_defaults(last, verdicts)
                for of, verdict, unknown in verdicts:
                    last |= {"succeeded": verdict} if of == ATTACK else {}
                    facts |= {"solved": verdict} if of == TASK else {"outcome": outcome_of(verdict, unknown)}
                if last:
                    complete(turns, last)
                builder.add(document.name, rollout_id, turns, facts, own_columns(record, rules), turn_columns)
