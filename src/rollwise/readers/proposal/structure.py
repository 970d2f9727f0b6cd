"""The structure of files of an unknown kind: where the rollouts are, and their texts, turns and ids, as data of a mapping."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as default
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from rollwise.readers.proposal import offers, refusals, reshaped, wide
from rollwise.readers.proposal.contents import Content, beginning_of, content_of, similar_files
from rollwise.readers.proposal.fields import Field, fields_of, quoted
from rollwise.readers.proposal.levels import are_numbered, facts_of_levels, numbered_turns
from rollwise.readers.proposal.neighbors import (
    has_one_verdict,
    is_judged_whole,
    may_be_turns,
    of_outcomes,
    outer_of,
    twin_of,
    unread,
)
from rollwise.readers.proposal.numbered import rounds_in_columns
from rollwise.readers.proposal.places import WHOLE_RECORD, Item, Places, places_in
from rollwise.readers.proposal.rows import OF_ROWS, answer_of, ids_of, judges_of, speakers
from rollwise.readers.proposal.samples import samples_of
from rollwise.readers.proposal.signs import (
    ENOUGH,
    LEAST,
    OF_TURNS,
    are_parts,
    are_turns,
    below,
    is_chat,
    merit,
    noun_of,
    speaking,
    speaks,
    without_turns,
)
from rollwise.readers.proposal.texts import SIDE_BY_SIDE, UNREAD, around_of, lists_of, stated, texts_of
from rollwise.readers.roles.names import role_of, verdict_claim, words_of
from rollwise.readers.roles.questions import Question
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.json_tables import OUTCOME_LIST

# What a user may name, and the key of a mapping that it becomes.
_STRUCTURAL = {"prompt": "prompt", "response": "response", "turn": "turn", "turns": "turns", "messages": "turns"}
_NAMED = 10  # merit of a place with a field that the user names
# What a user may name to say that records are rollouts.
_OF_ROLLOUTS = {"response", "prompt", "messages", "turns", "succeeded", "outcome", "solved", "refused", "score"}


@dataclass
class Structure:
    """Places of the rollouts in files that are alike."""

    files: list[Document]
    data: dict[str, Any] = default(default_factory=dict)  # a mapping without roles of columns
    joins: str | None = None  # name of the file whose rollouts these files tell more of; null where they hold rollouts
    why: list[str] = default(default_factory=list)  # what it rests on, in words
    refusal: str | None = None  # why the files are not read, as the predicate of a sentence; null where they are
    questions: list[Question] = default(default_factory=list)  # of the structure; where there is one, nothing is read
    examples: dict[str, list[Any]] = default(default_factory=dict)  # fields of the records, with some values of each
    unread: list[tuple[Document, str, str]] = default(
        default_factory=list
    )  # fields with records that are not read, and why
    offered: tuple[Question, ...] = ()  # what makes files readable that are not read because no field is called so

    @property
    def is_blocked(self) -> bool:
        """True if nothing can be read before a question is answered: what a rollout is."""
        return any({"records", "rollout_id"} & question.names.keys() for question in self.questions)


def structures(
    documents: Iterable[Document],
    names: Mapping[str, str] = MappingProxyType({}),
    content: Callable[[Document], Content | None] = content_of,
) -> list[Structure]:
    """Return the structure of each kind of file among these; `names` are the user's, as in `read`."""
    contents = [read for document in documents if (read := content(document)) is not None]
    drafts = [_structure(group, names) for group in similar_files(contents)]
    reshaped.join_ids(drafts, contents)
    if len(drafts) > 1:
        reshaped.judged_beside(drafts)
    if any(draft.refusal is None for draft in drafts):  # then questions with answers beside them are references
        for draft in drafts:
            draft.questions = [] if draft.refusal == refusals.LESSONS else draft.questions
    return drafts


