"""Messages of other tools in the current format of OpenAI."""

from typing import Any

from rollwise.readers.chat_names import TEXTS


def openai_form(message: Any, text: str = "content") -> Any:
    """Return a message in the current format of OpenAI; it is returned unchanged if nothing needs moving.

    - Without a text, the `parts` of the AI SDK and of Gemini are it, or the value under another usual name.
    - A `refusal` is the text of an answer that has no other, as a part of that type.
    - A `function_call`, as it was before `tool_calls`, is a tool call.
    """
    if not isinstance(message, dict) or (message.get(text) and not message.get("function_call")):
        return message
    given = dict(message)
    if isinstance(given.get("function_call"), dict) and not given.get("tool_calls"):
        given["tool_calls"] = [given.pop("function_call")]
    if not given.get(text):
        if isinstance(given.get("parts"), list) and given["parts"]:
            given[text] = given.pop("parts")
        elif isinstance(given.get("refusal"), str) and given["refusal"]:
            given[text] = [{"type": "refusal", "refusal": given.pop("refusal")}]
        elif given.get(text) is None and not given.get("tool_calls"):
            other = next((name for name in TEXTS if isinstance(given.get(name), str | list | dict)), text)
            given[text] = given.pop(other, None)
    return given if message.keys() - given.keys() else message
