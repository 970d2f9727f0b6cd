"""The configuration file of an evaluation: data set, workflow, evaluators and output folder.

```yaml
plugins: [my_package.register]        # modules, or files in the folder of this one
llms:
  judge: {_type: openai, model_name: gpt-4o, base_url: ..., api_key: "${OPENAI_API_KEY}"}
workflow: my_package.answer:respond   # or {_type: sampler | chat | endpoint, ...}; none to score existing answers
eval:
  general:
    output_dir: ./results
    max_concurrency: 8
    dataset: {_type: json, file_path: questions.json}
  evaluators:
    similarity_eval: {_type: similarity, similarity_type: cosine}
```

Some keys of NeMo Agent Toolkit's file are refused, each with its reason (`refused` of `General` and `Output`): the profiler,
clean-up and jobs, uploads, hooks and scripts, and users.

A file runs only the code that it names: plug-ins, and functions written as ``package.module:name``.

Paths are relative to the working folder, as in the toolkit; a data set that does not exist there is searched in the folder of the
file. A value ``${NAME}`` or ``${NAME:-default}`` comes from the environment. Keep API keys there; a key in the file itself is
not copied into the results.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pydantic

from rollwise.errors import ReadError, meant
from rollwise.files.configuration import ConfigFile, LocalPath, Place, Strict
from rollwise.files.masking import VARIABLE

PositiveInt = Annotated[int, pydantic.Field(ge=1)]
Scalar = str | int | float | bool
_KEYWORD = re.compile(r"\w[\w .-]*", re.ASCII)
_NO_EMPTYING = "is not done here, as an output folder is never emptied"
_OWN_COMMANDS = "is not done here, as the results are files that other commands can read and copy"
_RESERVED = frozenset({"workflow"})  # `workflow_output.json` is written by the run itself


class Structure(Strict):
    """Names of the fields of an entry."""

    disable: bool = False
    question_key: str = "question"
    answer_key: str = "answer"
    generated_answer_key: str = "generated_answer"
    trajectory_key: str = "intermediate_steps"
    expected_trajectory_key: str = "expected_intermediate_steps"


class Matching(Strict):
    """Values by field, each with ``*`` for anything."""

    field: dict[str, Scalar | list[Scalar]] = pydantic.Field(default_factory=dict)


class Filter(Strict):
    """Filter that keeps the entries that match every field of `allowlist` and no field of `denylist`."""

    allowlist: Matching | None = None
    denylist: Matching | None = None


class Dataset(Strict):
    """The data set; after filtering and shuffling, the first `num_samples` entries are evaluated."""

    type: Literal["json", "jsonl", "csv", "parquet", "xls", "custom"] | None = pydantic.Field(
        default=None, alias="_type"
    )
    file_path: str | None = None
    function: str | None = None
    kwargs: dict[str, Any] = pydantic.Field(default_factory=dict)
    id_key: str = "id"
    structure: Structure = Structure()
    filter: Filter = Filter()
    shuffle: bool = False
    seed: int = 555
    num_samples: PositiveInt | None = None
    pass_full_entry: bool = False


class Output(Strict):
    """Output folder, the steps written to ``workflow_output.json``, and whether ``workflow_output_atif.json`` is written too."""

    refused: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("cleanup", "job_management"), _NO_EMPTYING),
        **dict.fromkeys(
            ("s3", "remote_dir", "custom_scripts", "custom_pre_eval_process_function"),
            _OWN_COMMANDS,
        ),
    }

    dir: LocalPath | None = None
    workflow_output_step_filter: list[str] | None = None
    write_atif_workflow_output: bool = False


class General(Strict):
    """Options of the run; with `validate_llm_endpoints`, each of the `llms` is asked for one word before the run."""

    refused: ClassVar[Mapping[str, str]] = {
        "profiler": "is not run here, as STEPS (`rw.readers.steps`) and evaluators such as `avg_llm_latency` give its figures",
        "per_input_user_id": "has no meaning here, as a workflow knows no users",
    }

    output_dir: LocalPath = Path("evaluation")
    output: Output = Output()
    max_concurrency: PositiveInt = 8
    timeout: Annotated[float, pydantic.Field(gt=0)] | None = None
    retries: Annotated[int, pydantic.Field(ge=0)] = 0
    workflow_alias: str | None = None
    dataset: Dataset = pydantic.Field(default_factory=lambda: Dataset.model_validate({}))
    parity: Literal["nat"] | None = None
    level: Annotated[float, pydantic.Field(gt=0, lt=1)] = 0.95
    validate_llm_endpoints: bool = False


class Eval(Strict):
    """The part of the file about the evaluation."""

    general: General = General()
    evaluators: dict[str, dict[str, Any]] = pydantic.Field(default_factory=dict)


class EvalConfig(Strict):
    """The whole file."""

    plugins: list[str] = pydantic.Field(default_factory=list)
    llms: dict[str, dict[str, Any]] = pydantic.Field(default_factory=dict)
    workflow: str | dict[str, Any] | None = None
    eval: Eval = Eval()

    @property
    def folder(self) -> Path:
        """Return the output folder."""
        return self.eval.general.output.dir or self.eval.general.output_dir


def load(document: ConfigFile) -> EvalConfig:
    """Return the checked configuration, with the values that it takes from the environment."""
    # The types are checked after variables of the environment are filled in, so that `${N}` can be a number.
    config = document.checked(EvalConfig, _from_environment(document.data, document, ()))
    for keyword, entry in config.eval.evaluators.items():
        place = ("eval", "evaluators", keyword)
        if not _KEYWORD.fullmatch(keyword) or len(keyword) > 100:
            raise document.error(place, "cannot be a file name; use letters, digits, _ and -")
        if keyword in _RESERVED:
            raise document.error(place, "would be written where the workflow's own output goes; choose another keyword")
        if not isinstance(entry.get("_type"), str):
            raise document.error(place, "lacks the key `_type`, the name of an evaluator; add it")
    return config


def kind_of(document: ConfigFile, place: Place, entry: dict[str, Any], kinds: Mapping[str, Any]) -> Any:
    """Return the kind that the `_type` of an entry names."""
    name = entry.get("_type")
    if not isinstance(name, str):
        raise document.error(place, f"lacks the key `_type`, one of {', '.join(kinds)}; add it")
    if name not in kinds:
        raise document.error((*place, "_type"), f"is {name!r}, which is unknown; {meant(name, kinds)}")
    return kinds[name]


def _from_environment(value: Any, document: ConfigFile, place: Place) -> Any:
    if isinstance(value, dict):
        return {key: _from_environment(inner, document, (*place, str(key))) for key, inner in value.items()}
    if isinstance(value, list):
        return [_from_environment(inner, document, (*place, number)) for number, inner in enumerate(value)]
    if not isinstance(value, str):
        return value

    def variable(match: re.Match[str]) -> str:
        text = os.environ.get(match[1], match[2])
        if text is None:
            raise document.error(place, f"asks for ${{{match[1]}}}, which is not set in the environment; set it")
        return text

    try:
        return VARIABLE.sub(variable, value)
    except RecursionError as error:
        raise ReadError(f"{document.path}: an entry is nested too deeply; write it out") from error
