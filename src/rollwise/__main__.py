"""`python -m rollwise` and the `rollwise` command."""

import os
import sys

ALLOCATOR = "dirty_decay_ms:100,muzzy_decay_ms:0"
"""How soon Polars' allocator gives memory back that is free: after 100 ms, where its own setting takes seconds."""

SPARING = "dirty_decay_ms:0,muzzy_decay_ms:0"
"""The same at once: no slower for an evaluation, whose frames are small, and which may share its machine with models."""

NOBODYS = ("", "dirty_decay_ms:500,muzzy_decay_ms:1000")
"""Settings that no user chose: an empty one, and the one that Polars leaves to processes that a notebook or a test starts."""


def main() -> None:
    """Run the command line."""
    if os.environ.get("_RJEM_MALLOC_CONF", "") in NOBODYS:  # read when Polars is loaded, which is later
        os.environ["_RJEM_MALLOC_CONF"] = SPARING if sys.argv[1:2] == ["eval"] else ALLOCATOR
    try:
        from rollwise.cli import run
    except KeyboardInterrupt:  # before there was anything to leave behind
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
