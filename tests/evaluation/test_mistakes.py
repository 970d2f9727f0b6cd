"""Every mistake is one sentence with file, line and key, and a suggestion; nothing in a file runs code but what it names."""

# ruff: noqa: E501, ISC004  # long sentences in a long table

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

import rollwise as rw
from rollwise.errors import ArgumentError, ReadError, RollwiseError
from rollwise.evaluation import Options
from rollwise.evaluation.config import load
from rollwise.evaluation.llms import Models
from rollwise.files.configuration import ConfigFile

GOOD = """eval:
  general:
    output_dir: {out}
    max_concurrency: 8
    dataset:
      _type: json
      file_path: {data}
  evaluators:
    match:
      _type: exact_match
"""
ROWS = [{"id": 1, "question": "q", "answer": "a", "generated_answer": "a"}]


@pytest.fixture
def file(tmp_path: Path):
    """Write a file in which something is replaced, and evaluate it."""

    def evaluated(before: str, after: str, rows: object = ROWS, **options):
        data = tmp_path / "data.json"
        data.write_text(rows if isinstance(rows, str) else json.dumps(rows))
        path = tmp_path / "eval.yml"
        good = GOOD.format(out=tmp_path / "out", data=data)
        assert before in good
        path.write_text(good.replace(before, after, 1))
        return rw.evaluate(path, skip_workflow=True, progress=False, **options)

    return evaluated


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("exact_match", "exact_mach", r"eval.yml, line 10: `eval.evaluators.match._type` is 'exact_mach', which is not an evaluator; "
         r"did you mean `exact_match`\?"),
        ("_type: exact_match", "_type: similarity\n      similarity_typ: cosine", r"eval.yml, line 11: `eval.evaluators.match."
         r"similarity_typ` is unknown; did you mean `similarity_type`\?"),
        ("_type: exact_match", "_type: similarity\n      similarity_type: cosin", r"line 11: `eval.evaluators.match.similarity_type` "
         r"is 'cosin', but should be 'cosine', 'jaccard' or 'levenshtein'; correct it"),
        ("max_concurrency: 8", "max_concurency: 8", r"line 4: `eval.general.max_concurency` is unknown; did you mean "
         r"`max_concurrency`\?"),
        ("max_concurrency: 8", "max_concurrency: many", r"line 4: `eval.general.max_concurrency` is 'many', but should be a valid "
         r"integer"),
        ("max_concurrency: 8", "max_concurrency: 0", r"line 4: `eval.general.max_concurrency` is 0, but should be greater than"),
        ("_type: json", "_type: jason", r"line 6: `eval.general.dataset._type` is 'jason', but should be 'json'"),
        ("eval:", "evals: 1\neval:", r"line 1: `evals` is unknown; did you mean `eval`\?"),
        ("match:", "../x:", r"line 9: `eval.evaluators.../x` cannot be a file name"),
        ("match:", "a/b:", r"line 9: `eval.evaluators.a/b` cannot be a file name"),
        ("match:", ".hidden:", r"cannot be a file name"),
        ("match:", "workflow:", r"line 9: `eval.evaluators.workflow` would be written where the workflow"),
        ("match:", "response:", r"line 9: `eval.evaluators.response` is the name of a column of the items; choose another keyword"),
        ("_type: exact_match", "type: exact_match", r"line 9: `eval.evaluators.match` lacks the key `_type`"),
        ("_type: exact_match", "_type: cost\n      prices: {m: [1]}", r"line 11: `eval.evaluators.match.prices.m` is \[1\], and lacks a "
         r"value; add it"),
        ("_type: exact_match", "_type: factuality", r"line 9: `eval.evaluators.match` lacks the key `llm_name`; add it"),
        ("_type: exact_match", "_type: factuality\n      llm_name: judge", r"line 11: `eval.evaluators.match.llm_name` is 'judge', "
         r"which is not a language model; the file has no `llms:`"),
        ("eval:", "llms: {j: {_type: opanai, model_name: m}}\neval:", r"line 1: `llms.j._type` is 'opanai', which is unknown; did "
         r"you mean `openai`\?"),
        ("eval:", "llms: {j: {_type: openai}}\neval:", r"line 1: `llms.j` lacks the key `model_name`"),
        ("eval:", "eval: {}\neval:", r"eval.yml, line 2: is not valid YAML \(found duplicate key"),
        ("eval:", "eval: [", r"is not valid YAML"),
        ("eval:", "plugins: [no_such_module_anywhere]\neval:", r"the plug-in 'no_such_module_anywhere' cannot be imported "
         r"\(ModuleNotFoundError"),
        ("eval:", "plugins: &p [*p]\neval:", r"contains itself"),
        ("max_concurrency: 8", "max_concurrency: ${NO_SUCH_VARIABLE_HERE}", r"line 4: `eval.general.max_concurrency` asks for "
         r"\$\{NO_SUCH_VARIABLE_HERE\}, which is not set in the environment"),
        ("_type: json", "_type: json\n      id_key: nr", r"line 7: `eval.general.dataset.id_key` names the column 'nr', which "
         r".*data.json lacks; available: answer, generated_answer, id, question"),
        ("_type: json", "_type: json\n      structure: {question_key: qestion}", r"line 7: `eval.general.dataset.structure."
         r"question_key` names the column 'qestion', .*did you mean `question`\?"),
        ("_type: json", "_type: json\n      filter: {allowlist: {field: {topik: [x]}}}", r"line 7: `eval.general.dataset.filter."
         r"allowlist.field.topik` is not a column of the data set"),
        ("_type: json", "_type: json\n      filter: {denylist: {field: {id: ['*']}}}", r"matches none of the 1 entry; relax the filter"),
        ("data.json", "nothing.json", r"line 7: `eval.general.dataset.file_path` is .*nothing.json', but there is no such file"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_file_is_one_sentence(file, before, after, said) -> None:
    """File, line and key, and what was probably meant."""
    with pytest.raises(RollwiseError, match=said) as raised:
        file(before, after)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("max_concurrency: 8", "profiler: {base_metrics: true}", r"line 4: `eval.general.profiler` is not run here, .*`rw.readers.steps`.*; remove it"),
        ("max_concurrency: 8", "output: {cleanup: true}", r"`eval.general.output.cleanup` is not done here, .* never emptied; remove it"),
        ("max_concurrency: 8", "output:\n      job_management: {max_jobs: 2}", r"line 5: `eval.general.output.job_management` .* never emptied"),
        ("max_concurrency: 8", "output: {s3: {bucket: b}}", r"output.s3` is not done here, as the results are files"),
        ("max_concurrency: 8", "output: {custom_scripts: {}}", r"output.custom_scripts` is not done here, as the results are files"),
        ("max_concurrency: 8", "per_input_user_id: true", r"per_input_user_id` has no meaning here"),
        ("max_concurrency: 8", "profilers: {}", r"`eval.general.profilers` is unknown; available"),
        ("eval:", "profiler: {}\neval:", r"line 1: `profiler` is unknown; available"),
    ],
)  # fmt: skip
def test_a_key_of_another_tool_is_refused_with_the_reason(file, before, after, said) -> None:
    """Where NeMo Agent Toolkit has it; elsewhere it is unknown like any other."""
    with pytest.raises(RollwiseError, match=said) as raised:
        file(before, after)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([*ROWS, *ROWS], "entry 2: the id 1 occurs twice; give every entry its own id"),
        ([*ROWS, {**ROWS[0], "id": "1"}], "entry 2: the id '1' occurs twice"),
        ([{**ROWS[0], "id": None}], "entry 1: its `id` is None; give every entry a text or a number"),
        ([{**ROWS[0], "id": [1]}], r"entry 1: its `id` is \[1\]"),
        ([{"question": "q"}], "names the column 'id', which .* lacks; available: question"),
        ([{"id": 1}], "names the column 'question', which .* lacks"),
        ([], "holds no entries"),
        ({"id": 1}, "is not a list of entries"),
        ([1], "entry 1: is 1, not an object with fields"),
        ("[{", "cannot be read as json"),
        ("", "cannot be read as json"),
        ([{**ROWS[0], "intermediate_steps": "[{"}], "`intermediate_steps` is not JSON"),
        ([{**ROWS[0], "intermediate_steps": [1]}], "`intermediate_steps` is not a list of steps"),
    ],
)
def test_a_mistake_in_the_data_set_is_one_sentence(file, rows, said) -> None:
    """Which entry, what is wrong, what to do."""
    with pytest.raises(ReadError, match=said):
        file("eval:", "eval:", rows)