def is_elsewhere(document: Document) -> bool:
    """Return whether the rollouts of a file are not its records: these hold several, or count groups of them."""
    content = beginning_of(document)
    if content is None or not content.records:
        return False
    places = places_in([content])
    fields = fields_of(item.value for item in places[WHOLE_RECORD])
    is_lone = document.kind == "json" and isinstance(document.top, dict)
    if _is_judged_within(fields) or wide.is_wide(fields):
        return True
    if judges_of(fields, answer_of(fields), [0] * len(places[WHOLE_RECORD])):  # each answer is on several rows
        return True
    if refusals.counts_of_groups(fields) is not None or (
        is_lone and not refusals.is_named(WHOLE_RECORD, fields, places)
    ):
        return True
    for name, items in below(WHOLE_RECORD, places).items():  # conversations under names that only a proposal finds
        if is_chat(name, items, fields) or are_turns(name, fields_of(item.value for item in items), items):
            return True
    best = max(places, key=lambda path: (merit(path, places)[0], -len(path)))
    return best != WHOLE_RECORD and merit(best, places)[0] > merit(WHOLE_RECORD, places)[0]


def _is_judged_within(fields: Mapping[str, Field]) -> bool:
    """Return whether records hold verdicts or scores in an object alone, whose fields only a mapping reads as columns."""
    judging = [field for field in fields.values() if field.role == "score" or verdict_claim(field.name) is not None]
    judging += [field for field in fields.values() if refusals.rating_in(field) is not None or offers.is_score(field)]
    return bool(judging) and all("." in field.path for field in judging)


def _structure(contents: Sequence[Content], names: Mapping[str, str]) -> Structure:
    """Return the structure of files that are alike."""
    draft = Structure([content.document for content in contents])
    rounds = reshaped.rounds_of(contents)
    if rounds is not None:
        draft.data, draft.why, draft.examples = rounds
        return draft
    draft.refusal = refusals.kinds_of_lines(contents)
    header, refusal = reshaped.header_of(contents)
    draft.refusal = draft.refusal or refusal
    if draft.refusal is not None:
        return draft
    contents = [content.below_header if header else content.of_rollouts for content in contents]
    places = places_in(contents, names.get("records"))
    chat = _chat_in_file(places)
    if chat is not None:
        draft.data, draft.why = chat, ["each file is a list of messages"]
        return draft
    path, why = _best(places, names, draft)
    if path is None:
        return draft
    items = places[path]
    draft.unread = [(contents[file].document, name, UNREAD) for file, name in unread(places, path)]
    if header:
        draft.data["header"] = True
    draft.data |= {} if path == WHOLE_RECORD else {"records": path}
    draft.why.append(f"`{path}`: {len(items)} records" + (f" with {', '.join(why[:3])}" if why else ""))
    values = [item.value for item in items]
    if not all(isinstance(value, dict) for value in values):
        draft.data |= _of_values(path, items)
        return draft
    fields = without_turns(fields_of(values), path, places)
    samples = samples_of(items, fields, draft, names)
    items, fields = samples, fields if samples is items else fields_of(sample.value for sample in samples)
    if OUTCOME_LIST in draft.data.get("columns", {}):
        fields[OUTCOME_LIST] = Field(OUTCOME_LIST, OUTCOME_LIST, [item.key for item in items])
    draft.examples = {name: field.distinct[:2] for name, field in fields.items()}
    draft.data |= _reshaped(draft, fields, names)
    # Where the user names what only rollouts have, the records are some.
    if "targets" not in names and not {names[name] for name in _OF_ROLLOUTS & names.keys()} & fields.keys():
        is_lone = path == WHOLE_RECORD and len(items) == 1 and isinstance(contents[0].value, dict)
        draft.refusal = _refusal(draft, path, fields, places, is_lone=is_lone)
        _offer(draft, path, fields, places)
        wide.ask_targets(draft, fields)
    if draft.refusal is None and not draft.is_blocked:
        _describe(draft, path, items, fields, places, names)
    return draft


