"""Records that are one rollout: ids, numbers of turns, and rows that share an id."""

import json
from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

from rollwise.readers.proposal.fields import Field
from rollwise.readers.proposal.signs import CONVERSATIONS, judges, roles_of, speaking
from rollwise.readers.roles.names import words_of
from rollwise.readers.roles.questions import Question

if TYPE_CHECKING:
    from rollwise.readers.proposal.structure import Structure

INTEGERS = {"whole", "binary"}
_COUNTERS = frozenset({"seq", "sequence", "turn", "round", "event", "line", "step"})
_OF_TURNS = frozenset({"turn", "id", "index", "idx", "no", "number"})  # words that end the name of a number of turns
_JUDGES = frozenset({"metric", "filter", "judge", "evaluator", "scorer", "grader", "rater", "annotator"})
_ATTEMPTS = frozenset({"epoch", "attempt", "trial", "repeat", "repetition", "replicate", "rep", "seed", "sample"})
OF_ROWS = frozenset({"prompt", "response", "succeeded", "refused", "reward"})  # what the rows of one answer say alike
_TELLING_APART = {"target", "attempt", "attack", "task", "goal"}  # roles of what tells rollouts of one id apart
_MOSTLY = 0.6  # share of ids
_IDS = {"whole", "binary", "words", "strings", "text", "unit"}


def ids_of(
    draft: "Structure",
    fields: dict[str, Field],
    values: Sequence[dict[str, Any]],
    files: Sequence[int],
    named: str | None = None,
) -> bool:
    """Put the ids of records into a mapping; return whether several records are one rollout.

    `named` is the field that the user names as the id of rollouts, or ``@key`` where each record is one.
    """
    owners = [field for field in fields.values() if _is_id(field) and _is_filled(field) and not _is_own(field, files)]
    owners = [field for field in owners if {*words_of(field.name)} & CONVERSATIONS] or owners
    turn = _number_of_turns(fields, owners if named is None else [*filter(None, [fields.get(named)])], files)
    speaks = speaking(values)
    if named is not None and (named in fields or named == "@key"):
        path = fields[named].path if named in fields else None  # each record has an id of its own
        draft.data |= {} if path is None else {"rollout": [path]}
        if path is None or _is_own(fields[named], files):
            return False
        draft.data["rows"] = {"by": [path]} | ({"turn": turn.path} if turn is not None else {})
        draft.data |= {"turns": "rows", **speakers(speaks)}
        return True
    if speaks is not None and owners:
        by = {"by": [owners[0].path]} | ({"turn": turn.path} if turn is not None else {})
        draft.data |= {"rows": by, "turns": "rows", "rollout": [owners[0].path], **speakers(speaks)}
        draft.why.append(
            f"`{owners[0].name}` repeats for the messages of a conversation, and `{speaks[0]}` says who speaks"
        )
        return True
    owner = next((field for field in owners if turn is not None and _counts_within(turn, field, files)), None)
    if owner is not None and turn is not None and _are_turns(turn, owner, fields):
        draft.data |= {"rows": {"by": [owner.path], "turn": turn.path}, "turns": "rows", "rollout": [owner.path]}
        draft.why.append(f"`{turn.name}` counts within each `{owner.name}`: rows are turns")
        return True
    is_pair = turn is not None and (
        _is_pair(draft, turn, owners, fields, files) or _is_in_order(draft, turn, fields, files)
    )
    answers = [*([field] for field in owners)] or [answer_of(fields)]
    if is_pair or any(_are_judgments(draft, fields, answer, files) for answer in answers):
        return is_pair
    # One value on all records may be that of a run, unless it is called a conversation.
    owners = [field for field in owners if len(field.distinct) > 1 or {*words_of(field.name)} & CONVERSATIONS]
    if not _ask_alone(draft, turn, owners, files):
        _ask_rows(draft, fields, owners, files)
    row_id = next(
        (field for field in fields.values() if _is_id(field) and _is_own(field, files) and field.name != "task"), None
    )
    if row_id is not None:
        draft.data["rollout"] = [row_id.path]
        draft.why.append(f"`{row_id.name}` is different on every record")
    return False


