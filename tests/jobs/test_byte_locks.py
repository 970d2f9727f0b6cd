"""A store where the system locks bytes of files, as Windows does: a fake of `msvcrt` in processes without `fcntl`."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOLD = """
import sys, time
from rollwise.jobs.store import Store
with Store(sys.argv[1], "answers", b'{"model":"a"}') as store:
    store.put({"0": b'"held"'})
    print("open", flush=True)
    time.sleep(600)
"""
TAKE_AWAY = "import tests.without_posix  # with a fake of `msvcrt`\n"
TRY = """
import sys
from rollwise.errors import WriteError
from rollwise.jobs.store import Store
assert "msvcrt" in sys.modules and sys.modules["fcntl"] is None
try:
    with Store(sys.argv[1], "answers", b'{"model":"a"}') as store:
        store.put({"1": b"1"})
        print(*store.read())
except WriteError as error:
    print(error)
with Store(sys.argv[1], "b", b"1", shared=True) as one, Store(sys.argv[1], "b", b"1", shared=True) as two:
    with one.claim(["x", "y"]) as first, two.claim(["y", "z"]) as second:
        print(first, second)
        one.put({"x": b"1"})
    with two.claim(["x", "y"]) as third:
        print(third, sorted(two.read()))
"""


@pytest.mark.integration
@pytest.mark.skipif(sys.platform != "linux", reason="what is taken away is put back there alone")
def test_where_windows_locks_bytes_one_process_writes_and_others_claim(tmp_path: Path) -> None:
    """With a fake `msvcrt`: who holds the lock is named, a killed process holds none, and no claim stays behind."""

    def typed(program: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", TAKE_AWAY + program, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )

    holder = typed(HOLD)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        refused, *claims = typed(TRY).communicate()[0].splitlines()
        assert f"in use by process {holder.pid} on " in refused
        assert claims == ["['x', 'y'] ['z']", "['y'] ['x']"]
    finally:
        holder.kill()
        holder.communicate()
    assert typed(TRY).communicate()[0].splitlines()[0] == "0 1"
    files = [*tmp_path.iterdir()]
    assert [path.suffix for path in files] == [".jsonl", ".jsonl"]
    assert not any(b"\r" in path.read_bytes() for path in files)
