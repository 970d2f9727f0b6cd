"""Compare what the package computes with the stored results, and accept what changed on purpose.

    python tests/golden/record.py                       say what changed, in all cases
    python tests/golden/record.py summarize curve/tasks  in these cases, or groups of cases
    python tests/golden/record.py --accept [NAME...]    store the new results
    python tests/golden/record.py public [--accept]      only what is public: names, parameters, columns (`public.json`)

A result is accepted only where its change was wanted: run without ``--accept`` first, read what changed, run with
``--accept`` and the names of these cases, look at the diff of `results/`, and write a line into `CHANGES.md` that says
what changed and why. Both belong into the commit that changes the code. Without a purpose a changed number is a bug.

Run it with the interpreter that has the package installed; the source beside this file is the one that is used.
Real logs are looked for in ``ROLLWISE_SHARED_DATA``, or beside the repository; where they are absent their results are
neither compared nor changed.
"""

import argparse
import sys
import time
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent / "src")]

from golden import public  # type: ignore[import-not-found]  # noqa: E402
from golden.cases import CASES, computed  # type: ignore[import-not-found]  # noqa: E402  # needs the path above
from golden.stored import (  # type: ignore[import-not-found]  # noqa: E402
    REAL_LOGS,
    SHARED,
    changes,
    group_of,
    load,
    reorderings,
    save,
)


def say(line: str) -> None:
    """A line on the screen, at once."""
    print(line, flush=True)  # noqa: T201  # a script that is run by hand


def main() -> int:
    """The exit code: 1 where something changed and is not accepted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accept", action="store_true", help="store the new results")
    parser.add_argument("--slow", type=float, default=1.0, help="name cases that take more seconds than this")
    parser.add_argument("names", nargs="*", help="cases or groups of cases; all by default")
    options = parser.parse_args()
    stored = load()
    wanted = [name for name in CASES if not options.names or name in options.names or group_of(name) in options.names]
    changed = _public(accept=options.accept) if not options.names or "public" in options.names else 0
    for name in wanted:
        start = time.perf_counter()
        result = computed(name)
        taken = time.perf_counter() - start
        if taken > options.slow:
            say(f"{name}: took {taken:.1f} s")
        lines = changes(stored[name], result) if name in stored else ["is new"]
        orders = reorderings(stored[name], result) if name in stored else []
        for line in [*lines, *orders]:
            say(f"{name}: {line}")
        changed += bool(lines)
        if options.accept and (lines or orders):
            stored[name] = result
    absent = {REAL_LOGS} if not SHARED.is_dir() else set()
    gone = [name for name in stored if name not in CASES and group_of(name) not in absent] if not options.names else []
    for name in gone:
        say(f"{name}: is stored, and no case any more")
        if options.accept:
            del stored[name]
    if options.accept:
        save(stored)
    say(f"{len(wanted)} cases, {changed + len(gone)} changed{', accepted' if options.accept else ''}")
    return int(bool(changed + len(gone)) and not options.accept)


def _public(*, accept: bool) -> int:
    """Say what changed of what is public, and accept it where the changelog has changed too; return 1 if anything did."""
    lines = public.changes()
    for line in lines:
        say(f"public: {line}")
    refused = public.accept() if accept else None
    if refused:
        say(f"public: {refused}")
        sys.exit(1)
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