def _number_of_turns(fields: dict[str, Field], owners: Sequence[Field], files: Sequence[int]) -> Field | None:
    """Return the number of turns: of several, one that counts from 0 or 1 within an id, if there is one."""
    numbers = [field for field in fields.values() if field.role == "turn" and field.kind in INTEGERS]
    counting = (
        field for field in numbers if _is_filled(field) and any(_counts_up(field, owner, files) for owner in owners)
    )
    return next(counting, next(iter(numbers), None)) if len(numbers) > 1 else next(iter(numbers), None)


def _counts_up(number: Field, owner: Field, files: Sequence[int]) -> bool:
    """Return whether a number counts from 0 or 1 without gaps within the records of each id."""
    counts = [sorted(map(int, numbers)) for numbers in _by_owner(number, owner, files)]
    return all(
        numbers == [*range(numbers[0], numbers[0] + len(numbers))] and numbers[0] in {0, 1} for numbers in counts
    )


def _is_pair(
    draft: "Structure", turn: Field, owners: Sequence[Field], fields: dict[str, Field], files: Sequence[int]
) -> bool:
    """Put into a mapping, and return, whether a number counts turns within each id and attempt, and not within the id."""
    if not _are_turns(turn, turn, fields) or not _is_filled(turn):
        return False
    attempts = [
        field for field in fields.values() if field.role == "attempt" and field is not turn and _is_filled(field)
    ]
    for owner in owners:
        if _counts_within(turn, owner, files):
            continue
        for attempt in attempts:
            if _counts_up(turn, _joint([owner, attempt]), files):
                by = [owner.path, attempt.path]
                draft.data |= {"rows": {"by": by, "turn": turn.path}, "turns": "rows", "rollout": by}
                draft.why.append(
                    f"`{turn.name}` counts within each `{owner.name}` and `{attempt.name}`: rows are turns"
                )
                return True
    return False


def _is_in_order(draft: "Structure", turn: Field, fields: dict[str, Field], files: Sequence[int]) -> bool:
    """Put into a mapping, and return, whether turns count up again and again, and columns tell these conversations apart."""
    if not _are_turns(turn, turn, fields) or not _is_filled(turn):
        return False
    numbers = [*zip(files, map(int, turn.values), strict=True)]
    follows = [before == (file, number - 1) for before, (file, number) in pairwise(numbers)]
    starts = [0, *(place for place, is_next in enumerate(follows, 1) if not is_next)]
    if not 1 < len(starts) < len(numbers) or any(numbers[start][1] not in {0, 1} for start in starts):
        return False
    conversations = [bisect(starts, place) for place in range(len(numbers))]
    same: dict[str, list[str]] = {}  # of columns with one value in each conversation, these values
    for field in fields.values():
        values = [*map(str, field.values)]
        if field.kind in _IDS | INTEGERS and len({*zip(conversations, values, strict=True)}) == len(starts):
            same[field.path] = [values[start] for start in starts]
    names = (by for size in (1, 2, 3) for by in combinations(same, size))
    by = next((by for by in names if len({*zip(*map(same.__getitem__, by), strict=True)}) == len(starts)), None)
    if by is None:
        return False
    draft.data |= {"rows": {"by": [*by], "turn": turn.path}, "turns": "rows", "rollout": [*by]}
    draft.why.append(f"`{turn.name}` counts up again for each `{'` and `'.join(by)}`: rows are turns")
    return True


def speakers(names: tuple[str, str] | None) -> dict[str, str]:
    """Return the keys of a mapping for messages whose speaker and text have other names than usual."""
    return {} if names is None or names == ("role", "content") else {"role": names[0], "content": names[1]}


def _is_id(field: Field) -> bool:
    is_named = field.role in {"id", "task"} or {*words_of(field.name)} <= CONVERSATIONS
    return is_named and field.kind in _IDS and field.is_usual


def _is_filled(field: Field) -> bool:
    return len(field.non_null) == len(field.values)


def _is_own(field: Field, files: Sequence[int]) -> bool:
    """Return whether a field differs on all records of each file."""
    return _is_filled(field) and len({*zip(files, map(str, field.values), strict=True)}) == len(field.values)


def _by_owner(number: Field, owner: Field, files: Sequence[int]) -> Iterable[list[Any]]:
    """Return the values of a field in the records of each id."""
    values_by_id: dict[tuple[int, str], list[Any]] = {}
    for file, key, value in zip(files, owner.values, number.values, strict=True):
        values_by_id.setdefault((file, str(key)), []).append(value)
    return values_by_id.values()


