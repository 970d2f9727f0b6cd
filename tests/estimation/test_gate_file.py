"""Files of requirements: YAML, JSON and TOML with the names of gate's arguments, and sentences for what is wrong."""

from pathlib import Path

import pytest

from rollwise.errors import ReadError
from rollwise.estimation.gate_file import read_gate_file

ENTRIES = {
    "require": ["attack_success < 1%", "refused <= baseline + 2% for category=benign"],
    "by": ["target"],
    "cluster": ["goal"],
    "level": 0.9,
    "expect": ["target=base"],
    "baseline": ["runs/last"],
    "undecided": "warn",
    "against_self": 20,
}
YAML = """\
require:
  - attack_success < 1%
  - refused <= baseline + 2% for category=benign  # the negative control
by: target
cluster: goal
level: 0.9
expect: [target=base]
baseline: runs/last
undecided: warn
against_self: 20
"""
JSON = """\
{"require": ["attack_success < 1%", "refused <= baseline + 2% for category=benign"],
\t"by": "target", "cluster": "goal", "level": 0.9, "expect": "target=base", "baseline": "runs/last", "undecided": "warn",
 "against_self": 20}
"""
TOML = """\
require = ["attack_success < 1%", "refused <= baseline + 2% for category=benign"]
by = "target"
cluster = "goal"
level = 0.9
expect = ["target=base"]
baseline = "runs/last"
undecided = "warn"
against_self = 20
"""


@pytest.mark.parametrize(
    ("name", "text"), [("gate.yml", YAML), ("gate.yaml", YAML), ("gate.json", JSON), ("gate.toml", TOML)]
)
def test_the_same_entries_in_each_format(tmp_path: Path, name: str, text: str) -> None:
    """One text is a list of one; absent entries stay absent, so that the defaults of gate hold."""
    path = tmp_path / name
    path.write_text(text)
    assert read_gate_file(path) == ENTRIES


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("gate.yml", "requirements:\n  - a < 1\n", "gate.yml, line 1: `requirements` is unknown; did you mean `require`?"),
        ("gate.yml", "require: a < 1\nlevel: 0.9\nexpected: target=a\n", "line 3: `expected` is unknown; did you mean `expect`?"),
        ("gate.json", '{"require": "a < 1", "unjuged": "drop"}', "`unjuged` is unknown; did you mean `unjudged`?"),
        ("gate.toml", 'require = "a < 1"\nlevel = 95\n', "`level` is 95, but should be less than 1; correct it"),
        ("gate.yml", "require: a < 1\nundecided: pass\n", "line 2: `undecided` is 'pass', but should be 'stop' or 'warn'"),
        ("gate.yml", "require: a < 1\nby: 3\n", "line 2: `by` is 3, but should be a valid list"),
        ("gate.yml", "by: target\n", "lacks the key `require`; add it"),
        ("gate.yml", "require: []\n", "`require` holds no requirement; write one such as 'attack_success < 1%'"),
        ("gate.yml", "- a < 1\n", "holds no entries"),
        ("gate.json", "[1]", "holds no entries"),
        ("gate.json", "{require}", "is not valid JSON"),
        ("gate.toml", "require: 3", "is not valid TOML"),
        ("gate.yml", "require: [a < 1", "is not valid YAML"),
        ("gate.ini", "require = a < 1", "is not a file of requirements; name one that ends in .yml, .yaml, .json, .toml"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    """File, line and entry where the format tells them, and what was probably meant."""
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ReadError) as raised:
        read_gate_file(path)
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["no.yml", "no.json", "no.toml"])
def test_a_file_that_is_not_there(tmp_path: Path, name: str) -> None:
    """Its path, and that it should be checked."""
    with pytest.raises(ReadError, match=f"{name}: No such file or directory; check the path"):
        read_gate_file(tmp_path / name)
