"""Names that chats, their messages and their turns usually have in records."""

import polars as pl

PROMPTS = ("probe", "audit", "utterance", "challenge", "input", "question", "user", "human")
RESPONSES = ("output", "completion", "answer", "reply", "assistant")
SIGNS = frozenset({"turn", "prompt", "response", "outcome", "attack", *PROMPTS, *RESPONSES})
LISTS = ("messages", "turns", "conversation", "conversations", "dialogue", "dialog", "chat", "transcript", "exchanges")
ROLES = ("role", "from", "speaker", "author", "sender")
TEXTS = ("content", "value", "text", "message", "utterance")
IDS = ("conversation_id", "dialogue_id", "dialog_id", "chat_id", "session_id", "uuid")  # besides `rollout_id` and `id`
LIST = (pl.List, pl.Array)
TURN_TEXTS = frozenset({"prompt", "response", *PROMPTS, *RESPONSES})
