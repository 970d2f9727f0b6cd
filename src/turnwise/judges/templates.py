"""Prompt of a judge: a template with placeholders for the columns of a turn."""

from collections.abc import Mapping
from string import Formatter

from turnwise.errors import ArgumentError


class Template:
    """Text with places in braces, filled in all at once, so that braces in what is filled in stay as they are.

    Parameters
    ----------
    text
        With ``{response}`` for a place, and ``{{`` and ``}}`` for braces.

    Raises
    ------
    ArgumentError
        Where a brace stands alone, or a place is more than a name.

    Examples
    --------
    >>> template = Template("Rate {response} as {{score}}.")
    >>> template.fields, template.render({"response": "{prompt}"})
    (('response',), 'Rate {prompt} as {score}.')
    """

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            parts = list(Formatter().parse(text))
        except ValueError as error:
            raise ArgumentError(
                f"the template {text!r:.60} cannot be read ({error}); write {{{{ and }}}} for braces"
            ) from error
        for _, field, form, conversion in parts:
            if field is not None and (not field.isidentifier() or form or conversion):
                raise ArgumentError(
                    f"the template has the place {{{field}}}, which is no name of a column; write {{{{ and }}}} for braces"
                )
        self._parts = [(literal, field) for literal, field, _, _ in parts]
        self.fields = tuple(dict.fromkeys(field for _, field in self._parts if field is not None))

    def render(self, values: Mapping[str, object]) -> str:
        """The text, its places filled in."""
        return "".join(literal if field is None else f"{literal}{values[field]}" for literal, field in self._parts)
