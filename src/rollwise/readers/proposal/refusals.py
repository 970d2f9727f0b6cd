"""Records that are no rollouts, each kind by its name: spans, prompts, measurements, counts of groups."""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations

import polars as pl

from rollwise.readers.proposal.contents import LINES, Content
from rollwise.readers.proposal.fields import Field, fields_of, flat
from rollwise.readers.proposal.places import WHOLE_RECORD, Item, Places
from rollwise.readers.proposal.signs import are_turns, below, holds_messages, judges, roles_of, speaking
from rollwise.readers.roles.names import (
    ATTACK_FALSE,
    ATTACK_TRUE,
    COUNTS,
    EITHER_FALSE,
    EITHER_TRUE,
    LIMITS,
    OF_PROMPTS,
    TASK_FALSE,
    TASK_TRUE,
    judges_attacks,
    may_be_of_prompts,
    verdict_claim,
    words_of,
)
from rollwise.readers.roles.questions import Question
from rollwise.readers.roles.ratings import may_rate, question_of
from rollwise.readers.roles.words import word

LESSONS = "holds questions with answers, which may be data to learn from: name the answer if a model gave it"
_LESSONS = frozenset(
    {
        "question", "answer", "instruction", "input", "output", "completion", "context", "explanation", "choices", "options",
    }
)  # fmt: skip
NOTHING = "is not recognized"
NO_RECORDS = "has no records: check that it was written whole"
MAPPING = "is a mapping, which says how other files are read: name these, and give it as `--mapping`"
SPANS = "holds spans of traces, not rollouts: export whole traces of a tool that is known"
CALLS = "holds calls of tools, not rollouts"
_OF_CALLS, _TOOLS = frozenset({"callid", "toolcallid"}), frozenset({"tool", "toolname", "functionname"})
PAIRS = "holds judgments of pairs of answers, not rollouts: `{}` says which of two won, and neither answer is there"
_WINNERS = frozenset({"winner", "preferred", "preference", "choice", "won"})
_TIES = frozenset({"tie", "tied", "draw", "equal", "both", "neither"})
MEASUREMENTS = "holds measurements, not rollouts: scores without an id, a task or a text"
OF_GROUPS = "holds measurements of groups, not rollouts: no single one has a `{}`"
_OF_GROUPS = frozenset({"fpr", "fnr", "tpr", "tnr", "mcc", "auroc", "auc", "auprc", "macro", "micro", "support"})
_IN_A_ROW = "attempts in a row"
PROMPTS = "holds prompts, not rollouts: open it with `rw.rollout.read_prompts`"
_OF_PROMPTS = OF_PROMPTS | {"label", "classification"}
_NUMBERS = {"whole", "binary", "unit", "number"}
_TOTALS = {
    "total", "n", "count", "num", "trials", "attempts", "samples", "cases", "runs", "tested", "evaluated",
    "rollouts",
}  # fmt: skip
_CONFUSION = ({"tp", "fp", "tn", "fn"}, {"truepositives", "falsepositives", "truenegatives", "falsenegatives"})
_ATTEMPT = re.compile(r"(?:try|attempt|trial|run|sample|repeat|rep|seed|k)[ _.-]?#?(\d{1,3})", re.IGNORECASE)
_FIRST = 200  # lines that show which fields there are
_PARTS = COUNTS | EITHER_TRUE | EITHER_FALSE | ATTACK_TRUE | ATTACK_FALSE | TASK_TRUE | TASK_FALSE
_SPENT = {"tokens", "seconds", "cost", "attempt", "turn", "error", "ending"}  # what only a rollout has
_KINDS = {"type", "kind", "event"}  # words of names that tell lines apart


