"""Chats in a cell of a table, as pandas writes lists: in JSON, and in the words of Python."""

import json
import random
import string
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollwise import read
from rollwise.errors import ReadError
from rollwise.readers import BrokenError
from rollwise.readers.json_texts import LONGEST, list_in_cell

SAID: list[dict[str, Any]] = [
    {"role": "user", "content": "It's [a] \"test\": {'x': 1}\n"},
    {"role": "assistant", "content": "Sure – 5 €\\n", "n": None, "ok": True},
]
ARRAY = f"[{SAID[0]!r}\n {SAID[1]!r}]"  # as NumPy shows an array


@pytest.mark.integration
@pytest.mark.parametrize("spelled", [str(SAID), ARRAY, json.dumps(SAID), str(SAID).replace("None", "nan")])
@pytest.mark.parametrize("name", ["messages", "conversation", "log"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_chat_is_read_however_it_is_spelled(tmp_path, spelled, name, suffix):
    frame = pl.DataFrame({"id": ["a", "b"], "behavior": "g", name: [spelled] * 2, "jailbroken": [True, False]})
    path = tmp_path / f"log.{suffix}"
    (frame.write_csv if suffix == "csv" else frame.write_parquet)(path)
    rows = [(1, SAID[0]["content"], SAID[1]["content"])] * 2
    turns = read(path)
    assert turns.select("turn", "prompt", "response").rows() == rows
    assert turns["outcome"].to_list() == ["success", "failure"]


def test_a_cell_that_is_cut_costs_its_rollout(tmp_path):
    """As spreadsheets do after 32,767 letters."""
    cells = [str(SAID), str(SAID)[:40], str(SAID)]
    pl.DataFrame({"id": ["a", "b", "c"], "messages": cells}).write_csv(tmp_path / "log.csv")
    with pytest.raises(ReadError, match="record 1"):
        read(tmp_path / "log.csv")
    frame, problems = read(tmp_path / "log.csv", errors="collect")
    assert frame["response"].count() == 2
    assert problems["record"].to_list() == ["1"]


PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    PLAIN | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner, min_size=1), max_leaves=12
)


@pytest.mark.integration
@given(st.lists(VALUES, min_size=1))
def test_what_python_shows_of_json_is_read_back(value):
    assert list_in_cell(str(value)) == value


CODE = [
    "__import__('os').system('x')",
    "[print('x')]",
    "{'a'}",
    "[(1, 2)]",
    "[b'x']",
    "[1 + 1]",
    "['a' 'b']",
    "[f'{1}']",
]
CODE += [
    "[1-1-1]",
    "[{1: 2}]",
    "[x]",
    "[1j]",
    "['\\ud83d",
    "[lambda: 0]",
    "['a']*9",
    "[...]",
    "[0x10]",
    "-" * 9999,
    "\0",
]
DEEP = ["[" * 5000 + "]" * 5000, "[" + "-" * 10**5 + "1]", "[1" + "-1" * 10**5 + "]", "['" + "x" * LONGEST + "']"]
DEEP += ["[" + "9" * 10**5 + "]", "{'a':" * 3000, "['" + "\\" * 10**5, "'" * 10**5, "[" + "} {" * 10**5]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("text", [*CODE, *DEEP], ids=lambda text: text[:12])
def test_nothing_but_plain_values_is_read(text):
    with pytest.raises(BrokenError):
        list_in_cell(text)


@pytest.mark.integration
@given(st.randoms(use_true_random=False), st.integers(0, 60))
def test_no_cell_fails_otherwise(chance: random.Random, length):
    signs = [*"[]{}'\",:\\- \n", *string.ascii_letters[:3], "nan", "None", "1e5", "9", "'a'", "{'a': "]
    text = "".join(chance.choices(signs, k=length))
    try:
        value = list_in_cell(text)
    except BrokenError:
        return
    assert value is None or isinstance(value, list | dict | str | int | float)
