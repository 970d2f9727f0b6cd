"""`write`: a file by suffix, whole or not at all."""

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise import schema
from rollwise.errors import SchemaError, WriteError
from rollwise.files.atomic import whole, whole_folder
from rollwise.files.writers import WRITERS

FRAME = pl.DataFrame(
    {
        "rollout_id": ["a", "b"],
        "outcome": pl.Series(["success", None], dtype=schema.OUTCOMES),
        "time_to_success": pl.Series([{"duration": 2, "observed": True}, None], dtype=schema.TIME_TO_EVENT),
        "tools": pl.Series([[{"name": "mail", "arguments": '{"to": "é"}'}], None], dtype=schema.TOOL_CALLS),
        "note": ['line\nbreak, "quoted"', ""],
    }
)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_parquet_and_arrow_keep_every_dtype(tmp_path: Path, suffix: str) -> None:
    """What is read back is the frame itself, Enums, structs and lists included."""
    path = rw.write(FRAME, tmp_path / f"t{suffix}")
    back = pl.read_parquet(path) if suffix == ".parquet" else pl.read_ipc(path)
    assert back.equals(FRAME)
    assert back.schema == FRAME.schema


def test_csv_spreads_structs_and_writes_lists_as_json(tmp_path: Path) -> None:
    """A struct is a column for each field, a list is JSON text, null differs from an empty text."""
    text = rw.write(FRAME, tmp_path / "t.csv").read_text()
    assert text.splitlines()[0] == "rollout_id,outcome,time_to_success_duration,time_to_success_observed,tools,note"
    back = pl.read_csv(tmp_path / "t.csv")
    assert json.loads(back["tools"][0]) == FRAME["tools"].to_list()[0]
    assert text.rstrip().endswith('b,,,,,""')


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".ndjson"])
def test_json_has_one_record_a_row(tmp_path: Path, suffix: str) -> None:
    """Every row is a record, nulls are null."""
    text = rw.write(FRAME, tmp_path / f"t{suffix}").read_text()
    rows = json.loads(text) if suffix == ".json" else [json.loads(line) for line in text.splitlines()]
    assert rows[0]["time_to_success"] == {"duration": 2, "observed": True}
    assert rows[1]["outcome"] is None


def test_arrow_tables_and_lazy_frames_are_written_too(tmp_path: Path) -> None:
    """Anything with an Arrow stream will do."""
    assert pl.read_parquet(rw.write(FRAME.to_arrow(), tmp_path / "a.parquet")).height == 2
    assert pl.read_parquet(rw.write(FRAME.lazy(), tmp_path / "b.parquet")).height == 2


def test_nothing_is_overwritten_unless_allowed(tmp_path: Path) -> None:
    """A file that stands there stays as it is, until `overwrite` says otherwise."""
    path = tmp_path / "t.csv"
    path.write_text("mine")
    with pytest.raises(WriteError, match="exists and is not overwritten"):
        rw.write(FRAME, path)
    assert path.read_text() == "mine"
    rw.write(FRAME, path, overwrite=True)
    assert path.read_text().startswith("rollout_id")


@pytest.mark.parametrize("name", ["t.xlsx", "t", "t.parquet.bak"])
def test_an_unknown_suffix_is_one_sentence(tmp_path: Path, name: str) -> None:
    """A suffix that names no format is refused with those that do."""
    with pytest.raises(WriteError, match=r"names no format; it is one of .arrow, .csv"):
        rw.write(FRAME, tmp_path / name)


