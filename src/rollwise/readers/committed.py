"""The formats of result files that people commit, in the order in which they are asked."""

from rollwise.readers.formats.committed import pairs
from rollwise.readers.plugins import Format

LINES = (".jsonl", ".json", ".ndjson")
BINARY = (".parquet", ".arrow", ".feather", ".ipc")
COMMITTED = (
    Format(
        "pairs",
        "pairs of answers with a preference: AlpacaEval, MT-Bench, Chatbot Arena",
        (*LINES, ".csv", *BINARY),
        pairs.SHAPES,
        pairs.PAIRS,
    ),
)