@pytest.mark.parametrize(
    ("body", "kwargs", "said"),
    [
        (
            "return []",
            "{z: 3}",
            r"failed \(TypeError: made\(\) got an unexpected keyword argument 'z'\); fix it, or its `kwargs`",
        ),
        ("return 1 / 0", "{}", r"failed \(ZeroDivisionError: division by zero\); fix it"),
        ("raise SystemExit(3)", "{}", r"failed \(SystemExit: 3\); fix it"),
        ("return 7", "{}", "gave an int; return a list of entries, or a table"),
    ],
)
def test_a_mistake_in_a_function_that_makes_a_data_set_is_one_sentence(file, tmp_path, body, kwargs, said) -> None:
    """With the place of the function in the file."""
    name = f"making_{abs(hash(body))}"
    (tmp_path / f"{name}.py").write_text(f"def made():\n    {body}\n")
    custom = f"_type: custom\n      function: {name}:made\n      kwargs: {kwargs}"
    with pytest.raises(ReadError, match=rf"line 7: `eval.general.dataset.function` {said}"):
        file("_type: json", custom)


STEP = {"event_type": "LLM_END", "event_timestamp": 1.0, "UUID": "u", "name": "m"}
TRAJECTORY = {"schema_version": "ATIF-v1.4", "steps": [{"source": "agent", "timestamp": "nope"}]}


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([{"role": "tool"}], r"`intermediate_steps\[0\].payload`: has no event_type"),
        ([{"payload": None}], r"`intermediate_steps\[0\].payload`: has no event_type"),
        ([{"payload": "x"}], r"`intermediate_steps\[0\].payload`: expected `object \| null`, got `str`"),
        ([{"payload": STEP}, {"payload": {**STEP, "event_timestamp": "1.5"}}],
         r"`intermediate_steps\[1\].payload.event_timestamp`: is '1.5', not a time in ISO 8601"),
        ([{"payload": {**STEP, "data": "text"}}], r"`intermediate_steps\[0\].payload.data`: expected `object \| null`, got `str`"),
        ([{"payload": {**STEP, "UUID": 5}}], r"`intermediate_steps\[0\].payload.UUID`: expected `str \| null`, got `int`"),
        ([{"payload": {**STEP, "name": 5}}], r"`intermediate_steps\[0\].payload.name`: expected `str \| null`, got `int`"),
        ([{"payload": {**STEP, "tags": 5}}], r"`intermediate_steps\[0\].payload.tags`: is 5, but input should be a valid list"),
        ([{"payload": {**STEP, "usage_info": {"token_usage": {"total_tokens": 10**30}}}}],
         r"`intermediate_steps\[0\].payload.usage_info.token_usage.total_tokens`: expected `int` <= 9223372036854775807"),
        (TRAJECTORY, r"`steps\[0\].timestamp`: is 'nope', not a time in ISO 8601"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("key", ["intermediate_steps", "expected_intermediate_steps"])
def test_a_mistake_in_steps_is_one_sentence(file, steps, said, key) -> None:
    """Which entry, which field, before anything is scored."""
    with pytest.raises(
        ReadError, match=rf"data.json, entry 2: {said.replace('`inter', f'`{key[:-18]}inter')}; fix it$"
    ):
        file("eval:", "eval:", [*ROWS, {**ROWS[0], "id": 2, key: steps}])


def test_an_override_is_checked_like_the_file(file) -> None:
    """Its mistakes name the override."""
    with pytest.raises(ReadError, match=r"--override: `eval.general.max_concurrency` is 'x'"):
        file("eval:", "eval:", override=[("eval.general.max_concurrency", "x")])
    with pytest.raises(ReadError, match=r"--override eval.general.max_concurrency.x: `max_concurrency` is not a block"):
        file("eval:", "eval:", override=[("eval.general.max_concurrency.x", "1")])
    with pytest.raises(ReadError, match=r"--override: `eval.generl` is unknown; did you mean `general`\?"):
        file("eval:", "eval:", override=[("eval.generl.level", "0.9")])
    with pytest.raises(ReadError, match=r"--override: `llms.judge` lacks the key `_type`"):
        file("eval:", "eval:", override=[("llms.judge.temperature", "0.9")])
    made = file("eval:", "eval:", override=[("eval.general.level", "0.9")])
    assert made.summary["level"].unique().to_list() == [0.9]


@pytest.mark.integration
def test_an_override_is_a_dict_or_pairs_of_any_value(file, tmp_path) -> None:
    """A number, a path, a block, as well as the texts of the command line; each is written as it was given."""
    general = "eval.general"
    for asked in (
        {f"{general}.max_concurrency": 3},
        [(f"{general}.max_concurrency", 3)],
        {f"{general}.max_concurrency": "3"},
    ):
        made = file("eval:", "eval:", override=asked, overwrite=True)
        assert made.config.eval.general.max_concurrency == 3
    block = {"_type": "json", "file_path": tmp_path / "data.json"}
    made = file("eval:", "eval:", override={f"{general}.dataset": block, f"{general}.output_dir": tmp_path / "other"})
    told = json.loads((tmp_path / "other" / "config_metadata.json").read_text())["overrides"]
    assert told[1] == {"path": f"{general}.output_dir", "value": str(tmp_path / "other")}
    secret = {"_type": "openai", "model_name": "m", "api_key": "sk-1"}
    file("eval:", "eval:", override={"llms": {"judge": secret}}, overwrite=True)
    assert not [path for path in (tmp_path / "out").glob("config_*") if "sk-1" in path.read_text()]


@pytest.mark.parametrize(
    "text",
    [
        "Two lines,\nof which none is joined.\n",
        "Use # as a mark.",
        "# Rules\n\n- Be: brief.",
        "  x  ",
        "a\n\n\nb",
        "{x} y: z",
    ],
)
def test_an_override_that_is_text_stays_as_it_is(tmp_path, text) -> None:
    """YAML would join lines and drop what it takes for a comment; quoted, which is how JSON has it, anything is text."""
    (tmp_path / "eval.yml").write_text("workflow: {prompt: x}\n")
    document = ConfigFile.read(tmp_path / "eval.yml")
    document.override("workflow.prompt", text if text[0] != "{" else json.dumps(text))
    assert document.data["workflow"]["prompt"] == text
    document.override("workflow.prompt", json.dumps(text))
    assert document.data["workflow"]["prompt"] == text


def test_an_override_is_of_one_entry_where_others_repeat_it(tmp_path) -> None:
    """What an alias repeats is written down once: the others keep what the file says."""
    (tmp_path / "eval.yml").write_text("a: &x {k: 1, d: {z: 1}}\nb: *x\nc: {<<: *x, w: 1}\n")
    document = ConfigFile.read(tmp_path / "eval.yml")
    document.override("a.k", "2")
    document.override("a.d.z", "9")
    assert document.data == {
        "a": {"k": 2, "d": {"z": 9}},
        "b": {"k": 1, "d": {"z": 1}},
        "c": {"k": 1, "d": {"z": 1}, "w": 1},
    }


@pytest.mark.parametrize("given", [3, [("a", 1, 2)], "ab", ["eval.general.level=0.9"], {"eval": object()}])
def test_an_override_of_another_shape_is_a_sentence(file, given) -> None:
    """With what to write."""
    with pytest.raises(ArgumentError, match=r'override is .*; write {"eval.general.max_concurrency": 4}'):
        file("eval:", "eval:", override=given)


def test_keywords_outrank_options(file) -> None:
    """None of both is lost."""
    with pytest.raises(ArgumentError, match="--reps is 0"):
        file("eval:", "eval:", options=Options(progress=False), reps=0)
    with pytest.raises(ArgumentError, match="--reps is 0"):
        file("eval:", "eval:", options=Options(reps=0))


@pytest.mark.parametrize(
    "hostile",
    [
        "!!python/object/apply:os.system ['touch {there}']",
        "!!python/name:os.system",
        "!!python/object/new:subprocess.Popen [['touch', '{there}']]",
    ],
)
def test_yaml_runs_no_code(file, tmp_path, hostile) -> None:
    """Tags that would make Python objects are refused."""
    there = tmp_path / "there"
    with pytest.raises(ReadError, match="is not valid YAML"):
        file("max_concurrency: 8", "max_concurrency: " + hostile.format(there=there))
    assert not there.exists()


def test_aliases_of_aliases_are_no_bomb(tmp_path) -> None:
    """A small file that would be huge when written out is refused at once."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    path = tmp_path / "bomb.yml"
    path.write_text("\n".join(lines))
    with pytest.raises(ReadError, match="nested too deeply"):
        ConfigFile.read(path)


def test_a_plug_in_that_fails_on_import_is_a_sentence(file, tmp_path) -> None:
    """Whatever it raises."""
    (tmp_path / "bad_plugin.py").write_text("1 / 0")
    with pytest.raises(ArgumentError, match=r"'bad_plugin.py' cannot be imported \(ZeroDivisionError"):
        file("eval:", "plugins: [bad_plugin.py]\neval:")


TO_YIELD = "it must yield one EvaluatorInfo, once"


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("nothing", "evaluate_fn returned None; it must return an EvalOutput"),
        ("half made", "evaluate_fn returned a dict (`eval_output_items.0.id`: field required); it must return an EvalOutput"),
        ("no yield", f"workflows.broken yields nothing; {TO_YIELD}"),
        ("twice", f"workflows.broken yields more than once; {TO_YIELD}"),
        ("function", "workflows.broken yields a function; it must yield an EvaluatorInfo, whose `evaluate_fn` is a function of "
                     "the items"),
        ("not one", "workflows.broken yields evaluate_fn=None; it must yield an EvaluatorInfo, whose `evaluate_fn` or "
                    "`evaluate_atif_fn` is a function of the items"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_plug_in_is_one_sentence(bench, items, how, why) -> None:
    """Of that evaluator; the others go on."""
    bench.data(items)
    bench.config({"bad": {"_type": "broken", "how": how}, "good": {"_type": "exact_match"}})
    made = bench.run(skip_workflow=True)
    assert made.failures["bad"].endswith(why)
    assert made.items["good"].null_count() == 0


def test_an_evaluate_item_that_cannot_be_awaited_is_a_sentence(bench, items) -> None:
    """Which word is missing."""
    bench.data(items)
    bench.config({"bad": {"_type": "broken", "how": "sync"}})
    made = bench.run(skip_workflow=True)
    assert set(made.scores["error"]) == {
        "TypeError: evaluate_item is not a coroutine function; write `async def evaluate_item`"
    }
    assert made.failed == ["bad"]


@pytest.mark.thinned(40)
@pytest.mark.parametrize("kind", ["json", "jsonl", "csv"])
def test_a_byte_order_mark_and_nan_are_taken(bench, items, kind, capsys) -> None:
    """As `rw.read` takes them: what Excel and Python write."""
    entries = [json.dumps({**item, "weight": float("nan")}) for item in items]
    text = {"json": f"[{','.join(entries)}]", "jsonl": "\n".join(entries), "csv": "id,question,answer,generated_answer\n"
            + "\n".join(",".join(str(value) for value in item.values()) for item in items)}[kind]  # fmt: skip
    path = bench.folder / f"data.{kind}"
    path.write_text(text, encoding="utf-8-sig")
    bench.config({"match": {"_type": "exact_match"}}, dataset={"_type": kind, "file_path": str(path)})
    made = bench.run(skip_workflow=True)
    assert made.items["match"].sum() == 3
    assert made.items["task"].to_list() == list("123456")
    said = capsys.readouterr().err
    if kind != "csv":
        assert made.items["weight"].null_count() == 6
        assert f"data.{kind}: 6 NaN or infinite numbers became null: an unknown number is null" in said


@pytest.mark.integration
def test_the_command_line_gives_the_sentence(bench, items) -> None:
    """Exit code 2, one line on stderr, nothing written."""
    bench.data(items)
    bench.config({"a": {"_type": "similarty"}})
    done = bench.command("--skip_workflow")
    assert done.returncode == 2
    assert "did you mean `similarity`?" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not bench.out.exists()


@pytest.mark.integration
def test_override_on_the_command_line_takes_two_words(bench, items) -> None:
    """`--override key value`, as the seed has it, more than once."""
    bench.data(items)
    bench.config({"match": {"_type": "exact_match"}})
    more = ("--override", "eval.general.max_concurrency", "2", "--override", "eval.general.level", "0.5")
    done = bench.command("--skip_workflow", *more)
    assert done.returncode == 0, done.stderr
    assert [each["value"] for each in bench.read("config_metadata.json")["overrides"]] == ["2", "0.5"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-100, 100) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.integration
@given(content=JSON, at=st.sampled_from(["eval", "llms", "plugins", "workflow", "general", "dataset", "evaluators"]))
def test_any_content_is_read_or_refused_in_a_sentence(tmp_path_factory, content, at) -> None:
    """Whatever stands in a file: a configuration or a `ReadError`, never another exception."""
    from rollwise.evaluation.config import load

    general = {"general": content} if at == "general" else {"general": {"dataset": content}} if at == "dataset" else {}
    whole = (
        {at: content} if at in {"eval", "llms", "plugins", "workflow"} else {"eval": general or {"evaluators": content}}
    )
    path = tmp_path_factory.mktemp("any") / "eval.yml"
    with path.open("w", encoding="utf-8") as file:
        YAML(typ="safe", pure=True).dump(whole, file)
    try:
        load(ConfigFile.read(path))
    except ReadError as error:
        assert "eval.yml" in str(error)  # noqa: PT017


def test_a_file_of_json_may_spell_characters_by_halves(tmp_path) -> None:
    """As Python's own writer does with all beyond the basic plane; half of one is a mistake."""
    path = tmp_path / "eval.yml"
    path.write_text(json.dumps({"llms": {"😀": {"system": ["😀", "\\ud83d"]}}}))
    document = ConfigFile.read(path)
    assert document.data == {"llms": {"😀": {"system": ["😀", "\\ud83d"]}}}
    document.override("llms.more", '"\\ud83d\\ude00"')
    assert document.data["llms"]["more"] == "😀"
    path.write_text('{"a": "\\ud83d"}')
    with pytest.raises(ReadError, match=r"eval\.yml: is not valid YAML"):
        ConfigFile.read(path)
    with pytest.raises(ReadError, match=r"--override a: .* is not valid YAML"):
        document.override("a", '"\\ud83d"')


def test_the_line_that_adds_a_model_is_one(file, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the sentence says to write at the top makes the file one that names its judge."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with pytest.raises(RollwiseError, match="the file has no `llms:`; add it at the top, as in `llms: ") as raised:
        file("_type: exact_match", "_type: factuality\n      llm_name: judge")
    line = str(raised.value).rpartition("as in `")[2].removesuffix("`")
    path = tmp_path / "eval.yml"
    path.write_text(f"{line}\n{path.read_text()}")
    document = ConfigFile.read(path)
    assert repr(Models(document, load(document))("judge")).startswith("Endpoint('gpt-4o'")
