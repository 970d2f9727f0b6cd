"""Sessions of Codex, which it calls rollouts: JSON lines, each an item of the conversation or an event beside it."""

from collections.abc import Iterator
from typing import Any

from turnwise.readers.chats.turns import calls, joined
from turnwise.readers.formats.codex.lines import CONTEXT, EVENT, ITEM, META, Answer, Git, Told, Usage
from turnwise.readers.formats.codex.stream import STARTED, told_by
from turnwise.readers.records import parse, whole
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.json_texts import surface_if_any
from turnwise.readers.table import Table, Turn
from turnwise.schema import NO_ATTACK

KINDS = (META, CONTEXT, ITEM, EVENT)
OLD = frozenset({"id", "timestamp", "instructions"})  # the first line of 2025's first versions, whose items stand bare


def sniff(document: Document) -> bool:
    """Return whether the file is a session: lines with a `payload`, whose `type` says of what kind; an older one, or a stream."""
    if document.kind not in {"lines", "json"}:
        return False
    first = next(iter(document.beginning), {})
    if first.keys() >= OLD and "type" not in first:
        return "record_type" in document.early or {"type", "role", "content"} <= document.early
    kind = surface_if_any(first.get("type"))
    return kind == STARTED if "payload" not in first else kind in KINDS


def read_codex(document: Document, table: Table) -> None:
    r"""The items of one file, which is one session, into a rollout: a turn for each call of the model.

    =============================== ========================================================================
    in the file                     in the table
    =============================== ========================================================================
    `session_meta.id`               `run`, `rollout_id`
    `turn_context.model`            `target`: the first
    `base_instructions` or          `context` of turn 1, with what a developer or the system said before the
    `instructions`                  first answer
    assistant                       `response`; all items up to what the model is told next are one answer
    items that end in ``_call``     `tool_calls`; one without a name is called as its type, without the ending
    `reasoning`                     column `reasoning`, where it can be read: what is encrypted cannot
    user, items in ``_output``      `prompt`; after the last answer `observation`
    `token_count`                   `prompt_tokens` (cached ones included), `response_tokens` (those of
                                    reasoning included); their last sum, as Codex states it, `total_tokens`
    `error`                         `error` of the answer that was not given
    `turn_aborted`                  column `aborted` of the last answer: why
    `thread_rolled_back`            what was answered since the user message that was taken back is `pruned`;
                                    the session is a tree then (`node_id`, `parent_id`, `target_call`)
    first and last `timestamp`      `total_seconds`
    =============================== ========================================================================

    `attack` is `none`, so `goal`, `outcome`, `solved` and `ending` are null; `attempt` is 1. What Codex itself puts before the
    first question (the environment, AGENTS.md) is said by the user there, and stands in `prompt`. Where the conversation was
    compacted, what was said before stays. Events that repeat a message or tell of a command are passed over. Kept: `cwd`,
    `originator`, `version`, `git_branch`, `git_commit`, `forked_from`, `agent_role`. Built from the types in Codex's source
    and from lines of sessions that its users have published; those of early 2025, without `payload`, are read as well.

    So is what ``codex exec --json`` prints. It does not say what was asked, nor where a call of the model ends: each command or
    tool with what came back ends an answer, and `turn.completed` gives `total_tokens` alone.

    The producer judges the `whole_rollout`: not at all.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"type": "session_meta", "payload": {"id": "S"}}
    ... {"type": "turn_context", "payload": {"model": "gpt-5-codex"}}
    ... {"type": "response_item", "payload": {"type": "message", "role": "user", "content": "2 + 2?"}}
    ... {"type": "response_item", "payload": {"type": "message", "role": "assistant", "content": "4"}}'''
    >>> table = Table("codex", Problems(), {})
    >>> read_codex(Document(Path("rollout-S.jsonl"), log), table)
    >>> table.frame().select("rollout_id", "target", "prompt", "response").row(0)
    ('S', 'gpt-5-codex', '2 + 2?', '4')
    """
    told = Told()
    for number, value in document.records():
        with table.record(document.name, number):
            record = parse(value, dict[str, Any])
            for kind, said in _lines(record):
                told.take(kind, said, record.get("timestamp"))
    with table.record(document.name, told.session.id):
        _add(document, table, told)


def _lines(record: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Of what kind a line is, and what it says; an event of a running session may be several lines."""
    kind = record.get("type")
    if "payload" in record:
        yield str(kind), parse(record["payload"], dict[str, Any], "payload")
    elif kind is None:
        yield META, record if "id" in record else {}
    elif "." in str(kind):
        yield from told_by(record)
    else:
        yield ITEM, record


def _add(document: Document, table: Table, told: Told) -> None:
    session, answers = told.session, told.answers
    name = session.id or f"codex-{document.digest}"
    turns = [_turn(answer) for answer in answers] or [Turn(turn=None, prompt=joined(told.asked))]
    turns[0] = turns[0]._replace(context=joined(told.context))
    if answers:
        turns[-1] = turns[-1]._replace(observation=joined(told.asked))
    if any(answer.pruned for answer in answers):
        names = {id(answer): str(number) for number, answer in enumerate(answers, start=1)}
        turns = [
            turn._replace(
                node_id=names[id(answer)],
                parent_id=None if answer.above is None else names[id(answer.above)],
                pruned=answer.pruned,
                target_call=number,
            )
            for number, (turn, answer) in enumerate(zip(turns, answers, strict=True), start=1)
        ]
    git = session.git or Git()
    table.add(
        document.name,
        name,
        turns,
        {
            "run": name,
            "target": told.model,
            "attack": NO_ATTACK,
            "attempt": 1,
            "total_tokens": None if told.tokens is None else whole(told.tokens.total_tokens, "total_tokens"),
            "total_seconds": told.seconds,
        },
        {
            "cwd": session.cwd,
            "originator": session.originator,
            "version": session.version,
            "git_branch": git.branch,
            "git_commit": git.commit_hash,
            "forked_from": session.forked_from_id,
            "agent_role": session.agent_role,
        },
        {
            "reasoning": [joined(answer.thoughts) for answer in answers],
            "aborted": [answer.aborted for answer in answers],
        }
        if answers
        else None,
    )


def _turn(answer: Answer) -> Turn:
    usage = answer.usage or Usage()
    return Turn(
        turn=answer.depth,
        prompt=joined(answer.asked),
        response=joined(answer.texts),
        tool_calls=calls(answer.called),
        prompt_tokens=whole(usage.input_tokens, "input_tokens"),
        response_tokens=whole(usage.output_tokens, "output_tokens"),
        error=answer.error,
    )
