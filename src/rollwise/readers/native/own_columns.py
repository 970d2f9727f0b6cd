"""Columns of people's own read as columns of TURNS, once for all files of a reading; what is in doubt becomes a question.

All tables and chats of no single tool are looked at together, so that a column is not used in one file and asked about in another.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from rollwise.readers.columns import arrange, reconcile, without_nulls
from rollwise.readers.crashes import are_failed_calls, crashed, may_report_crashes, without_failed_calls
from rollwise.readers.likely_columns import of_facts
from rollwise.readers.problems import Problems
from rollwise.readers.roles.benign import may_have_benign, set_apart
from rollwise.readers.roles.columns import CUSTOM, Table, is_complete, may_matter, may_say_sides, own_names
from rollwise.readers.roles.decisions import applied, decided, in_words, is_told
from rollwise.readers.roles.verdicts import ON_ATTACKS
from rollwise.schema import NO_ATTACK
from rollwise.schema.named import values_named

SHAREGPT = "sharegpt"
_FEW = 3  # right answers that are more than a chance
FAILED_CALLS = (
    "the answers of {} turns are errors of the call, such as `ERROR: ... API`: read as `error`, without a verdict "
    "(if they are answers, name their column as `response`)"
)
_SPOKEN = 5  # blanks in a target that is a text, not a name


class Part(NamedTuple):
    """Turns of one reading as they were taken from one or several files of a format."""

    frame: pl.DataFrame
    source: str
    of_records: frozenset[str] = frozenset()  # columns that records state once for their whole rollout
    has_answers: bool = True  # whether there is a column of answers, perhaps one that is null throughout
    is_written: bool = False  # whether rollwise wrote it, so that nothing is guessed

    @property
    def is_own(self) -> bool:
        """True if its columns are the user's own."""
        return self.source in CUSTOM and not self.is_written


def concerns(columns: Collection[str]) -> bool:
    """Return whether a table of a file has a column that may be read as one of TURNS, or that may report a crash."""
    return not is_complete(columns) and (any(map(may_matter, columns)) or may_report_crashes(columns))


def _is_open(part: Part, named: Collection[str]) -> bool:
    """Return whether a part has something that is to be read."""
    columns = own_names(part.frame.columns)
    has_errors = "error" in part.frame.columns and part.frame["error"].count() > 0
    if has_errors or any(map(may_matter, columns)) or may_report_crashes(columns) or ON_ATTACKS & {*named}:
        return True
    if are_failed_calls(part.frame) is not None or any(
        may_say_sides(values_named(part.frame, name)) for name in columns
    ):
        return True
    return "attack" not in named and may_have_benign(part.frame)


def understood(
    parts: Sequence[Part],
    problems: Problems,
    named: Collection[str] = (),
    of: str | None = None,
    enclosing: Collection[str] = (),  # columns that were the same for all records of an object, such as its totals
) -> list[pl.DataFrame]:
    """Return the frames of all parts, the columns of people's own in them read as columns of TURNS where that is beyond doubt."""
    parts = [_with_models(_with_prompts(part, problems, named), problems, named) for part in parts]
    own_parts = [part for part in parts if part.is_own and part.frame.height]
    if not any(_is_open(part, named) for part in own_parts):
        return [part.frame for part in parts]
    # Columns are decided on over all files at once: one file alone may hold only successes, whose words say nothing.
    joint = _joint(own_parts)
    has_no_attack = None
    if any(
        part.source == SHAREGPT for part in own_parts
    ):  # its reader says so of each chat; a column on attacks says otherwise
        has_no_attack = ((joint["source"] == SHAREGPT) & (joint["attack"] == NO_ATTACK)).fill_null(value=False)
        joint = joint.with_columns(joint["attack"].set(has_no_attack, None))
    rows_of_records = _rows_of_records(own_parts, joint)
    # Names of files often say what their verdicts are about.
    files = [Path(file).stem for file, counts in problems.record_counts.items() if counts.format in CUSTOM]
    table = Table(joint, rows_of_records, frozenset(named), of, frozenset(enclosing), files)
    roles, questions, unused = decided(table)
    problems.read_as(in_words(role, joint) for role in roles if is_told(role))
    problems.roles += roles
    problems.told_whose |= bool(table.claimed)
    problems.questions += questions
    problems.suggest(of_facts(unused, joint))
    joint = applied(table, roles)
    if has_no_attack is not None:
        on_attacks = bool(ON_ATTACKS & ({*named} | {role.name for role in roles}))
        joint = _benign(joint, has_no_attack, on_attacks=on_attacks)
    if "attack" not in named:  # else it is the user who says which are attacks
        joint, notices = set_apart(
            joint, {name for question in questions for name in (question.column, *question.options)}
        )
        problems.suggest(notices)
    read = {role.column for role in roles}
    return _frames_of_parts(parts, joint, problems, read, has_errors="response" not in named)


