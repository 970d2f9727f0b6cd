"""The formats of result files that people commit, in the order in which they are asked."""

from rollwise.readers.formats.committed import bfcl, deepeval, pairs, swe_bench, terminal_bench
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
    Format(
        "terminal_bench", "results of Terminal-Bench", (".json",), terminal_bench.SHAPES, terminal_bench.TERMINAL_BENCH
    ),
    Format("bfcl", "results of BFCL, the Berkeley Function-Calling Leaderboard", LINES, bfcl.SHAPES, bfcl.BFCL),
    Format("deepeval", "test runs of DeepEval", (".json",), deepeval.SHAPES, deepeval.DEEPEVAL),
    Format("swe_bench", "predictions and reports of SWE-bench", LINES, swe_bench.SHAPES, swe_bench.SWE_BENCH),
)