@pytest.mark.parametrize(
    ("column", "suffix", "sentence"),
    [
        (
            pl.Series([b"\xff"]),
            ".json",
            "is Binary, which .json cannot hold; write .parquet or .arrow, or make it text",
        ),
        (pl.Series([[b"\xff"]]), ".jsonl", r"is List\(Binary\), which .jsonl cannot hold"),
        (pl.Series([{"a": b"\xff"}]), ".csv", r"is Struct\({'a': Binary}\), which .csv cannot hold"),
        (pl.Series([timedelta(1)]), ".csv", r"is Duration\(.*\), which .csv cannot hold"),
    ],
)
def test_what_a_format_cannot_hold_is_one_sentence(
    tmp_path: Path, column: pl.Series, suffix: str, sentence: str
) -> None:
    """With the column; Polars panics at some of it."""
    with pytest.raises(
        SchemaError, match=r"^write: column odd holds Python objects; make it text or numbers, or leave"
    ):
        rw.write(pl.DataFrame({"odd": pl.Series([object()])}), tmp_path / f"t{suffix}")
    with pytest.raises(WriteError, match=rf"t{suffix}: column `odd` {sentence}"):
        rw.write(column.alias("odd").to_frame(), tmp_path / f"t{suffix}")
    assert not list(tmp_path.iterdir())
    listed = pl.DataFrame({"odd": [[timedelta(1)]]})
    assert rw.write(listed, tmp_path / "t.csv").read_text().splitlines() == ["odd", '"[""P1D""]"']  # as text


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    """An error half-way leaves neither the file nor its draft."""

    def fail() -> None:
        with whole(tmp_path / "t.txt") as draft:
            draft.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_failed_folder_leaves_nothing_behind(tmp_path: Path) -> None:
    """An error half-way leaves the folder as it was, old files and all."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old.txt").write_text("old")

    def fail() -> None:
        with whole_folder(tmp_path / "out", overwrite=True) as draft:
            (draft / "new.txt").write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "old.txt"]


def test_a_folder_replaces_its_own_files_only(tmp_path: Path) -> None:
    """With overwrite, files of the same name are replaced and others are left alone."""
    out = tmp_path / "out"
    (out / "figures").mkdir(parents=True)
    (out / "figures" / "mine.svg").write_text("mine")
    with (
        pytest.raises(WriteError, match=r"not empty; .* with out=, or allow it with overwrite=True"),
        whole_folder(out),
    ):
        pass
    with whole_folder(out, overwrite=True) as draft:
        (draft / "figures").mkdir()
        (draft / "figures" / "ours.svg").write_text("ours")
    assert sorted(path.name for path in (out / "figures").iterdir()) == ["mine.svg", "ours.svg"]


def test_a_folder_that_stands_is_filled_from_within(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The working folder itself; one on a disk of its own, or below a folder of somebody else's; what was killed is no bar."""
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    with whole_folder(".") as draft:
        (draft / "a.txt").write_text("a")
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "a.txt"]
    Path("a.txt").unlink()
    Path(".out.0a1b2c3d.part").mkdir()
    (tmp_path / "out").chmod(0o777)
    request.getfixturevalue("nobody")  # who may write to the folder, and not beside it
    with whole_folder("../out") as draft:
        (draft / "b.txt").write_text("b")
    assert [path.name for path in Path().iterdir()] == ["b.txt"]


@pytest.mark.usefixtures("nobody")
def test_a_folder_without_permission_is_one_sentence(tmp_path: Path) -> None:
    """A folder that may not be written to is named."""
    with pytest.raises(WriteError, match="choose a folder that you may write to"):
        rw.write(FRAME, tmp_path / "t.csv")


def test_a_file_in_place_of_a_folder_is_one_sentence(tmp_path: Path) -> None:
    """A path through a file cannot be written, and says so."""
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match="cannot be written"):
        rw.write(FRAME, tmp_path / "file" / "t.csv")
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(WriteError, match="is a folder; name a file in it"):
        rw.write(FRAME, tmp_path / "t.csv")


def test_a_result_says_in_its_file_what_it_estimates(tmp_path: Path) -> None:
    """The sentences of `estimand` are kept as columns and as metadata of the Parquet file; a plain frame has none."""
    rollouts = pl.DataFrame({"rollout_id": list("abcd"), "goal": list("wxyz"), "attack_success": [True, False] * 2})
    summary = rw.summarize(rollouts)
    rw.write(summary, tmp_path / "summary.parquet")
    kept = pl.read_parquet_metadata(tmp_path / "summary.parquet")
    assert json.loads(kept["rollwise.estimands"]) == summary["estimand"].unique(maintain_order=True).to_list()
    assert pl.read_parquet(tmp_path / "summary.parquet").equals(summary)
    rw.write(rollouts, tmp_path / "rollouts.parquet")
    assert "rollwise.estimands" not in pl.read_parquet_metadata(tmp_path / "rollouts.parquet")