def _counts_within(turn: Field, owner: Field, files: Sequence[int]) -> bool:
    """Return whether a number counts within the records of one id, at least in some."""
    counts = [[*map(str, numbers)] for numbers in _by_owner(turn, owner, files)]
    return all(len({*numbers}) == len(numbers) for numbers in counts) and any(len(numbers) > 1 for numbers in counts)


def _are_turns(turn: Field, owner: Field, fields: dict[str, Field]) -> bool:
    """Return whether numbers count turns, rather than rounds of attempts without texts or steps of training."""
    is_named = words_of(turn.name)[0] == "turn"
    is_conversation = bool({*words_of(owner.name)} & CONVERSATIONS)
    return is_named or (is_conversation and {"prompt", "response"} <= roles_of(fields))


def _ask_alone(draft: "Structure", turn: Field | None, owners: Sequence[Field], files: Sequence[int]) -> bool:
    """Ask, and return whether that is so, where rows are numbered as turns and nothing says which are one rollout."""
    if turn is None or owners or len(turn.distinct) < 2 or not _is_filled(turn):
        return False
    counts = [[*map(float, numbers)] for numbers in _by_file(turn, files)]
    is_step = words_of(turn.name)[-1:] == ("step",)
    if is_step and not all(min(numbers) in {0, 1} and len({*numbers}) == len(numbers) for numbers in counts):
        return False  # steps of training
    sentence = f"`{turn.name}` numbers the rows, and no column says which are one rollout: is each a rollout, or is a file one?"
    draft.questions.append(Question(turn.name, sentence, {"rollout_id": "?"}, ("@key", "@file")))
    return True


def _by_file(field: Field, files: Sequence[int]) -> Iterable[list[Any]]:
    """Return the values of a field in each file."""
    values_by_file: dict[int, list[Any]] = {}
    for file, value in zip(files, field.values, strict=True):
        values_by_file.setdefault(file, []).append(value)
    return values_by_file.values()


def _ask_rows(draft: "Structure", fields: dict[str, Field], owners: Sequence[Field], files: Sequence[int]) -> None:
    """Ask whether rows that share an id are rollouts, turns, or judgments of one."""
    counters = [
        field for field in fields.values() if field.kind in INTEGERS and field.role != "attempt" and _counts(field.name)
    ]
    prompts, answers = (
        [field for field in fields.values() if field.role == role and field.non_null] for role in ("prompt", "response")
    )
    facts = [field for field in fields.values() if field.role in _TELLING_APART]
    for owner in owners:
        if _mostly_once(owner, files) and not {*words_of(owner.name)} & CONVERSATIONS:
            continue
        others = [field for field in facts if field is not owner]
        is_task = owner.role == "task"
        if counters and _rises_within(counters[0], owner, others, files):
            sentence = f"`{counters[0].name}` counts within each `{owner.name}`: is a row a rollout, or a turn of one?"
        elif answers and _same_within([*prompts, *answers], owner, others, files) >= _MOSTLY:
            sentence = f"`{owner.name}` repeats with the same answer: is a row a rollout, or one of several judgments?"
        elif answers and not is_task and 0 <= _same_within(prompts, owner, others, files) < _MOSTLY:
            sentence = f"`{owner.name}` repeats with other texts: is a row a rollout, or a turn of one?"
        elif not (answers and prompts) and len(owner.distinct) > 1 and {*words_of(owner.name)} & CONVERSATIONS:
            sentence = f"`{owner.name}` repeats: is a row a rollout, or a turn of one?"
        else:
            continue
        draft.questions.append(Question(owner.name, sentence, {"rollout_id": "?"}, ("@key", owner.name)))
        return


def _mostly_once(owner: Field, files: Sequence[int]) -> bool:
    """Return whether most ids occur once in their file, so that an id that repeats says nothing of conversations."""
    counts = [len(values) for values in _by_owner(owner, owner, files)]
    return 2 * counts.count(1) > len(counts)


def answer_of(fields: Mapping[str, Field]) -> list[Field]:
    """Return the fields that tell one answer from another where no id does: its texts, and on what model and by what attack."""
    count = max((len(field.values) for field in fields.values()), default=0)
    filled = [field for field in fields.values() if len(field.non_null) == count]
    texts = [field for field in filled if field.role in {"prompt", "response"}]
    facts = [field for field in filled if field.role in _TELLING_APART]
    return [*texts, *facts] if any(field.role == "response" for field in texts) else []


