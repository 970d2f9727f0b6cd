"""Every format from an object store, against a real S3 server: what is read there is what is read here."""

import gzip
import http.server
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, redirect_stderr
from pathlib import Path
from typing import Any

import obstore.store
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rollwise as rw
from rollwise.errors import ArgumentError, ReadError, RollwiseError
from rollwise.judges import read_verdicts
from rollwise.readers import read_rollouts

pytestmark = pytest.mark.integration  # a real server

FIXTURES = Path(__file__).parents[1] / "fixtures"
ROWS = [{"question": f"q{number}", "reply": f"a{number}", "flag": ("held", "broke")[number % 2]} for number in range(4)]
MAPPING = {
    "prompt": "question",
    "response": "reply",
    "verdicts": [{"of": "attack", "from": "flag", "true": ["broke"], "false": ["held"]}],
}


@pytest.fixture
def put(store) -> Callable[[Path | str, bytes], None]:
    """Puts bytes under a name."""
    address, options, _ = store
    config: Any = {name: value for name, value in options.items() if name != "aws_allow_http"}
    place = obstore.store.S3Store.from_url(address, config=config, client_options={"allow_http": True})

    def put(name: Path | str, data: bytes) -> None:
        place.put(str(name), data)

    return put


def said(read: Callable[[], Any]) -> tuple[Any, str]:
    """What a call returns, or the sentence of its error, and what it prints."""
    told = io.StringIO()
    with redirect_stderr(told):
        try:
            found = read()
        except RollwiseError as error:
            found = str(error)
    return found, told.getvalue()


def agree(here: Path | str, there: str, options: dict[str, str], **others: Any) -> None:
    """The same turns, problems and words, but for where the files are."""

    def moved(text: str | None) -> str | None:
        return None if text is None else text.replace(str(here), there)

    (ours, words), (theirs, other_words) = (
        said(lambda: rw.read(here, errors="collect", **others)),
        said(lambda: rw.read(there, errors="collect", storage_options=options, **others)),
    )
    assert moved(words) == other_words
    if isinstance(ours, str):
        assert moved(ours) == theirs
        return
    assert_frame_equal(ours.frame, theirs.frame)
    assert [tuple(map(moved, row)) for row in ours.problems.rows()] == theirs.problems.rows()


def test_every_format_is_read_there_as_here(store, put) -> None:
    """Logs of all tools: turns, problems and words."""
    address, options, _ = store
    tools = sorted(path.name for path in FIXTURES.iterdir())
    for path in FIXTURES.rglob("*"):
        if path.is_file():
            put(path.relative_to(FIXTURES), path.read_bytes())
    for tool in tools:
        agree(FIXTURES / tool, f"{address}/{tool}", options)


def database(path: Path) -> Path:
    """A table of SQLite whose last row is in its write-ahead log alone."""
    with closing(sqlite3.connect(path, isolation_level=None)) as memory:
        memory.execute("PRAGMA journal_mode=WAL")
        memory.execute("CREATE TABLE runs (prompt, response, jailbroken)")
        memory.execute("INSERT INTO runs VALUES ('a', 'b', 1)")
        memory.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        memory.execute("INSERT INTO runs VALUES ('c', 'd', 0)")
        for name in (path, Path(f"{path}-wal")):
            shutil.copy(name, path.with_name(f"copy-{name.name}"))
    return path.with_name(f"copy-{path.name}")


def containers(folder: Path) -> Iterator[Path]:
    """The same rows in one file of each kind."""
    lines = "".join(f"{json.dumps({'prompt': row['question'], 'response': row['reply']})}\n" for row in ROWS).encode()
    frame = pl.read_ndjson(lines)
    for name, data in (
        ("lines.jsonl", lines),
        ("without_suffix", lines),
        ("lines.jsonl.gz", gzip.compress(lines)),
        ("table.csv", frame.write_csv().encode()),
        ("utf_16.csv", frame.write_csv().encode("utf-16")),
        ("a b#1 100%25?.jsonl", lines),
        ("broken.jsonl", lines[:-5]),
        ("damaged.parquet", b"PAR1 and so on"),
    ):
        (folder / name).write_bytes(data)
        yield folder / name
    with zipfile.ZipFile(folder / "packed.zip", "w") as archive:
        archive.writestr("in/lines.jsonl", lines)
        archive.writestr("in/other.jsonl", lines.replace(b"q", b"Q"))
    yield folder / "packed.zip"
    frame.write_parquet(folder / "table.parquet")
    yield folder / "table.parquet"
    frame.write_ipc(folder / "table.arrow")
    yield folder / "table.arrow"
    yield database(folder / "memory.db")