FORMULAS = (
    "=1+1", '=HYPERLINK("http://example.invalid","x")', "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=cmd|' /C calc'!A0",
    "\uff1d1+1", "\uff0b1", "\uff0d1+1", "\uff20x", "-", "=", "+", "-1-1", "+-1", "-ae5",
)  # fmt: skip
HARMLESS = ("", " =1", "a=1", "'=1", "-1", "+1.5", "-.5", "1e-5", "-1E+5", "-7.", "[1]", "–1", "−1", None)


def test_a_csv_for_a_spreadsheet_holds_no_formula(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Text that begins like a formula gets an apostrophe, column names too; numbers and the rest are as they were; it is said."""
    frame = pl.DataFrame({
        "said": [*FORMULAS, *HARMLESS],
        "score": [-1.5] * (len(FORMULAS) + len(HARMLESS)),
        "=name": ["fine"] * (len(FORMULAS) + len(HARMLESS)),
        "pair": [{"a": "=1", "b": -1}] * (len(FORMULAS) + len(HARMLESS)),
    }).with_columns(
        kind=pl.lit("@kind", pl.Categorical), word=pl.lit("-x", pl.Enum(["-x"])), listed=pl.lit(pl.Series([["=1"]])).first()
    )  # fmt: skip
    path = rw.write(frame, tmp_path / "t.csv", spreadsheet=True)
    back = pl.read_csv(path, infer_schema=False)
    assert back.columns == ["said", "score", "'=name", "pair_a", "pair_b", "kind", "word", "listed"]
    assert back["said"].to_list() == [*(f"'{text}" for text in FORMULAS), *HARMLESS]
    assert set(back["score"]) == {"-1.5"}
    assert set(back["pair_a"]) == {"'=1"}
    assert set(back["pair_b"]) == {"-1"}
    assert (back["kind"][0], back["word"][0], back["listed"][0]) == ("'@kind", "'-x", '["=1"]')
    told = capsys.readouterr().err
    rows = frame.height
    assert told.count("\n") == 1
    assert f"{len(FORMULAS) + 3 * rows + 1} cells that begin like a formula have an apostrophe in front" in told
    assert f"said {len(FORMULAS)}, pair_a {rows}, kind {rows}, word {rows}, '=name 1" in told


def test_formulas_are_kept_unless_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the option every character is kept and nothing is said; with it and nothing to change, that is said."""
    frame = pl.DataFrame({"said": FORMULAS})
    assert pl.read_csv(rw.write(frame, tmp_path / "as_is.csv"))["said"].to_list() == list(FORMULAS)
    assert capsys.readouterr().err == ""
    rw.write(pl.DataFrame({"n": [-1]}), tmp_path / "n.csv", spreadsheet=True)
    assert "no cell begins like a formula" in capsys.readouterr().err
    with pytest.raises(WriteError, match=r"spreadsheet=True is for \.csv"):
        rw.write(frame, tmp_path / "t.parquet", spreadsheet=True)
    assert not (tmp_path / "t.parquet").exists()


# ── where a file goes ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("suffix", WRITERS)
def test_every_format_is_written_under_every_name(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that are no UTF-8 are a name too, and ~ is the home folder, which no shell puts into --out=~/a.csv."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"caf\xe9") + suffix
    assert rw.write(FRAME, Path(name)) == Path(name)
    assert rw.write(FRAME, f"~/a{suffix}") == tmp_path / "home" / f"a{suffix}"
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(["home", name])
    assert Path(name).read_bytes() == (tmp_path / "home" / f"a{suffix}").read_bytes()


@pytest.mark.parametrize(
    "name", ["漢" * 83, "é" * 125, "a" * 251, "\U0001f99c" * 62, "a\nb", os.fsdecode(b"\xe9" * 250)]
)
def test_a_name_as_long_as_the_disk_takes_is_written(tmp_path: Path, name: str) -> None:
    """Also where its letters take several bytes, and as the name of a folder; nothing else stays."""
    rw.write(FRAME, tmp_path / f"{name}.csv")
    for text in ("old", "new"):
        with whole_folder(tmp_path / name, overwrite=True) as draft:
            (draft / "a.txt").write_text(text)
    assert (tmp_path / name / "a.txt").read_text() == "new"
    assert {path.name for path in tmp_path.iterdir()} == {name, f"{name}.csv"}


def test_what_a_link_leads_to_is_written(tmp_path: Path) -> None:
    """The link stays, also where it leads to what is not there yet; without leave, nothing is replaced."""
    link = tmp_path / "latest.csv"
    link.symlink_to("monday.csv")
    rw.write(FRAME, link)
    assert (link.is_symlink(), link.read_bytes()) == (True, (tmp_path / "monday.csv").read_bytes())
    with pytest.raises(WriteError, match="exists and is not overwritten"):
        rw.write(FRAME, link)
    rw.write(FRAME.head(0), link, overwrite=True)
    assert (link.is_symlink(), pl.read_csv(tmp_path / "monday.csv").height) == (True, 0)


def test_a_pipe_is_no_file_to_replace(tmp_path: Path) -> None:
    """Whoever reads from it would wait for ever."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with pytest.raises(WriteError, match="is a pipe or a device, not a file; name a file"):
        rw.write(FRAME, pipe, overwrite=True)
    assert pipe.is_fifo()


@pytest.mark.integration
@pytest.mark.parametrize("suffix", WRITERS)
def test_a_disk_that_takes_no_more_is_one_sentence(tmp_path: Path, suffix: str) -> None:
    """In every format, and nothing half-written stays; here the limit on the size of a file stands for the disk."""
    code = (
        "import resource, signal, sys, polars as pl, rollwise as rw\n"
        "sys.dont_write_bytecode = True  # else the limit cuts it, and the module is broken ever after\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try: rw.write(pl.DataFrame({'a': [str(hash(i)) * 9 for i in range(9999)]}), sys.argv[1])\n"
        "except rw.errors.WriteError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / f"a{suffix}")], capture_output=True, text=True, check=True
    )
    assert "cannot be written (File too large" in done.stdout
    assert not any(tmp_path.iterdir())


def test_who_was_faster_is_not_overwritten(tmp_path: Path) -> None:
    """Of two that write the same new folder, the second is refused when it is done; it replaced the files of the first."""

    def both() -> None:
        with whole_folder(tmp_path / "out") as draft:
            (draft / "a.txt").write_text("second")
            with whole_folder(tmp_path / "out") as other:
                (other / "a.txt").write_text("first")

    with pytest.raises(WriteError, match="exists and is not empty"):
        both()
    assert [(path.name, path.read_text()) for path in (tmp_path / "out").iterdir()] == [("a.txt", "first")]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.integration
@pytest.mark.parametrize("suffix", sorted(WRITERS))
def test_a_disk_that_is_full_for_the_last_bytes_is_one_sentence(tmp_path: Path, suffix: str) -> None:
    """Wherever the disk ends: a JSON file without its last bytes was taken for written."""
    code = (
        "import resource, signal, sys, pathlib, polars as pl, rollwise as rw\n"
        "sys.dont_write_bytecode = True  # else the limit cuts it, and the module is broken ever after\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "frame, path = pl.DataFrame({'a': [str(i * i) * 9 for i in range(4000)]}), pathlib.Path(sys.argv[1])\n"
        "size = rw.write(frame, path).stat().st_size\n"
        "path.unlink()\n"
        "for free in [0, 1, 9, *range(size - 9000, size, 900), *range(size - 12, size)]:\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (free, resource.RLIM_INFINITY))\n"
        "    try: print('written', free, size, rw.write(frame, path, overwrite=True))\n"
        "    except rw.errors.WriteError as error: assert 'File too large' in str(error), error\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / f"a{suffix}")], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words", ["Invalid thrift: transport error", "underlying IO error: No space left (os error 28)"]
)
def test_a_disk_that_is_full_inside_a_parquet_file_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    """Polars reports it as Parquet out of specification, also where the footer is written; the cache of a reading as well."""

    def fails(*_: object, **__: object) -> None:
        raise pl.exceptions.ComputeError(f"parquet: File out of specification: {words}")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", fails)
    log = tmp_path / "a.csv"
    log.write_text("rollout_id,prompt,response\na,p,r\n")
    with pytest.raises(WriteError, match=r"cannot be written \((the disk is full or fails|No space left)"):
        rw.write(pl.DataFrame({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(WriteError, match=r"cannot be written \((the disk is full or fails|No space left)"):
        rw.read(log, cache=tmp_path / "cache")
