"""Encodings of texts: UTF-8, UTF-16, and the code page of Windows for western Europe, which is only taken where the text fits it.

No byte says which code page a text is in: each gives other letters. Hence a text is taken for Windows-1252 only if it cannot be
UTF-8, not even one that is damaged or cut, and if what it would say looks like words: letters with accents stand alone among
plain letters, and no sign stands within a word.
"""

import re
from codecs import getincrementaldecoder
from collections.abc import Iterable

UTF_16 = "UTF-16"
WINDOWS = "Windows-1252"
SAVE = "save it as UTF-8"
CUT = b"\xc3"  # the first byte of a character in UTF-8, without the second
# First bytes of text in UTF-16: its byte order mark, or without it the first bytes of JSON.
_MARKS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_UNMARKED = (*((mark, "utf-16-le") for mark in (b"{\0", b"[\0")), *((mark, "utf-16-be") for mark in (b"\0{", b"\0[")))
_UTF_32 = (b"\xff\xfe\0\0", b"{\0\0\0", b"[\0\0\0")
_CONTROLS = re.compile(rb"[\0-\x08\x0e-\x1f\x7f]")  # characters that no text has
_HIGH = re.compile(rb"[\x80-\xff]+")
# Characters of several bytes in UTF-8; a start like the end of a German word before a quotation mark hardly ever occurs.
_UTF_8 = re.compile(rb"[\xc2-\xde][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_ODD = re.compile(
    r"[^\W\d_]*[À-ÖØ-öø-ÿŒœŠšŽž]{4}[^\W\d_]*|\b[À-ÖØ-öø-ÿŒœŠšŽž]{2,}\b"  # words of other alphabets
    r"|(?<=[^\W\d_])[¡-©«¬¯-³µ¶¸¹»-¿ˆ‰‡†ƒ‚„×÷](?=[^\W\d_])"  # signs within a word
    r"|(?<=[a-zß-öø-ÿ])[À-ÖØ-ÞŒŠŽŸ]"  # a capital letter after a small one
    r"|[ðþÿ]\b|\b[ÐÞ]"
)
_MOST_ODD = 0.1  # of the characters that are not ASCII


def utf_16(head: bytes) -> str | None:
    """Return the byte order of a text in UTF-16 as Python names it; None for anything else."""
    if head.startswith(_UTF_32):
        return None
    return next((name for mark, name in (*_MARKS, *_UNMARKED) if head.startswith(mark)), None)


def is_utf_8(blocks: Iterable[bytes]) -> bool:
    """Return whether blocks of a file are UTF-8 up to an end that may be cut; binary files are not asked further."""
    decode = getincrementaldecoder("utf-8")().decode
    for number, block in enumerate(blocks):
        if not number and b"\0" in block:
            return True
        try:
            decode(block)
        except UnicodeDecodeError:
            return False
    return True


def in_utf_8(data: bytes) -> tuple[bytes, str | None]:
    """Return a text in UTF-8, with the encoding that it was in; what is in UTF-8, no text or in doubt stays as it is."""
    if (order := utf_16(data)) is not None:
        decoder = getincrementaldecoder(order)("replace")
        text = decoder.decode(data).removeprefix("\ufeff").encode()
        # Cut in the middle of a character, it is cut in UTF-8 as well.
        return text + (CUT if decoder.getstate()[0] else b""), UTF_16
    if is_utf_8([data]):
        return data, None
    text_if_any = _western(data)
    return (data, None) if text_if_any is None else (text_if_any.encode(), WINDOWS)


def misspelled(content: bytes) -> str | None:
    """Return what is wrong with text that is not UTF-8, and how to convert it; None if its first bytes are UTF-8."""
    try:
        getincrementaldecoder("utf-8")().decode(content)  # the last letter may be cut
    except UnicodeDecodeError as error:
        return f"is not UTF-8 (byte {error.start}): {SAVE}"
    return None


def _western(data: bytes) -> str | None:
    """Return a text that is not UTF-8, read as Windows-1252; None where that is in doubt."""
    if _CONTROLS.search(data):
        return None
    parts = _HIGH.findall(data)
    if 10 * sum(_UTF_8.search(part) is not None for part in parts) >= len(parts):
        return None  # UTF-8 with damage
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return None
    odd = sum(sum(letter > "\x7f" for letter in word) for word in _ODD.findall(text))
    return text if odd <= _MOST_ODD * sum(map(len, parts)) else None
