"""Codex: its sessions (which it calls rollouts), and the output of `codex exec --json`.

- File: `~/.codex/sessions/<date>/rollout-<time>-<id>.jsonl`, one item of the conversation or one event per line.
- Format: https://github.com/openai/codex, `RolloutItem` in codex-rs/protocol/src/protocol.rs
- Checked on: files built from that source and from lines of published sessions, of early 2025, late 2025 and the stream.
- Lost: encrypted reasoning, and events that repeat an item.
"""

from collections.abc import Iterator
from typing import Any

from rollwise.readers.chats.tool_results import Results, attached
from rollwise.readers.chats.turns import joined
from rollwise.readers.chronology import in_order
from rollwise.readers.formats.codex.lines import CONTEXT, EVENT, ITEM, LINE_KINDS, META, Answer, Git, SessionLog, Usage
from rollwise.readers.formats.codex.stream import STARTED, lines_of
from rollwise.readers.json_texts import surface_if_any
from rollwise.readers.problems import warn
from rollwise.readers.records import kind_of, parse, whole_number
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.readers.tool_calls import calls
from rollwise.schema import NO_ATTACK

KINDS = (META, CONTEXT, ITEM, EVENT)
OLD = frozenset(
    {"id", "timestamp", "instructions"}
)  # first line of sessions of early 2025, whose items have no `payload`


def _is_known(document: Document) -> bool:
    first = document.beginning[0]
    kind = surface_if_any(first["type"])
    return kind == STARTED if "payload" not in first else kind in KINDS


def _is_old(document: Document) -> bool:
    # Sessions of early 2025: the second line tells them from other files with an id.
    return "record_type" in document.early or {"type", "role", "content"} <= document.early


SHAPES = Shapes({"type"}, at="first", check=_is_known) | Shapes(OLD, without={"type"}, at="first", check=_is_old)


def read_codex(document: Document, table: TurnsBuilder) -> None:
    r"""Read the items of one file, which is one session, as a rollout; a turn is one model call.

    =============================== ========================================================================
    in the file                     in the table
    =============================== ========================================================================
    `session_meta.id`               `run`, `rollout_id`
    `turn_context.model`            `target`: the model of the first call
    `base_instructions` or          `context` of turn 1, with the messages of developer and system before the
    `instructions`                  first answer
    assistant                       `response`; all items up to the next input of the model are one answer
    items that end in ``_call``     `tool_calls`; one without a name is named by its type, without the ending
    `reasoning`                     column `reasoning`, except for encrypted reasoning
    user, items in ``_output``      `prompt`; after the last answer `observation`; `tool_results` by `call_id`
    `token_count`                   `prompt_tokens` (cached ones included), `response_tokens` (with
                                    reasoning); the last sum that Codex states is `total_tokens`
    `error`                         `error` of a turn without an answer
    `turn_aborted`                  column `aborted` of the last answer: the reason
    `thread_rolled_back`            answers since the user message that was taken back are `pruned`; the
                                    session is then a tree (`node_id`, `parent_id`, `target_call`)
    `timestamp`                     the order of the lines; `total_seconds` from the first to the last
    =============================== ========================================================================

    `attack` is `none`, so `goal`, `outcome`, `solved` and `ending` are null; `attempt` is 1. What Codex itself adds
    before the first question (the environment, AGENTS.md) is a user message in the file, and part of `prompt`. Messages from
    before the conversation was compacted stay. Events that repeat a message or describe a command are skipped. Further
    columns: `cwd`, `originator`, `version`, `git_branch`, `git_commit`, `forked_from`, `agent_role`. Sessions of early 2025,
    without `payload`, are read as well.

    So is the output of ``codex exec --json``. It holds no prompts, and does not mark the end of a model call: each command
    or tool with its result ends an answer, and `turn.completed` gives `total_tokens` alone.

    The producer judges the `whole_rollout`, but writes no verdict.
    """
    log = SessionLog()
    lines: list[tuple[int, dict[str, Any]]] = []
    for number, value in document.records():
        with table.record(document.name, number):
            lines.append((number, parse(value, dict[str, Any])))
    for number, record in in_order(lines, _time, "timestamp"):
        with table.record(document.name, number):
            for kind, content in _lines(record):
                log.take(kind, content, record.get("timestamp"))
    with table.record(document.name, log.session.id):
        _add(document, table, log)


def _time(line: tuple[int, dict[str, Any]]) -> object:
    """Return the time of a line; the data of a session stay where they are, as a fork repeats the data of its origins."""
    return None if line[1].get("type") == META else line[1].get("timestamp")


def _lines(record: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the kind and the content of a line; an event of the stream may be several lines."""
    kind = record.get("type")
    if "payload" in record:
        yield kind_of(kind, LINE_KINDS) or "", parse(record["payload"], dict[str, Any], "payload")
    elif kind is None:
        if not record.keys() & {"id", "record_type"}:
            warn("type", "is missing in an item: it is passed over")
        yield META, record if "id" in record else {}
    # Types of the stream have a dot, such as `item.completed`.
    elif "." in str(kind) or "item" in record or kind == "error":
        yield from lines_of(record)
    else:
        yield ITEM, record


def _add(document: Document, table: TurnsBuilder, log: SessionLog) -> None:
    session, answers = log.session, log.answers
    name = session.id or f"codex-{document.digest}"
    results = attached([answer.calls for answer in answers], [answer.results for answer in answers])
    turns = list(map(_turn, answers, results)) or [TurnRow(turn=None, prompt=joined(log.prompts))]
    # Instructions come before the first answer; input after the last answer was never answered.
    turns[0] = turns[0]._replace(context=joined(log.context))
    if answers:
        turns[-1] = turns[-1]._replace(observation=joined(log.prompts))
    if any(answer.pruned for answer in answers):  # the session is a tree
        # Only a session that was rolled back is a tree; its answers are numbered in the order in which they were given.
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
            "target": log.model,
            "attack": NO_ATTACK,
            "attempt": 1,
            "total_tokens": None if log.tokens is None else whole_number(log.tokens.total_tokens, "total_tokens"),
            "total_seconds": log.seconds,
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


def _turn(answer: Answer, results: Results) -> TurnRow:
    usage = answer.usage or Usage()
    return TurnRow(
        turn=answer.depth,
        prompt=joined(answer.prompts),
        response=joined(answer.texts),
        tool_calls=calls(answer.calls),
        tool_results=results,
        prompt_tokens=whole_number(usage.input_tokens, "input_tokens"),
        response_tokens=whole_number(usage.output_tokens, "output_tokens"),
        error=answer.error,
    )
