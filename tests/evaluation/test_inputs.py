"""What goes into an evaluation: entries without a question, and the id of all that the results depend on."""

import json

import pytest

from rollwise.errors import ReadError, WriteError

BLANK = [None, "", "  ", "\n\t", "\u00a0"]


def asked(questions: list) -> list[dict]:
    return [{"id": i, "question": each, "answer": "a", "generated_answer": "a"} for i, each in enumerate(questions)]


@pytest.mark.integration
def test_blank_questions_are_told_and_left_out_in_parity(bench, capsys) -> None:
    """As NeMo Agent Toolkit does, which takes numbers and objects for questions; `num_samples` counts what is left."""
    bench.data(asked([*BLANK, "q", 0, {"a": 1}, " q "]))
    bench.config({"same": {"_type": "exact_match"}})
    assert bench.run(skip_workflow=True).items.height == 9
    assert (
        "5 entries without a `question`: evaluated all the same; `parity: nat` leaves them out"
        in capsys.readouterr().err
    )
    nat = {"parity": "nat", "output_dir": str(bench.folder / "nat")}
    bench.config({"same": {"_type": "exact_match"}}, general=nat)
    assert bench.run(skip_workflow=True).items["task"].to_list() == ["5", "6", "7", "8"]
    assert "5 entries without a `question`: left out, as `parity: nat` asks" in capsys.readouterr().err
    bench.config(
        {"same": {"_type": "exact_match"}},
        general={"parity": "nat", "output_dir": str(bench.folder / "two")},
        dataset={"num_samples": 2},
    )
    assert bench.run(skip_workflow=True).items["task"].to_list() == ["5", "6"]


def test_without_any_question_there_is_nothing_to_evaluate_in_parity(bench, capsys) -> None:
    """A data set without the column is an error of its own, and one whose items are whole entries has no blank ones."""
    bench.data(asked([None, " "]))
    bench.config({"same": {"_type": "exact_match"}}, general={"parity": "nat"})
    with pytest.raises(ReadError, match=r"no entry has a `question`, and `parity: nat` leaves out those without"):
        bench.run(skip_workflow=True)
    bench.data([{"id": 1, "generated_answer": "a"}])
    with pytest.raises(ReadError, match="names the column 'question'"):
        bench.run(skip_workflow=True)
    bench.data(asked([None]))
    bench.config(
        {"same": {"_type": "exact_match"}}, general={"parity": "nat"}, dataset={"structure": {"disable": True}}
    )
    assert bench.run(skip_workflow=True).items.height == 1
    assert "without a `question`" not in capsys.readouterr().err


@pytest.mark.integration
def test_the_id_of_a_configuration_depends_on_data_options_and_code(bench) -> None:
    """Not on where files are nor on how fast the run is."""
    plugin = bench.folder / "mine.py"
    code = (
        "from rollwise.compat.nat import EvalOutput, EvalOutputItem, EvaluatorBaseConfig, EvaluatorInfo, register_evaluator\n"
        "class Mine(EvaluatorBaseConfig, name='mine_of_this_test'):\n"
        "    'One score.'\n"
        "    score: float = 1.0\n"
        "@register_evaluator(config_type=Mine)\n"
        "async def mine(config, builder):\n"
        "    async def score(given):\n"
        "        items = [EvalOutputItem(id=item.id, score=config.score) for item in given.eval_input_items]\n"
        "        return EvalOutput(eval_output_items=items)\n"
        "    yield EvaluatorInfo(config=config, evaluate_fn=score)\n"
    )
    number = 0

    def identified(*, data: str = "a", source: str = code, name: str = "data.json", **more) -> str:
        nonlocal number
        number += 1
        plugin.write_text(source)
        bench.data(asked([data]), name)
        dataset = {"file_path": str(bench.folder / name)}
        general = {"output_dir": str(bench.folder / f"out{number}"), **more.pop("general", {})}
        bench.config(
            {"mine": {"_type": "mine_of_this_test", **more}}, plugins=[str(plugin)], general=general, dataset=dataset
        )
        made = bench.run(skip_workflow=True)
        facts = json.loads((made.folder / "config_metadata.json").read_text())
        assert facts["configuration_id"] == made.configuration_id
        return made.configuration_id

    first = identified()
    assert identified() == identified(general={"max_concurrency": 1}) == identified(name="moved.json") == first
    others = [identified(data="b"), identified(score=0.5), identified(source=code + "# changed\n")]
    assert len({first, *others, identified(general={"level": 0.9})}) == 5


def test_an_entry_that_cannot_be_written_is_refused_before_anything_is_paid_for(bench, monkeypatch) -> None:
    """An object of a class of its own, from a function; in one sentence."""
    (bench.folder / "odd_rows.py").write_text(
        "def rows():\n    return [{'id': 1, 'question': 'q', 'generated_answer': 'a', 'odd': object()}]\n"
    )
    monkeypatch.syspath_prepend(bench.folder)
    dataset = {"_type": "custom", "function": "odd_rows:rows", "file_path": None}
    bench.config({"same": {"_type": "exact_match"}}, dataset=dataset)
    with pytest.raises(WriteError, match=r"an entry of the data set cannot be written .* a builtins.object cannot"):
        bench.run(skip_workflow=True)
    assert not bench.out.exists()
