"""Texts that are not in UTF-8 are read where it is clear what they say, and one line says so; anything else is refused."""

import binascii
import gzip
import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rollwise as rw
from rollwise import read
from rollwise.cli import run
from rollwise.errors import ReadError
from rollwise.readers import Document
from rollwise.readers.sources import contents
from rollwise.readers.sources.encodings import in_utf_8

CSV = "rollout_id,prompt,response,succeeded\na,Erzähl’ mir von „Größe“,Naïve – 5 €,true\nb,Señor,Ça va,false\n"
CHATS = [
    {"id": n, "messages": [{"role": "user", "content": "Où?"}, {"role": "assistant", "content": "Là-bas…"}]}
    for n in "ab"
]
TEXTS = {
    "a.csv": CSV,
    "a.tsv": CSV.replace(",", "\t"),
    "b.csv": CSV.replace(",", ";").replace("\n", "\r\n"),
    "a.json": json.dumps(CHATS, ensure_ascii=False),
    "a.jsonl": "\n".join(json.dumps(chat, ensure_ascii=False) for chat in CHATS) + "\n",
    "c.json": json.dumps(
        {"model": "x", "results": [{"attack_prompt": "Où?", "victim_response": "Là"}] * 3}, ensure_ascii=False
    ),
}
ENCODINGS = {"cp1252": "Windows-1252", "utf-16": "UTF-16", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}
MARKS = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}


@pytest.mark.thinned(64)
@pytest.mark.parametrize("is_long", [False, True])
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_text_says_the_same_in_any_encoding(tmp_path, capsys, monkeypatch, name, encoding, is_long):
    """Also where the first letter that is not ASCII comes after the bytes that tell the kind of the file."""
    monkeypatch.setattr(contents, "HEAD", 1 << 5 if is_long else contents.HEAD)
    (tmp_path / "u").mkdir()
    (tmp_path / "u" / name).write_text(TEXTS[name], encoding="utf-8", newline="")
    (tmp_path / name).write_bytes(MARKS.get(encoding, b"") + TEXTS[name].encode(encoding))
    expected = read(tmp_path / "u" / name, run="r")
    capsys.readouterr()
    frame = read(tmp_path / name, run="r")
    texts = ["turn", "prompt", "response", "succeeded"]
    assert frame.select(texts).equals(expected.select(texts))
    assert f"1 file read as {ENCODINGS[encoding]}: {tmp_path / name}\n" in capsys.readouterr().err
    assert Document(tmp_path / name).digest == f"{binascii.crc32((tmp_path / name).read_bytes()):08x}"


@pytest.mark.integration
def test_without_a_mark_utf_16_is_known_by_its_json(tmp_path):
    for order in ("utf-16-le", "utf-16-be"):
        for name in ("a.json", "a.jsonl"):
            (tmp_path / name).write_bytes(TEXTS[name].encode(order))
            assert read(tmp_path / name)["response"].to_list() == ["Là-bas…"] * 2


def test_a_compressed_text_and_columns_that_are_named(tmp_path, capsys):
    """The encoding is said once for all files, and also where names translate the file."""
    for name in "ab":
        text = f"rollout_id,frage,antwort\n{name},Größe?,Für {name}: 5 €\n"
        (tmp_path / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode("cp1252")))
    frame = read(tmp_path, names={"response": "antwort", "prompt": "frage"})
    assert frame.select("prompt", "response").rows() == [("Größe?", "Für a: 5 €"), ("Größe?", "Für b: 5 €")]
    assert "2 files read as Windows-1252: " in capsys.readouterr().err


@pytest.mark.integration
def test_the_command_says_the_encoding(tmp_path, capsys):
    (tmp_path / "a.csv").write_bytes(CSV.encode("cp1252"))
    with pytest.raises(SystemExit, match="0"):
        run(["summarize", str(tmp_path / "a.csv"), "--metric", "attack_success"])
    out, err = capsys.readouterr()
    assert "50 %" in out
    assert f"1 file read as Windows-1252: {tmp_path / 'a.csv'}\n" in err