def refusal_of(path: str, fields: Mapping[str, Field], places: Places) -> str | None:
    """Return the predicate of a sentence on records that are no rollouts; None where they may be some."""
    names = {"".join(words_of(name)) for name in fields}
    is_mapping = path == WHOLE_RECORD and _are_mappings(fields, places)
    is_attacked = any(judges_attacks(field.name) and judges(field) for field in fields.values())
    parts = MAPPING if is_mapping else None if is_attacked else _of_logs(names, roles_of(dict(fields)))
    if parts is not None:
        return parts
    has_answers = _has_answers(path, fields, places)
    # With an answer in the record, a `winner` may be an opinion on it; without texts it is all there is.
    has_texts = has_answers or any(field.kind == "text" for field in fields.values())
    winner = None if has_texts else _winner(fields)
    if winner is not None:
        return PAIRS.format(winner)
    groups = counts_of_groups(fields)
    verdicts = [field for field in fields.values() if field.is_usual and judges(field)]
    claims = [claim for field in verdicts if (claim := verdict_claim(field.name)) is not None]
    # A verdict such as `jailbroken` makes a rollout even without texts; a `label` does not.
    is_clear = any(claim.when_true is not None and not claim.doubt for claim in claims)
    attempts = _attempts_beside_each_other(fields)
    if attempts and not has_answers:
        return _one_row_each(attempts, fields)
    # Data sets of prompts label the prompt itself as harmful or not: as verdicts, these would be a rate of no target.
    if groups is None and _are_labeled_prompts(fields, verdicts) and not has_answers:
        return PROMPTS
    groups = groups or (None if has_answers or "prompt" in roles_of(dict(fields)) else _measured_in_groups(fields))
    if groups is not None or is_clear or has_answers:
        return groups or (LESSONS if _are_lessons(fields) else None)
    return _refusal_without_answers(fields, verdicts)


def _are_mappings(fields: Mapping[str, Field], places: Places) -> bool:
    """Return whether records say how other files are read: where their records are, or what their verdicts are made of."""
    where = [] if "records" not in fields else fields["records"].non_null
    is_path = any(isinstance(path, str) and path.endswith(("[*]", "{*}")) for path in where)
    rules = [item.value for item in places.get("verdicts[*]", ()) if isinstance(item.value, dict)]
    return is_path or "made.by" in fields or any({"of", "from"} <= rule.keys() for rule in rules)


def _refusal_without_answers(fields: Mapping[str, Field], verdicts: Sequence[Field]) -> str | None:
    """Return that of records without an answer or a clear verdict; None where they may be some."""
    roles = roles_of(dict(fields)) | ({"score"} if any(map(rating_in, fields.values())) else set())
    is_named = bool(roles & {"id", "task"})
    unknown = [field for field in fields.values() if field.role is None and not {*words_of(field.name)} & LIMITS]
    measured = [field for field in unknown if field.kind in _NUMBERS | {"bool"} and len(field.distinct) > 1]
    if "prompt" in roles:
        # Verdicts on answers show that prompts were tried, though the answers were not stored.
        of_answers = [field for field in verdicts if not {*words_of(field.name)} & _OF_PROMPTS]
        return None if of_answers or "score" in roles or (is_named and len(measured) > 2) else PROMPTS
    # A score belongs to a rollout if something says which: an id, a task or a goal.
    if "score" in roles:
        return None if is_named or "goal" in roles else MEASUREMENTS
    if "goal" in roles and not verdicts and not measured and not roles & _SPENT:
        return PROMPTS  # goals with their category, and how an answer is to begin
    return None if is_named or (verdicts and roles & {"target", "attack", "goal", "category", "attempt"}) else NOTHING


def rating_in(field: Field) -> Question | None:
    """Return the question about a field with the texts of a judge and ratings in them; None for any other field."""
    texts = [value for value in field.non_null if isinstance(value, str)]
    return question_of(field.name, pl.Series(texts)) if may_rate(field.name) and texts else None


def _attempts_beside_each_other(fields: Mapping[str, Field]) -> dict[str, str]:
    """Return the fields that hold the verdicts of several attempts in one record, with the number of each; empty without any."""
    numbered = {
        field.name: match[1]
        for field in fields.values()
        if (match := _ATTEMPT.fullmatch(field.name))
        and (field.kind in {"bool", "binary"} or {word(value).side for value in field.distinct} <= {True, False})
    }
    # Two columns of one number, such as `run 1` and `seed 1`, are not a series of attempts.
    return numbered if len({*numbered.values()}) == len(numbered) > 1 else {}


