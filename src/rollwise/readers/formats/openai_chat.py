"""Chats in OpenAI's format or in similar ones: records with `messages`, also under other usual names.

- File: JSON lines, a JSON list, or Parquet and Arrow files with a column of messages.
- Format: https://platform.openai.com/docs/api-reference/chat
- Checked on: files built after the records of many tools and data sets.
- Lost: names and ids of messages.
"""

from rollwise.readers.chats.layouts import Layout, layouts
from rollwise.readers.chats.reading import Chats
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder
from rollwise.readers.traces.exchanges import logged

# fields of other formats with messages
OF_TOOLS = frozenset({"suite_name", "termination_reason", "samples", "eval", "answer_attribution", "target_messages"})
FIELDS_OF_TOOLS = OF_TOOLS | {"rollout_id", "session_id"}  # and fields that may be of other formats
USUAL = Layout("messages", role="role", text="content")


SHAPES = Shapes(
    {"messages"}, without=FIELDS_OF_TOOLS, contains=(b'"role"',), check=lambda document: not logged(document)
)


def sniff_chats(document: Document) -> bool:
    """Return whether the file holds chats under other names, with other roles, or with other ids of rollouts."""
    return chat_layout(document) is not None and not logged(document)


def read_openai_chat(document: Document, table: TurnsBuilder) -> None:
    r"""Read each record as a rollout; a turn is one assistant message.

    ============================ ==========================================================================
    in the file                  in the table
    ============================ ==========================================================================
    hash of the content          `run`: the file has no name of its own
    run, `id`                    `rollout_id`; the number of the line without an `id`
    `model`                      `target`
    system, developer            `context`
    user, tool, function         `prompt`; after the last answer `observation`
    assistant                    `response`, `tool_calls` (also the older `function_call`)
    `refusal`, a part of         `response` without other text, and a column of that name. Only OpenAI's
    type refusal                 own filter fills it; `m.refused_by_rule` finds other refusals
    `system` of the record       `context`, as in Anthropic's API, where no message has the role system
    `reward`, `score`,           the same, of the answer that states it, where it is a number or Boolean as in
    `succeeded`, `refused`,      TURNS; else ``score_source``, ...
    `seconds`, `cost_usd`,
    `prompt_tokens`,
    `response_tokens`, `error`
    `reward` of the record       `reward` of the last turn, where no answer states one
    `cost_usd`, `seconds`,       `total_cost_usd`, `total_seconds`, `total_tokens` (the sum of both); of a record
    `prompt_tokens` and          with several answers: ``request_cost_usd``, ..., as they are of all together
    `response_tokens` of it
    ============================ ==========================================================================

    A column of the record that has the name of a fact of the rollout in TURNS (`attack`, `goal`, `run`, `attempt`, `outcome`,
    `solved`, `ending`, ...) is that fact where its value fits, as in a table of turns, else ``outcome_source``, ...; only
    `source`, which in corpora names the origin of a text, is ``source_source`` unless the record has a `rollout_id`. All
    other fields of the record or of an answer become columns under their own names, objects and lists as JSON text. Fields
    of other messages become ``prompt_<name>``, or ``observation_<name>`` after the last answer; a list, where several
    messages of the turn have them. Names and ids of messages are skipped. The target's reasoning (parts of type reasoning or
    thinking) is the column `reasoning`. OpenAI's format has no verdict and no ending: `outcome`, `solved` and `ending` are
    null where the record does not state them.

    If the last message is not an answer, the answer may be outside the chat: in `response`, or in the only text among
    output, completion, answer, reply and assistant, or, of a chat without any answer, the only text under another name of
    answers, such as `response_text`; or in OpenAI's `choices`, where each of several is a rollout of its own
    (``<rollout_id>/<place>``, `attempt` from 1).

    Parquet and Arrow files with the messages in a column of lists are read row by row like such lines: times become text.

    Where no format claims the file, chats and their fields may have other names:

    ============================ ==========================================================================
    name in OpenAI's format      also
    ============================ ==========================================================================
    `messages`                   turns, conversation, conversations, dialogue, dialog, chat, transcript,
                                 exchanges
    `rollout_id`                 `rollout_id`, unchanged; else run and `id`; else run and conversation_id,
                                 dialogue_id, dialog_id, chat_id, session_id or uuid, which is also a column,
                                 and is followed by the number of the record where it is not unique
    `role`                       from, speaker, author, sender
    `content`                    value, text, message, utterance; any of them in a message that has no content
                                 and calls no tool; `parts` (of the AI SDK, of Gemini) in any chat
    user                         human, prompter, attacker, adversary, red_team, customer; any other speaker of a
                                 chat that has an assistant
    assistant                    ai, model, gpt, chatgpt, bing, bard, llm, bot, chatbot, agent, target,
                                 victim; system, where `role` has another name and no one else answers
    ============================ ==========================================================================

    The producer judges the `whole_rollout`, but writes no verdict.
    """
    Chats(document, table, chat_layout(document) or USUAL).add_all()


def chat_layout(document: Document) -> Layout | None:
    r"""Return the names that a file's records use for chats and their fields; None where they hold no chats."""
    return next((layout for layout in layouts(document) if layout.role is not None), None)