def judges_of(fields: Mapping[str, Field], answer: Sequence[Field], files: Sequence[int]) -> list[Field]:
    """Return the fields that name another judge or metric on each row of one answer, of which some have several."""
    judges_by_name = (field for field in fields.values() if {*words_of(field.name)} & _JUDGES)
    several = [field for field in judges_by_name if len(field.distinct) > 1 and field.kind in {"words", "strings"}]
    return [field for field in several if answer and _counts_within(field, _joint(answer), files)]


def _are_judgments(draft: "Structure", fields: dict[str, Field], owner: Sequence[Field], files: Sequence[int]) -> bool:
    """Put into a mapping, and return, whether rows judge one answer each time: by another judge or metric of a column.

    The answer is that of an id, or of an id and an attempt, or what has the same texts.
    """
    texts = [field for field in fields.values() if field.role in {"prompt", "response"}]
    verdict = next((field for field in fields.values() if field.role == "score" or judges(field)), None)
    attempts = [field for field in fields.values() if {*words_of(field.name)} & _ATTEMPTS and _is_filled(field)]
    for attempt in (None, *attempts):
        answer = [*owner, *([] if attempt is None or attempt in owner else [attempt])]
        judge = next(iter(judges_of(fields, answer, files)), None)
        key = _joint(answer)
        # Without texts, nothing else may tell the rows of one answer apart.
        facts = [
            field
            for field in fields.values()
            if field.role in _TELLING_APART and field not in answer and len(field.distinct) > 1
        ]
        same_fields = texts or facts
        if judge is None or verdict is None or (same_fields and _same_within(same_fields, key, [], files) < 1):
            continue
        by = [field.path for field in answer]
        scores = {"each": "rows", "name": judge.path, "from": verdict.path}
        draft.data |= {"rows": {"by": by}, "rollout": by, "scores": scores, "left_out": ["rows"]}
        others = [
            field for field in fields.values() if field not in (judge, verdict, *texts) and field.name not in OF_ROWS
        ]
        same = [field for field in others if not 0 <= _same_within([field], key, [], files) < 1]
        draft.data["columns"] = {field.name: f"rows[0].{field.path}" for field in same}
        names = "` and `".join(field.name for field in answer)
        draft.why.append(f"rows of one `{names}` judge one answer: `{verdict.name}` by `{judge.name}`")
        return True
    return False


def _joint(answer: Sequence[Field]) -> Field:
    """Return the values of several fields together as a field."""
    return (
        answer[0]
        if len(answer) == 1
        else Field("", "", [*zip(*(map(str, field.values) for field in answer), strict=True)])
    )


def _counts(name: str) -> bool:
    """Return whether a name is one of a number that counts: `step`, `turn_index`."""
    words = words_of(name)
    is_numbered = len(words) > 1 and words[-1] in _OF_TURNS - {"turn"}
    return bool({words[-2] if is_numbered else words[-1]} & _COUNTERS) if words else False


def _rises_within(counter: Field, owner: Field, facts: Sequence[Field], files: Sequence[int]) -> bool:
    """Return whether a number rises over more than two records of one id, with one target, attack and attempt."""
    if not _is_filled(counter):
        return False
    groups: dict[tuple[str, ...], list[float]] = {}
    for *key, number in zip(files, owner.values, *(field.values for field in facts), counter.values, strict=True):
        groups.setdefault(tuple(map(str, key)), []).append(float(number))
    rises = all(numbers == sorted({*numbers}) for numbers in groups.values())
    return rises and any(len(numbers) > 2 for numbers in groups.values())


def _same_within(texts: Sequence[Field], owner: Field, facts: Sequence[Field], files: Sequence[int]) -> float:
    """Return for how many of the ids that repeat, with one target, attack and attempt, all texts are the same.

    Negative where no id repeats, or all records of the file say the same.
    """
    texts_by_id: dict[tuple[str, ...], list[str]] = {}
    for place, key in enumerate(zip(files, owner.values, *(field.values for field in facts), strict=True)):
        text = json.dumps([field.values[place] for field in texts], default=str)
        texts_by_id.setdefault(tuple(map(str, key)), []).append(text)
    several = [group for group in texts_by_id.values() if len(group) > 1]
    if not several or not texts or len({text for group in texts_by_id.values() for text in group}) == 1:
        return -1
    return sum(len({*group}) == 1 for group in several) / len(several)