def _with_prompts(part: Part, problems: Problems, named: Collection[str]) -> Part:
    """Return a part whose attacks are names: texts that hardly repeat are the prompts, where there are no others."""
    frame = part.frame
    if not part.is_own or "attack" not in frame.columns or {"attack", "prompt"} & {*named}:
        return part
    attacks = frame["attack"].drop_nulls()
    has_prompts = "prompt" in frame.columns and frame["prompt"].count() > 0
    spoken = (attacks.str.count_matches(" ") >= _SPOKEN).sum()
    if has_prompts or 2 * spoken <= len(attacks) or 2 * attacks.n_unique() <= len(attacks):
        return part
    problems.read_as(["`attack` (texts) as `prompt`, as it names no attack"])
    return part._replace(frame=frame.drop("prompt", strict=False).rename({"attack": "prompt"}))


def _with_models(part: Part, problems: Problems, named: Collection[str]) -> Part:
    """Return a part whose targets name models: texts that an attack aims at stay as `target_text`, right answers are `expected`."""
    if not part.is_own or "target" not in part.frame.columns or "target" in named:
        return part
    targets = part.frame["target"].drop_nulls().unique()
    if not len(targets):
        return part
    spoken = (targets.str.count_matches(" ") >= _SPOKEN) | targets.str.starts_with("Sure")
    # GCG and its successors call the wished beginning of an answer `target`: "Sure, here is ...".
    if "target_text" not in part.frame.columns and spoken.sum() > len(targets) / 2:
        problems.read_as(["`target` (texts) as `target_text`, as it names no model"])
        return part._replace(frame=part.frame.rename({"target": "target_text"}))
    if (
        len(targets) >= _FEW
        and _are_answers(part.frame)
        and not ("expected" in part.frame.columns and part.frame["expected"].count())
    ):
        problems.read_as(["`target` (equal to answers) as `expected`, as it names no model"])
        return part._replace(frame=part.frame.drop("expected", strict=False).rename({"target": "expected"}))
    return part


def _are_answers(frame: pl.DataFrame) -> bool:
    """Return whether targets are the right answers: several that some answers are equal to."""
    if "response" not in frame.columns or frame["response"].dtype != pl.String:
        return False
    same = (
        frame["target"].str.strip_chars().str.to_lowercase() == frame["response"].str.strip_chars().str.to_lowercase()
    )
    # Names of models are never equal to answers; right answers are, now and then.
    return int(same.sum() or 0) >= max(_FEW, 0.1 * frame.height)


def _joint(parts: Sequence[Part]) -> pl.DataFrame:
    """Return the turns of all parts as one frame, with every column of TURNS that may be read."""
    if len(parts) == 1:
        return parts[0].frame
    return reconcile([without_nulls(part.frame) for part in parts])


def _rows_of_records(parts: Sequence[Part], joint: pl.DataFrame) -> dict[str, pl.Series]:
    """Return for each column that records state of their whole rollout the rows where they do."""
    names = {name for part in parts for name in part.of_records if name in joint.columns}
    heights = [part.frame.height for part in parts]
    masks = {}
    for name in names:
        pieces = [
            pl.repeat(name in part.of_records, height, eager=True) for part, height in zip(parts, heights, strict=True)
        ]
        masks[name] = pl.concat(pieces)
    return masks


def _benign(frame: pl.DataFrame, has_no_attack: pl.Series, *, on_attacks: bool) -> pl.DataFrame:
    """Return chats of which their reader said that nothing is attacked, without that where a verdict says otherwise."""
    frame = arrange(frame)
    judged = (pl.col("outcome").is_not_null() | pl.col("succeeded").is_not_null()).any().over("rollout_id")
    stays = has_no_attack & frame["attack"].is_null() & ~(frame.select(judged).to_series() & on_attacks)
    return frame.with_columns(frame["attack"].set(stays, NO_ATTACK))


def _frames_of_parts(
    parts: Sequence[Part], joint: pl.DataFrame, problems: Problems, read: Collection[str], *, has_errors: bool
) -> list[pl.DataFrame]:
    """Return the frames of all parts, with crashes as errors; the frames of people's own files are cut out of `joint`.

    Answers may be errors of the call if `has_errors`, which they are not where the user named their column.
    """
    frames, start = [], 0
    for part in parts:
        if not (part.is_own and part.frame.height):
            frames.append(part.frame)
            continue
        frame = joint.slice(start, part.frame.height)
        start += part.frame.height
        lost = [
            name for name in frame.columns if name not in part.frame.columns and not values_named(frame, name).count()
        ]
        frame = frame.drop(lost) if len(parts) > 1 else frame
        rows = are_failed_calls(frame) if has_errors else None
        if rows is not None:
            frame = without_failed_calls(arrange(frame), rows)
            problems.suggest([FAILED_CALLS.format(int(rows.sum()))])
        if part.has_answers and may_report_crashes(frame.columns):
            frame, contradictions = crashed(arrange(frame), part.of_records - {*read})
            problems.crashed(contradictions)
        frames.append(frame)
    return frames