def _reshaped(draft: Structure, fields: dict[str, Field], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the part of a mapping that makes several records or turns of the columns of one."""
    if "targets" in names:
        return wide.named_targets(draft, fields, names["targets"])
    return rounds_in_columns(fields, draft) or reshaped.targets_of(fields, draft)


def _offer(draft: Structure, path: str, fields: Mapping[str, Field], places: Places) -> None:
    """Complete a refusal: by the question that makes records readable, or those in them, such as those below counts."""
    draft.offered = offers.offered(draft.refusal, fields)
    if (
        path == WHOLE_RECORD and len(places[WHOLE_RECORD]) == 1 and len(places) > 1
    ):  # texts above records say what a run was
        draft.offered = tuple(question for question in draft.offered if "response" not in question.names)
    counts = refusals.counts_of_groups(fields) is not None
    start = "" if path == WHOLE_RECORD else f"{path}."
    inner = [place for place in places if place.startswith(start) and place.endswith("[*]") and place != path]
    for place in inner if counts or (draft.refusal == refusals.NOTHING and not draft.offered) else ():
        fields_of_place = fields_of(item.value for item in places[place][:ENOUGH] if isinstance(item.value, dict))
        offered = (
            offers.offered(refusals.NOTHING, fields_of_place)
            if refusals.counts_of_groups(fields_of_place) is None
            else ()
        )
        if offered and "succeeded" in offered[0].names:
            draft.refusal, draft.offered = refusals.NOTHING, offered
            draft.examples = {name: field.distinct[:2] for name, field in fields_of_place.items()}
            return
    options = [name for question in draft.offered if "response" in question.names for name in question.options]
    answers = [name for name in options if {*words_of(name)[-1:]} & reshaped.ANSWERS]
    if len(answers) > 2:
        draft.refusal, draft.offered = SIDE_BY_SIDE.format("`, `".join(answers)), ()


def _has_named(path: str, items: Sequence[Item], names: Mapping[str, str]) -> bool:
    """Return whether records have a field that the user names; a name of a field of turns does not show that these are records."""
    fields = fields_of(item.value for item in items[:ENOUGH] if isinstance(item.value, dict))
    values = [item.value for item in items[:ENOUGH]]
    if noun_of(path) in OF_TURNS or are_turns(path, fields, items) or speaking(values):
        return False
    named = {name for column in names.values() for name in (column, *column.split(wide.COMMA))}
    return bool(named & fields.keys())


def _refusal(draft: Structure, path: str, fields: dict[str, Field], places: Places, *, is_lone: bool) -> str | None:
    """Return the reason for which records are no rollouts; null where they may be some."""
    refusal = refusals.refusal_of(path, fields, places)
    if refusal is None and is_lone and not refusals.is_named(path, fields, places):
        return refusals.NOTHING  # such as the settings or the totals of a run
    if refusal == refusals.LESSONS:
        answer = next(field for field in fields.values() if field.role == "response")
        draft.questions.append(Question(answer.name, "did a model give the answers?", {"response": answer.name}))
    return refusal


def _refuse(draft: Structure, path: str, places: Places) -> None:
    """Say why the records of the best place are no rollouts, or that there are none."""
    if not places:
        draft.refusal = refusals.NO_RECORDS
        return
    fields = fields_of([item.value for item in places.get(path, []) if isinstance(item.value, dict)])
    draft.examples = {name: field.distinct[:2] for name, field in fields.items()}
    draft.refusal = refusals.counts_of_groups(fields) or refusals.refusal_of(path, fields, places) or refusals.NOTHING
    _offer(draft, path, fields, places)
    wide.ask_targets(draft, fields)


def _best(places: Places, names: Mapping[str, str], draft: Structure) -> tuple[str | None, list[str]]:
    """Return the place of the rollouts and why it is; null without one, which `draft` then says."""
    records = names.get("records")
    if records is not None:
        if records in places:
            inner = f"{records}{{*}}"
            if inner in places:  # the user says that these numbers are those of turns
                places[inner] = numbered_turns(places[inner])
            return records, []
        paths = ", ".join(f"`{place}`" for place in places)
        elsewhere = f"has no records at `{records}`: lists of records are at {paths}"
        draft.refusal = elsewhere if places else refusals.NO_RECORDS
        return None, []
    outcomes = of_outcomes(places)
    if outcomes is not None:
        path, places[outcomes[0]] = outcomes
        draft.data["columns"] = {OUTCOME_LIST: "^@key"}
        return path, ["an outcome by the name of their list"]
    scored = [(*merit(path, places), path) for path in places]
    scored = [(points + _NAMED * _has_named(path, places[path], names), why, path) for points, why, path in scored]
    scored.sort(key=lambda score: (-score[0], len(score[2])))
    points, why, path = scored[0] if scored else (0, [], WHOLE_RECORD)
    if points < LEAST:
        _refuse(draft, path, places)
        return None, []
    outer = outer_of(path)
    if outer is not None and len(places.get(outer, ())) > 1 and are_parts(path, places) and speaks(outer, places):
        return outer, merit(outer, places)[1]
    question = _which_records(path, outer, places)
    draft.questions += [] if question is None else [question]
    return path, why


def _which_records(path: str, outer: str | None, places: Places) -> Question | None:
    """Return the question which records are the rollouts, where those at another path may be; None without such a doubt."""
    twin = twin_of(places, path)
    whole = outer or WHOLE_RECORD
    options = (whole, path)
    if outer is not None and len(places.get(outer, ())) > 1 and are_parts(path, places):
        sentence = f"are the `{path}` rollouts, or parts of what is around them?"
    elif outer is not None and len(places.get(outer, ())) > 1 and not has_one_verdict(places, outer, path):
        sentence = f"each record (`{outer}`) and what it holds (`{path}`) have a verdict: which are the rollouts?"
    elif outer is not None and may_be_turns(places, outer, path):
        sentence = f"each of `{path}` has a verdict: is it a rollout, or a turn of the record around it (`{outer}`)?"
        options = (path, outer)
    elif is_judged_whole(places, path):
        judged = f"`{whole}`" if whole != WHOLE_RECORD else f"`{whole}`, each record of the file,"
        sentence = f"{judged} has the verdict, and holds `{path}`: which of the two are the rollouts?"
    elif are_numbered(path, places[path]):
        options = (path.removesuffix("{*}"), path)
        sentence = f"are the records of each (`{path}`) rollouts, or turns of one rollout (`{options[0]}`)?"
    elif twin is not None:
        sentence = f"`{path}` and `{twin}` hold records of one kind: which are the rollouts?"
        options = (path, twin)
    else:
        return None
    return Question("records", sentence, {"records": "?"}, options)


def _chat_in_file(places: Places) -> dict[str, Any] | None:
    """Return the mapping of files that are lists of messages, one conversation each; null for other files."""
    values = [item.value for item in places.get(WHOLE_RECORD, [])]
    speaks = speaking(values)
    if speaks is None or len(values) < 2:
        return None
    fields = fields_of(values)
    if any(
        word in name.lower() for name in fields for word in ("conv", "session", "thread", "rollout", "dialog", "chat")
    ):
        return None
    if any(field.role in {"id", "task"} and 1 < len(field.distinct) < len(values) for field in fields.values()):
        return None  # the messages of several conversations
    if any(field.role == "turn" and _begins_again(field.values) for field in fields.values()):
        return None
    return {"rows": {"by": ["@file"]}, "turns": "rows", **speakers(speaks)}


def _begins_again(numbers: Sequence[Any]) -> bool:
    """Return whether numbers of messages begin again after larger ones."""
    counts = [number for number in numbers if isinstance(number, int)]
    return any(after < before for before, after in pairwise(counts))


def _of_values(path: str, items: Sequence[Item]) -> dict[str, Any]:
    """Return the rest of a mapping of records that are no objects: lists of messages, answers, or verdicts by name."""
    if all(isinstance(item.value, list) for item in items):
        return {"turns": "value"}
    if not path.endswith("{*}"):
        prompt = next((quoted(name) for name in items[0].outers[-1] if role_of(name) == "prompt"), None)
        around = {name: rule for name, rule in around_of(items[0]).items() if rule != f"^{prompt}"}
        return {"response": "value", "columns": around} | ({} if prompt is None else {"prompt": f"^{prompt}"})
    if not path.endswith("{*}"):
        return {}
    name = "success" if all(isinstance(item.value, bool | None) for item in items) else "verdict"
    return {"facts": facts_of_levels(path, items, {}), "columns": {name: "value"}}


def _describe(
    draft: Structure,
    path: str,
    items: Sequence[Item],
    fields: dict[str, Field],
    places: Places,
    names: Mapping[str, str],
) -> None:
    """Complete the mapping of records that are objects: turns, texts, ids, and what surrounds them."""
    rows = ids_of(draft, fields, [item.value for item in items], [item.file for item in items], names.get("rollout_id"))
    if draft.is_blocked:
        return
    lists_of(draft, path, fields, places, has_rows=rows, is_named="records" in names)
    texts_of(draft, fields)
    for name, column in names.items():
        path_of_column = fields[column].path if column in fields else column
        if name in _STRUCTURAL:
            draft.data[_STRUCTURAL[name]] = path_of_column
            draft.questions = [question for question in draft.questions if name not in question.names]
    stated(draft, path, items, fields)
    if "rows" in draft.data and "turns" not in draft.data:  # the rows of one answer say the same
        draft.data |= {name: f"rows[0].{draft.data[name]}" for name in OF_ROWS & draft.data.keys()}
