"""Speakers of a chat: the words that logs use for the target, for those who ask it, and for its tools."""

ASKS = (
    "user", "human", "prompter", "attacker", "adversary", "red_team", "customer",
)  # fmt: skip
REPLIES = (
    "assistant", "ai", "model", "gpt", "chatgpt", "bing", "bard", "llm", "bot", "chatbot", "agent", "target",
    "victim",
)  # fmt: skip
TOOLS = ("tool", "function", "function_response", "observation", "environment")
ANSWERS = frozenset(spelling for word in REPLIES for spelling in (word, word.capitalize(), word.upper()))
SYSTEM = frozenset({"system", "System", "SYSTEM", "developer"})
SPEAKERS = (
    ANSWERS | SYSTEM | {spelling for word in (*ASKS, *TOOLS) for spelling in (word, word.capitalize(), word.upper())}
)
WORDS = frozenset({*REPLIES, *ASKS, *TOOLS, "system", "developer"})


def speaker(role: str) -> str:
    """Return the word for a known speaker without blanks and in small letters; a speaker with a name of its own keeps it."""
    word = role.strip().lower()
    return word if word in WORDS else role
