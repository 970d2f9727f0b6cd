"""Files whose records take shape first: rounds of a conversation in lines, totals above rows, wide tables, lists of ids."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rollwise.readers.json_texts import lenient
from rollwise.readers.proposal.contents import LINES, Content, content_of
from rollwise.readers.proposal.fields import Field, fields_of, quoted
from rollwise.readers.proposal.signs import judges, roles_of
from rollwise.readers.roles.names import COUNTS, role_of, verdict_claim, words_of
from rollwise.readers.roles.questions import Question
from rollwise.readers.roles.values import MODELS
from rollwise.readers.sources.json_tables import OUTCOME_LIST

if TYPE_CHECKING:
    from rollwise.readers.proposal.structure import Structure

_WIDE = re.compile(
    r"(.+?)[_ .](response|answer|output|completion|jailbroken|success|verdict|label|score|correct|refused)"
)
_TO_JOIN = "judges the rollouts of {} by their `{}`: join the two files by it to read the verdicts"
_STATES = frozenset(
    [
        "original", "attack", "attacked", "baseline", "defended", "first", "second", "perturbed", "clean", "adv",
        "adversarial", "before", "after", "old", "new", "pre", "post", "ground", "truth", "model", "victim",
        "target", "llm", "assistant", "system", "agent", "bot", "raw", "final", "actual", "generated", "ai", "chat",
    ]
)  # fmt: skip
NUMBERS = {"whole", "binary", "unit", "number"}
ANSWERS = {"response", "answer", "output", "completion"}


def rounds_of(contents: Sequence[Content]) -> tuple[dict[str, Any], list[str], dict[str, list[Any]]] | None:
    """Return the mapping of files that are one conversation each: lines of facts, numbered rounds, a line with the outcome."""
    number = texts = None
    repeats = False  # numbers within a file, as where a round was tried again
    rows: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for content in contents:
        if content.form != LINES or not all(isinstance(record, dict) for record in content.records):
            return None
        kinds: dict[frozenset[str], list[dict[str, Any]]] = {}
        for record in content.records:
            kinds.setdefault(frozenset(record), []).append(record)
        rounds = [names for names in kinds if _is_round(names)]
        # Facts and the outcome of a conversation are one line each, and a round has at most two forms, such as with and without a
        # reply. Anything else is a table of many conversations.
        if any(len(records) > 1 for names, records in kinds.items() if names not in rounds) or len(rounds) > 2:
            return None
        if not rounds:
            continue
        names = rounds[0]
        number = next(name for name in names if role_of(name) == "turn")
        counts = [record[number] for kind in rounds for record in kinds[kind] if number in record]
        begins = bool({"0", "1"} & {*map(str, counts)})  # a step of training may be any number
        # A line without any field of the rounds is what tells a conversation with facts from plain rows of turns.
        if not begins or not any(not kind_names & names for kind_names in kinds if kind_names not in rounds):
            return None
        repeats = repeats or len({*map(str, counts)}) < len(counts)
        rows += [record for kind in rounds for record in kinds[kind]]
        others += [record for kind, records in kinds.items() if kind not in rounds for record in records]
        texts = names
    if number is None or texts is None:
        return None
    fields = fields_of(rows)
    order = {} if repeats else {"turn": number}  # else that of the lines
    data: dict[str, Any] = {"rows": {"by": ["@file"], "with": number, **order}, "turns": "rows"}
    for role in ("prompt", "response", "score"):
        field = next((field for field in fields.values() if field.role == role), None)
        if field is not None and (role != "score" or field.kind in NUMBERS):
            data[role] = field.path
    examples = {name: field.distinct[:2] for name, field in {**fields_of(others), **fields}.items()}
    return data, [f"`{number}` numbers the rounds of each file; its other lines are facts and the outcome"], examples


def _is_round(names: frozenset[str]) -> bool:
    roles = {role_of(name) for name in names}
    return "turn" in roles and bool(roles & {"response", "prompt"})


def header_of(contents: Sequence[Content]) -> tuple[bool, str | None]:
    """Return whether the first line of each file has the totals of its rows, and why such a file is not read."""
    has_header = False
    for content in contents:
        records = content.records
        if content.form != LINES or len(records) < 2 or not all(isinstance(record, dict) for record in records):
            return False, None
        first, second = records[0], records[1]
        # A line of totals shares no field with the rows below it, and counts something.
        if first.keys() & second.keys() or not any({*words_of(name)} & COUNTS for name in first):
            return False, None
        total = next(
            (value for name, value in first.items() if "total" in words_of(name) and isinstance(value, int)), None
        )
        # A file that was cut off, or holds successes alone, would give a wrong rate: its own total shows it.
        if total is not None and total != len(records) - 1:
            reason = f"counts {total} records in its first line and holds {len(records) - 1}: a rate of these alone would be wrong"
            return True, reason
        has_header = True
    return has_header, None


def targets_of(fields: dict[str, Field], draft: "Structure") -> dict[str, Any]:
    """Return the targets of a wide table, each with its columns: `gpt4_response, gpt4_jailbroken, llama_response, ...`."""
    parts: dict[str, dict[str, Field]] = {}
    for name, field in fields.items():
        match = _WIDE.fullmatch(name)
        if match is not None:
            parts.setdefault(match[1], {})[match[2]] = field
    groups: dict[frozenset[str], list[str]] = {}
    for name, columns in parts.items():
        # Beginnings with the same endings belong together; a single column such as `task_label` does not make a target.
        groups.setdefault(frozenset(columns), []).append(name)
    cores, who = max(groups.items(), key=lambda group: (len(group[0]), len(group[1])), default=(frozenset(), []))
    is_wide = len(who) > 1 and len(cores) > 1 and bool(cores & ANSWERS)
    # `original` and `attacked` are states of one target, `gpt4` and `llama` are two.
    if not is_wide or all({*words_of(name)} <= _STATES for name in who):
        return {}
    names = "`, `".join(who)
    answer = next(iter(cores & ANSWERS))
    if not all(map(MODELS.search, who)):
        answers = tuple(parts[name][answer].name for name in who)
        both = "`, `".join(answers)
        sentence = f"`{both}` answer the same prompt: which is of the model under test?"
        draft.questions.append(Question(answers[0], sentence, {"response": "?"}, answers))
        return {}
    draft.why.append(f"a wide table: {', '.join(sorted(cores))} of each of `{names}`")
    short = {core: "response" if core == answer else core for core in cores}
    for name in who:
        for core in cores:
            # The columns of the targets are replaced by the columns of one target, which the rules for roles then see.
            del fields[parts[name][core].name]
    for core, column in short.items():
        values = [value for name in who for value in parts[name][core].values]
        fields[column] = Field(column, column, values)
    return {"targets": {name: {short[core]: parts[name][core].path for core in sorted(cores)} for name in who}}


def join_ids(structures: Sequence["Structure"], contents: Sequence[Content]) -> None:
    """Give records the verdicts that another file lists by their ids, such as `resolved_ids`, and take that file as read."""
    for draft in structures:
        ids = _ids_in(draft)
        if ids is None:
            continue
        name, id_values = ids
        for content in contents:
            value = lenient(content.document.as_written)[0] if OUTCOME_LIST in content.document.keys else content.value
            if content.document in draft.files or not isinstance(value, dict):
                continue
            lists = {
                key: claim
                for key, values in value.items()
                if isinstance(values, list)
                and values
                # All listed ids must be ids of these records: a list with further ids belongs to another file.
                and {*map(str, values)} <= id_values
                and (claim := _claim(key)) is not None
            }
            true = next((key for key, claim in lists.items() if claim.when_true), None)
            false = next((key for key, claim in lists.items() if claim.when_true is False), None)
            if true is None or quoted(true) is None:
                continue
            file = content.document.path.name
            others = [candidate for candidate in structures if content.document in candidate.files]
            # `successful_ids` does not say whose success it is, and this is not guessed.
            if lists[true].whose == "either":  # of an attack, or of a task
                for candidate in others:
                    candidate.refusal, candidate.questions = _TO_JOIN.format(draft.files[0].path.name, name), []
                continue
            rule = {"of": lists[true].whose, "ids": f"{file}:{true}", "by": name}
            draft.data["verdicts"] = [rule | ({"not_ids": f"{file}:{false}"} if false else {})]
            draft.data.setdefault("facts", {})["task"] = name
            draft.why.append(f"`{file}` lists ids of these records as `{true}`")
            draft.refusal = None
            for candidate in others:
                candidate.joins, candidate.refusal, candidate.questions = draft.files[0].path.name, None, []


def judged_beside(structures: Sequence["Structure"]) -> None:
    """Refuse files that only judge the rollouts of another one by their ids, which would count these once more."""
    fields = {id(draft): _fields_in(draft) for draft in structures if draft.refusal is None and draft.joins is None}
    read = [draft for draft in structures if id(draft) in fields]
    for draft in read:
        draft_fields = fields[id(draft)]
        # Only a file with answers and without verdicts can miss the verdicts of another file.
        if not {"response", "turns"} & draft.data.keys() or any(map(judges, draft_fields.values())):
            continue
        for judging in read:
            other_fields = fields[id(judging)]
            if (
                judging is draft
                or {"prompt", "response", "turns"} & judging.data.keys()
                or not any(map(judges, other_fields.values()))
            ):
                continue
            shared = next(
                (name for name, field in draft_fields.items() if field.role in {"id", "task"} and name in other_fields),
                None,
            )
            # Read as well, the file of verdicts would count each rollout twice.
            if shared is not None and {*map(str, other_fields[shared].distinct)} <= {
                *map(str, draft_fields[shared].distinct)
            }:
                file = draft.files[0].path.name
                judging.refusal = _TO_JOIN.format(file, shared)
                judging.questions = []


def _claim(key: str) -> Any:
    claim = verdict_claim("_".join(word for word in words_of(key) if word != "ids"))
    return claim if claim is not None and claim.when_true is not None and claim.doubt is None else None


def _ids_in(draft: "Structure") -> tuple[str, frozenset[str]] | None:
    """Return the field of records with ids of their own, and these ids."""
    fields = _fields_in(draft)
    id_field = next((field for field in fields.values() if field.role in {"task", "id"} and field.is_unique), None)
    return (
        None
        if id_field is None or ("response" not in roles_of(fields) and id_field.role != "task")
        else (id_field.path, frozenset(map(str, id_field.distinct)))
    )


def _fields_in(draft: "Structure") -> dict[str, Field]:
    """Return the fields of the lines, rows or items of files."""
    contents = [content for document in draft.files if (content := content_of(document)) is not None]
    return fields_of(record for content in contents for record in content.records)
