"""Nothing public changes unnoticed: names, parameters, defaults, and columns of frames are those in `public.json`."""

import json
import re
from pathlib import Path

import pytest
from golden import public  # type: ignore[import-not-found]

import rollwise as rw

ACCEPT = (
    "If this was wanted: write into CHANGELOG.md what changed and what to write instead, then run\n"
    "    python tests/golden/record.py public --accept"
)


@pytest.mark.integration
def test_what_is_public_is_what_was_accepted() -> None:
    """A name, a parameter or a column that comes, goes or changes is accepted by hand, with a line in the changelog."""
    if lines := public.changes():
        pytest.fail("\n".join(["What is public changed:", *lines, ACCEPT]), pytrace=False)


@pytest.mark.integration
def test_a_change_is_accepted_with_a_line_in_the_changelog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one it is refused; with one it is stored, and there is nothing left to accept."""
    changelog, stored = tmp_path / "CHANGELOG.md", tmp_path / "public.json"
    changelog.write_text("# Changelog\n")
    monkeypatch.setattr(public, "CHANGELOG", changelog)
    monkeypatch.setattr(public, "STORED", stored)
    before = {public.CHANGELOG_KEY: public.checksum(), **public.public(), "rollwise.gone": "()"}
    before["rollwise.summarize"] = "(rollouts)"
    stored.write_text(json.dumps(before))
    gone, changed = public.changes()
    assert gone == "rollwise.gone is gone: ()"
    assert changed.startswith("rollwise.summarize was (rollouts) and is (rollouts, *, metrics=None, ")
    assert public.accept().startswith("not accepted: say in CHANGELOG.md")
    assert len(public.changes()) == 2
    changelog.write_text("# Changelog\n\n- `summarize` takes metrics.\n")
    assert public.accept() is None
    assert public.changes() == []


@pytest.mark.integration
def test_every_kind_of_public_thing_is_looked_at() -> None:
    """Verbs, functions of namespaces, classes with methods, columns, and names that are imported by themselves."""
    names = public.public()
    assert set(rw.__all__) <= {name.removeprefix("rollwise.") for name in names}
    for name in (
        "rollwise.plots.marks.curve",
        "rollwise.rollout.Evaluator.evaluate",
        "rollwise.schema.SUMMARY: estimate",
        "rollwise.compat.nat.EvalInput",
        "rollwise.errors.ArgumentError",
        "rollwise.testing.assert_rate",
    ):
        assert name in names
    assert not re.search(r"0x[0-9a-f]{6}|(?<![\w.>*])/\w+/", json.dumps(names)), (
        "an address in memory, or a path of this machine"
    )