def test_a_cache_remembers_the_encoding(tmp_path, capsys):
    (tmp_path / "a.csv").write_bytes(CSV.encode("utf-16"))
    for _ in range(2):
        read(tmp_path / "a.csv", cache=tmp_path / "cache")
        assert "1 file read as UTF-16: " in capsys.readouterr().err


DOUBTFUL = {
    "Cyrillic": CSV.replace("Señor", "Привет, дорогой").encode("cp1251", "ignore"),
    "a short word": "rollout_id,prompt\na,Да\n".encode("cp1251"),
    "Greek": CSV.replace("Señor", "Καλημέρα σας").encode("cp1253", "ignore"),
    "Polish": "rollout_id,prompt\na,Wciąż jesteś tu? Łódź i źdźbło\n".encode("cp1250"),
    "Macintosh": "rollout_id,prompt\na,déjà vu à la crème brûlée\n".encode("mac_roman"),
    "Japanese": "rollout_id,prompt\na,こんにちは世界\n".encode("shift-jis"),
    "Chinese": "rollout_id,prompt\na,你好世界\n".encode("gbk"),
    "damaged UTF-8": "rollout_id,prompt\na,Größe\nb,Señor\nc,Ça va\n".encode().replace("ñ".encode(), b"\xc3"),
    "a stray byte": b"rollout_id,prompt\na,\xff\n",
    "control characters": "rollout_id,prompt\na,Gr\x01öße\n".encode("cp1252"),
    "a byte that stands for nothing": "rollout_id,prompt\na,Größe\n".encode("cp1252") + b"b,x\x81y\n",
    "NUL": "rollout_id,prompt\na,Größe\nb,\0\n".encode("cp1252"),
}


@pytest.mark.parametrize("data", DOUBTFUL.values(), ids=DOUBTFUL)
def test_what_is_in_doubt_is_refused_with_the_place(tmp_path, data):
    (tmp_path / "a.csv").write_bytes(data)
    with pytest.raises(ReadError, match=r"a\.csv: is not UTF-8 \(byte \d+\): save it as UTF-8"):
        read(tmp_path / "a.csv")
    assert Document(tmp_path / "a.csv").encoding is None


def test_a_cut_file_in_utf_8_is_cut_and_no_other_encoding(tmp_path, capsys):
    text = b'{"rollout_id": "a", "prompt": "Hi", "response": "No"}\n{"rollout_id": "b", "prompt": "Caf\xc3'
    (tmp_path / "a.jsonl").write_bytes(text)
    frame, problems = read(tmp_path / "a.jsonl", errors="collect")
    assert frame["rollout_id"].to_list() == ["a"]
    assert problems["record"].to_list() == ["2"]
    assert "read as" not in capsys.readouterr().err


@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
def test_cut_text_in_utf_16_is_cut_too(tmp_path, order):
    data = MARKS[order] + TEXTS["a.jsonl"].encode(order)
    (tmp_path / "a.jsonl").write_bytes(data[:-21])
    frame, problems = read(tmp_path / "a.jsonl", errors="collect")
    assert frame.height == 1
    assert problems["record"].to_list() == ["2"]
    (tmp_path / "a.csv").write_bytes(MARKS[order] + CSV.encode(order)[:-3])
    with pytest.raises(ReadError, match="perhaps half-written"):
        read(tmp_path / "a.csv")


def test_verdicts_and_prompts_are_read_as_well(tmp_path, capsys):
    (tmp_path / "goals.csv").write_bytes("goal,prompt\n1,Erzähl\n2,Señor\n".encode("cp1252"))
    assert rw.rollout.read_prompts(tmp_path / "goals.csv")["prompt"].to_list() == ["Erzähl", "Señor"]
    assert "1 file read as Windows-1252" in capsys.readouterr().err


@pytest.mark.integration
@given(st.text(string.printable + "äöüÄÖÜßéèñç’“„…–€\U0001f600", max_size=80))
def test_utf_8_is_never_anything_else(text):
    data = text.encode()
    assert in_utf_8(data) == (data, None)


@given(st.binary(max_size=200))
def test_nothing_fails(data):
    text, encoding = in_utf_8(data)
    assert (text == data) or encoding is not None
