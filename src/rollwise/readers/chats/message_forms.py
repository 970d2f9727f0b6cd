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
    fields = dict(message)
    if isinstance(fields.get("function_call"), dict) and not fields.get("tool_calls"):
        fields["tool_calls"] = [fields.pop("function_call")]
    if not fields.get(text):
        if isinstance(fields.get("parts"), list) and fields["parts"]:
            fields[text] = fields.pop("parts")
        elif isinstance(fields.get("refusal"), str) and fields["refusal"]:
            fields[text] = [{"type": "refusal", "refusal": fields.pop("refusal")}]
        elif fields.get(text) is None and not fields.get("tool_calls"):
            content = next((name for name in TEXTS if isinstance(fields.get(name), str | list | dict)), text)
            fields[text] = fields.pop(content, None)
    return fields if message.keys() - fields.keys() else message
