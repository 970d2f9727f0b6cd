"""Ragas: answers of retrieval with the scores of its metrics.

- File: `ragas_results.csv` and the like: what `to_pandas()` of a result gives, as a table or as JSON.
- Format: https://github.com/explodinggradients/ragas, src/ragas/dataset_schema.py
- Checked on: tables built after examples in public repositories, with the names of versions 0.1 and 0.2.
- Lost: nothing.
"""

from typing import Any

from rollwise.readers.chats.turns import messages_of, split_by_column
from rollwise.readers.json_texts import list_in_cell
from rollwise.readers.mapping.cells import Turns
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Record
from rollwise.readers.sources.shapes import NAMED, Shapes
from rollwise.readers.table import TurnRow
from rollwise.schema import NO_ATTACK

METRICS = (
    *("faithfulness", "answer_relevancy", "answer_correctness", "answer_similarity", "semantic_similarity"),
    *("context_precision", "context_recall", "context_relevancy", "context_utilization", "context_entity_recall"),
    *("llm_context_precision_with_reference", "llm_context_precision_without_reference", "response_relevancy"),
    *("non_llm_context_precision_with_reference", "non_llm_context_recall", "non_llm_string_similarity"),
    *("factual_correctness", "noise_sensitivity", "noise_sensitivity_relevant", "noise_sensitivity_irrelevant"),
    *("harmfulness", "maliciousness", "coherence", "conciseness", "aspect_critic", "rubrics_score"),
    *("context_entities_recall", "nv_accuracy", "nv_context_relevance", "nv_response_groundedness"),
    *("bleu_score", "rouge_score", "exact_match", "string_present", "topic_adherence", "agent_goal_accuracy"),
)
SHAPES = Shapes({"user_input", "response"}, {"question", "answer", "contexts"}, any_of=METRICS[:14], kinds=NAMED)


def _turns(record: Record) -> Turns:
    """`user_input` and `response`, in old files `question` and `answer`; a list is a conversation."""
    question = record["question"] if record["user_input"] is None else record["user_input"]
    if isinstance(question, str) and question.startswith("[{"):
        question = list_in_cell(question)
    if isinstance(question, list):
        return split_by_column(messages_of(question, "user_input"), "user_input")
    answer = record["answer"] if record["response"] is None else record["response"]
    return [TurnRow(turn=None if answer is None else 1, prompt=question, response=answer)]


def _scores(record: Record) -> dict[str, Any]:
    """Each metric as `score_<name>`; ragas writes nothing where a metric could not be computed."""
    names = [name for name in record.value if name in METRICS or name.partition("(")[0] in METRICS]
    return {f"score_{name}": _number(record.value[name]) for name in names}


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return None if number != number else number  # noqa: PLR0124  # NaN


RAGAS = RecordMapping(
    module=__name__,
    doc="""Read each row as a rollout of one turn.

{fields}

Scores go from 0 to 1 and are no verdicts: name a threshold to make a rate of one. `goal`, `outcome` and `solved` are null.

The producer judges the `whole_rollout`.""",
    rollout=["@place"],
    facts={
        "attack": {"value": NO_ATTACK},
        "expected": {"from": ["reference", "ground_truth"], "in_file": "`reference`, `ground_truth`"},
    },
    turns=_turns,
    columns={"*": {"by": _scores, "in_file": "each metric as `score_<name>`"}},
    used={"user_input", "response", "question", "answer", "reference", "ground_truth", *METRICS},
)