def test_a_file_is_read_by_its_name(store, put, tmp_path: Path) -> None:
    """One object of each kind, named itself, with its journal; one whose name has signs of a pattern too."""
    address, options, _ = store
    for path in containers(tmp_path):
        put(path.name, path.read_bytes())
        if path.suffix == ".db":
            put(f"{path.name}-wal", Path(f"{path}-wal").read_bytes())
        agree(path, f"{address}/{path.name}", options)
    assert rw.read(f"{address}/copy-memory.db", storage_options=options).height == 2
    assert rw.read(f"{address}/a b#1 100%25?.jsonl", storage_options=options).height == len(ROWS)


def test_folders_and_patterns_are_those_of_a_shell(store, put, tmp_path: Path) -> None:
    """Files and folders that fit; hidden files do not; what is in two of them is read once."""
    address, options, _ = store
    for name in ("a/x.jsonl", "a/b/y.jsonl", "c/z.csv", ".hidden/h.jsonl", "spark.parquet/part-0.parquet"):
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        rows = pl.DataFrame([{"prompt": f"{row['question']} of {name}", "response": row["reply"]} for row in ROWS])
        writers: dict[str, Any] = {".csv": rows.write_csv, ".jsonl": rows.write_ndjson, ".parquet": rows.write_parquet}
        writers[target.suffix](target)
        put(name, target.read_bytes())
    for pattern in ("", "/a", "/a/", "/a/*.jsonl", "/a/**/*.jsonl", "/?", "/*.parquet", "/[ac]/*", "/none/*"):

        def prompts(place: str, **options: Any) -> tuple[Any, str]:
            return said(lambda: list(rw.read(place, **options)["prompt"]))

        here, there = prompts(f"{tmp_path}{pattern}")[0], prompts(f"{address}{pattern}", storage_options=options)
        assert there[0] == here or "nothing fits this pattern" in there[0]
    both = rw.read([f"{address}/a", f"{address}/a/x.jsonl", tmp_path / "c"], storage_options=options)
    assert both.height == 3 * len(ROWS)