def _one_row_each(attempts: Mapping[str, str], fields: Mapping[str, Field]) -> str:
    """Return the predicate that says how the attempts of a record become rows."""
    index = ", ".join(f'"{field.name}"' for field in fields.values() if field.name not in attempts)
    renamed = ", ".join(f'"{name}": "{number}"' for name, number in attempts.items())
    numbers = ", ".join(f'"{number}"' for number in attempts.values())
    return (
        f"holds {len(attempts)} {_IN_A_ROW} ({', '.join(f'`{name}`' for name in attempts)}): make a row of each, and name "
        "their verdict `succeeded` (of an attack) or `solved` (of a task), as in "
        f'`rw.turns(frame.rename({{{renamed}}}).unpivot([{numbers}], index=[{index}], variable_name="attempt", value_name="?"))`'
    )


def is_closer(reason: str) -> bool:
    """Return whether a refusal says what to do with records that look like something else."""
    return _IN_A_ROW in reason


def _winner(fields: Mapping[str, Field]) -> str | None:
    """Return the field that says which of two answers won, a tie among its words; None where none does."""
    # A winner has few values, and a tie among them: `choice` without a tie may be the answer to a multiple-choice question.
    named = (field for field in fields.values() if {*words_of(field.name)} & _WINNERS and len(field.distinct) <= 6)
    return next((field.name for field in named if {str(value).lower() for value in field.distinct} & _TIES), None)


def _are_labeled_prompts(fields: Mapping[str, Field], verdicts: Sequence[Field]) -> bool:
    """Return whether records are texts with labels that may be the texts' own, and nothing of an attack on a target."""
    roles = roles_of(dict(fields))
    are_labels = bool(verdicts) and all(may_be_of_prompts(field.name) for field in verdicts)
    return (
        are_labels
        and bool(roles & {"prompt", "content", "goal"})
        and not roles & {"target", "attack", "attempt", "score"}
    )


def _of_logs(names: AbstractSet[str], roles: AbstractSet[str]) -> str | None:
    """Return that of parts of a log, by their names: spans of traces, calls of tools; None for others."""
    if "spanid" in names or ("traceid" in names and names & {"parentid", "parentrunid", "parentobservationid"}):
        return SPANS
    is_call = names & _OF_CALLS or (names & _TOOLS and not roles & {"prompt", "response", "task"})
    return CALLS if is_call else None


def is_named(path: str, fields: Mapping[str, Field], places: Places) -> bool:
    """Return whether a record says of which rollout it is: by a text, or by an id or a task beside a clear verdict."""
    roles = roles_of(dict(fields))
    if "prompt" in roles or _has_answers(path, fields, places):
        return True
    claims = [verdict_claim(field.name) for field in fields.values() if field.is_usual and judges(field)]
    return bool(roles & {"id", "task"}) and any(claim is not None and not claim.doubt for claim in claims)


def _are_lessons(fields: Mapping[str, Field]) -> bool:
    """Return whether records are questions and answers alone, as data to learn from are."""
    names = {name.lower() for name, field in fields.items() if field.role not in {"id", "category"}}
    return names <= _LESSONS and any(
        field.role == "response" for field in fields.values()
    )  # else a chat may be in a cell


def _has_answers(path: str, fields: Mapping[str, Field], places: Places) -> bool:
    """Return whether records answer, or hold messages or turns that do."""
    if "response" in roles_of(dict(fields)) or any(map(holds_messages, fields.values())):
        return True
    if path in places and speaking([item.value for item in places[path][:50]]):
        return True
    return any(_are_answered(name, items[:50]) for name, items in below(path, places).items())


def _are_answered(name: str, items: Sequence[Item]) -> bool:
    """Return whether the items of a list in each record are messages, or turns with answers under any name."""
    values = [item.value for item in items]
    fields = fields_of(values)
    return bool(speaking(values)) or bool({"response", "turn"} & roles_of(fields)) or are_turns(name, fields, items)


def _measured_in_groups(fields: Mapping[str, Field]) -> str | None:
    """Return the sentence on records with what only a group of rollouts has, such as a rate of false alarms; None for others."""
    numbers = (field.name for field in fields.values() if field.is_usual and field.kind in _NUMBERS)
    name = next((name for name in numbers if {*words_of(name)} & _OF_GROUPS), None)
    return None if name is None else OF_GROUPS.format(name)


