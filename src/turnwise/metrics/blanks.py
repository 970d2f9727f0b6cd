"""White space between words."""

BLANK = r"\s\x1c-\x1f"
"""In a set of a pattern: what `str.split` splits at, Unicode's white space and the four separators of ASCII."""

BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001))))
"""The same, each once; none lies beyond U+3000."""

ASCII_BLANKS = "".join(filter(str.isascii, BLANKS))
"""Those of ASCII."""

OTHER_BLANKS = "".join(sorted(set(BLANKS) - set(ASCII_BLANKS)))
"""Those beyond."""