def test_mappings_and_proposals(store, put, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Records of no known tool: by a mapping, with verdicts in a file beside them, and as they are proposed."""
    address, options, _ = store
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps({"cases": [{**row, "id": str(number)} for number, row in enumerate(ROWS)]}))
    put("mine.json", mine.read_bytes())
    put("report.json", b'{"broken": ["1", "3"]}')
    found = rw.read(f"{address}/mine.json", mapping={"records": "cases[*]", **MAPPING}, storage_options=options)
    assert found["outcome"].to_list() == ["failure", "success", "failure", "success"]
    by_ids: dict[str, Any] = {"records": "cases[*]", "prompt": "question", "response": "reply", "rollout": "id"}
    by_ids["verdicts"] = [{"of": "task", "ids": "report.json:broken", "by": "id"}]
    for place in (address, f"{address}/mine.json", f"{address}/*.json"):
        lazy = rw.scan(place, mapping=by_ids, storage_options=options)
        assert lazy.select("solved").collect()["solved"].to_list() == [False, True, False, True]
    proposal = rw.propose(f"{address}/mine.json", storage_options=options)
    assert proposal.rollouts == len(ROWS)
    assert f"{address}/mine.json" in proposal.text()
    assert tempfile.gettempdir() not in proposal.text()
    written = proposal.write(tmp_path / "my.yml")
    names = {"succeeded": ("flag", {"broke": True, "held": False})}
    agree(mine, f"{address}/mine.json", options, names=names)
    assert rw.read(f"{address}/mine.json", mapping=written, storage_options=options).height == len(ROWS)
    capfd.readouterr()


def test_the_command_line(store, put, tmp_path: Path) -> None:
    """With what the environment says: a mapping is made, and read with."""
    address, options, _ = store
    put("mine.jsonl", "".join(f"{json.dumps(row)}\n" for row in ROWS).encode())
    environment = os.environ | {name.upper(): value for name, value in options.items()}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "rollwise", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    mapping = tmp_path / "my.yml"
    made = run(
        "map",
        f"{address}/mine.jsonl",
        "--write",
        str(mapping),
        "--column",
        "succeeded=flag",
        "--value",
        "succeeded:broke=true",
        "--value",
        "succeeded:held=false",
    )
    assert made.returncode == 0, made.stderr
    done = run("summarize", f"{address}/mine.jsonl", "--mapping", str(mapping), "--metric", "attack_success")
    assert done.returncode == 0, done.stderr
    none = run("read", f"{address}/none.jsonl")
    assert none.stderr.strip() == (
        f"rollwise: {address}/none.jsonl: no such object or folder; "
        "check the address, and the credentials in the environment"
    )


def test_a_damaged_object_costs_itself(store, put) -> None:
    """Parquet that is cut, of other columns, or of no turns: the other files are read."""
    address, options, _ = store
    turns, _ = rw.simulate(goals=3, attempts=1, turns=2, seed=1)
    for name, frame in (("a", turns), ("b", turns.with_columns(rollout_id="other-" + pl.col("rollout_id")))):
        file = io.BytesIO()
        frame.write_parquet(file)
        put(f"{name}.parquet", file.getvalue())
    put("cut.parquet", file.getvalue()[:200] + file.getvalue()[-300:])
    found, problems = rw.read(address, errors="collect", storage_options=options)
    assert found["rollout_id"].n_unique() == 2 * turns["rollout_id"].n_unique()
    assert problems["file"].to_list() == [f"{address}/cut.parquet"]
    with pytest.raises(ReadError, match=rf"^{address}/cut\.parquet: .*; fix it, or leave it out: errors="):
        rw.read(address, storage_options=options)


def test_a_cache_knows_it_by_its_address(store, put, tmp_path: Path) -> None:
    """Read again from the cache, as long as the object is the same."""
    address, options, _ = store
    data = "".join(f"{json.dumps({'prompt': row['question'], 'response': row['reply']})}\n" for row in ROWS).encode()
    for number, content in enumerate((data, data, data.replace(b"q0", b"Q0"))):
        put("lines.jsonl", content)
        found = rw.read(f"{address}/lines.jsonl", cache=tmp_path, storage_options=options)
        assert found["prompt"][0] == ("Q0" if number == 2 else "q0")
        assert len([*tmp_path.glob("*.parquet")]) == 1 + (number == 2)


def test_other_verbs_read_it_too(store, put, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outcomes, verdicts and labels, with what the environment says."""
    address, options, _ = store
    for name, value in options.items():
        monkeypatch.setenv(name.upper(), value)
    put("rows.csv", b"rollout_id,solved,response\na,true,Hello\nb,false,Yes\n")
    assert read_rollouts(f"{address}/rows.csv")["solved"].to_list() == [True, False]
    with pytest.raises(ReadError, match=rf"^{address}/rows\.csv: holds no verdicts"):
        read_verdicts(f"{address}/rows.csv")
    turns = rw.read(f"{address}/rows.csv")
    put("labels.csv", b"rollout_id,turn,human\na,1,true\nb,1,false\n")
    labeled, _ = rw.judges.join_labels(turns, f"{address}/labels.csv")
    assert labeled["human"].to_list() == [True, False]


def test_what_is_typed_holds_no_secret(store, put, capfd: pytest.CaptureFixture[str]) -> None:
    """A question ends with the call that answers it, without the options of the store."""
    address, options, _ = store
    rows = [{"prompt": f"p{number}", "response": "r", "verdict": ("ja", "nein")[number % 2]} for number in range(4)]
    put("mine.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows).encode())
    rw.read(f"{address}/mine.jsonl", storage_options=options)
    told = capfd.readouterr().err
    assert "storage_options=storage_options" in told
    assert "testing" not in told


@pytest.fixture
def refusing() -> Iterator[dict[str, str]]:
    """Options of a server that refuses everything."""

    class Refusing(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
            self.send_response(403)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"aws_region": "us-east-1", "aws_endpoint_url": f"http://127.0.0.1:{server.server_port}"}
        server.shutdown()


def test_a_refusal_is_a_sentence(refusing: dict[str, str]) -> None:
    """No permission, no credentials, an option that there is not, no bucket."""
    options = {**refusing, "aws_allow_http": "true", "aws_access_key_id": "x", "aws_secret_access_key": "y"}
    remedy = "check the address, and the credentials in the environment or `storage_options`"
    for place in ("s3://bucket/a.csv", "s3://bucket/runs/", "s3://bucket/a.parquet"):
        for verb in (rw.read, rw.scan, rw.propose):
            with pytest.raises(ReadError) as refused:
                verb(place, storage_options=options)
            assert str(refused.value) == f"{place.rstrip('/')} cannot be read (permission denied); {remedy}"
    with pytest.raises(ReadError, match=r"^s3://\*/a: the bucket is a pattern, which no store has; name one bucket$"):
        rw.read("s3://*/a", storage_options=options)
    with pytest.raises(ArgumentError, match=r"^s3://bucket cannot be reached \(Configuration key: 'foo' is not valid"):
        rw.read("s3://bucket/a.csv", storage_options={"foo": "bar"})


def test_nothing_is_left_behind(store, put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copies are gone when a reading ends, well or not."""
    address, options, _ = store
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    put("a.csv", b"prompt,response\nHi,Hello\n")
    put("b.csv", b"\x00\x01\x02")
    assert rw.read(f"{address}/a.csv", storage_options=options).height == 1
    with pytest.raises(ReadError, match=rf"^{address}/b\.csv: is not recognized"):
        rw.read(f"{address}/b.csv", storage_options=options)
    assert [*tmp_path.iterdir()] == []