def counts_of_groups(fields: Mapping[str, Field]) -> str | None:
    """Return the sentence on rows that count the rollouts of groups; None for other rows."""
    numbers = {name: {*words_of(name)} for name, field in fields.items() if field.kind in _NUMBERS}
    if any(names <= {"".join(words_of(name)) for name in numbers} for names in _CONFUSION):
        return "counts hits and false alarms of a detector, not rollouts: read what it was tried on"
    # A total of at most 1 in all rows is a share or a verdict.
    totals = [
        name
        for name, words in numbers.items()
        if words & _TOTALS and not words & {"cost", "tokens"} and max(map(float, fields[name].non_null)) > 1
    ]
    for total in totals:
        parts = [
            name
            for name, words in numbers.items()
            if name not in totals and words & _PARTS and words <= _PARTS | {"ok"}
        ]
        both = next(
            (pair for pair in combinations(parts, 2) if _add_up([fields[part] for part in pair], fields[total])), None
        )
        if both is not None:
            return f"counts groups of rollouts: `{both[0]}` and `{both[1]}` are `{total}`; read the rollouts themselves"
    rates = [name for name, words in numbers.items() if words & {"rate", "asr", "accuracy", "percent", "pct"}]
    for rate in rates:
        for total in totals:
            for part, words in numbers.items():
                if (
                    part not in {rate, total}
                    and words & _PARTS
                    and _is_share(fields[part], fields[total], fields[rate])
                ):
                    return f"counts groups of rollouts: `{part}` of `{total}` is `{rate}`; read the rollouts themselves"
    return None


def _add_up(parts: Sequence[Field], total: Field) -> bool:
    """Return whether parts are the total in all rows, and are no verdicts: one of them is more than 1."""
    rows = [[*map(_number, row)] for row in zip(*(part.values for part in parts), total.values, strict=True)]
    known = [row for row in rows if None not in row]
    are_counts = any(max(row[:-1]) > 1 for row in known if row)  # type: ignore[type-var,operator]
    return bool(known) and are_counts and all(sum(row[:-1]) == row[-1] for row in known)  # type: ignore[arg-type]


def _number(value: object) -> float | None:
    return None if value is None or value == "" else float(str(value))


def _is_share(part: Field, total: Field, rate: Field) -> bool:
    """Return whether a rate is the share of a part in a total on all rows; a single row of zeros shows nothing."""
    rows = [
        (float(share), float(count), float(percentage))
        for share, count, percentage in zip(part.values, total.values, rate.values, strict=True)
        if None not in (share, count, percentage) and "" not in (share, count, percentage) and float(count)
    ]
    # 0 of n is a rate of 0 whatever the columns mean.
    if not rows or (len(rows) == 1 and not rows[0][0]):
        return False
    return all(
        # Rates are rounded in such tables, as fractions or as percentages.
        abs(share / count - percentage) < 0.02 or abs(100 * share / count - percentage) < 1
        for share, count, percentage in rows
    )


def kinds_of_lines(contents: Sequence[Content]) -> str | None:
    """Return the sentence on lines of several kinds, told apart by a field such as `type`; None for other files."""
    for content in contents:
        records = [record for record in content.records if isinstance(record, dict)]
        if content.form != LINES or len(records) < 3:
            continue
        names_of_kinds = {name for record in records[:_FIRST] for name in record if {*words_of(name)} & _KINDS}
        for name in sorted(names_of_kinds):
            kinds: dict[str, list[frozenset[str]]] = {}
            for record in records:
                if isinstance(record.get(name), str):
                    kinds.setdefault(record[name], []).append(frozenset(flat(record)))
            # A field with more values than that names things, not kinds of lines.
            if not 2 <= len(kinds) <= max(12, len(records) / 4) or sum(map(len, kinds.values())) < 0.9 * len(records):
                continue
            names = [frozenset.union(*groups) for groups in kinds.values()]
            shared, every = frozenset.intersection(*names), frozenset.union(*names)
            # Lines that differ in most fields need different rules; lines that differ in few are one kind with optional fields.
            if len(every - shared) > len(shared):
                words = ", ".join([*kinds][:4])
                return f"has lines of {len(kinds)} kinds (`{name}`: {words}): write a mapping that says which are the rollouts"
    return None
