"""The formats of result files that people commit, in the order in which they are asked."""

from rollwise.readers.formats.committed import (
    aider,
    bfcl,
    deepeval,
    evalplus,
    gcg,
    injecagent,
    mhj,
    mt_bench,
    openai_evals,
    pairs,
    ragas,
    rjudge,
    swe_bench,
    terminal_bench,
    xstest,
)
from rollwise.readers.plugins import Format

LINES = (".jsonl", ".json", ".ndjson")
BINARY = (".parquet", ".arrow", ".feather", ".ipc")
COMMITTED = (
    Format(
        "pairs",
        "pairs of answers with a preference: AlpacaEval, MT-Bench, Arena-Hard, Chatbot Arena",
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
    Format("ragas", "results of Ragas", (*LINES, ".csv", *BINARY), ragas.SHAPES, ragas.RAGAS),
    Format("mhj", "multi-turn human jailbreaks, MHJ", (*LINES, ".csv", *BINARY), mhj.SHAPES, mhj.MHJ),
    Format("openai_evals", "events of OpenAI Evals", LINES, openai_evals.SHAPES, openai_evals.OPENAI_EVALS),
    Format("evalplus", "results of EvalPlus: HumanEval+ and MBPP+", (".json",), evalplus.SHAPES, evalplus.EVALPLUS),
    Format("xstest", "judged answers to XSTest", (*LINES, ".csv", *BINARY), xstest.SHAPES, xstest.XSTEST),
    Format("rjudge", "records of R-Judge", LINES, rjudge.SHAPES, rjudge.RJUDGE),
    Format("injecagent", "judged cases of InjecAgent", LINES, injecagent.SHAPES, injecagent.INJECAGENT),
    Format("gcg", "logs of GCG, of llm-attacks", (".json",), gcg.GCG_SHAPES, gcg.GCG),
    Format("autodan", "results of AutoDAN", (".json",), gcg.AUTODAN_SHAPES, gcg.AUTODAN),
    Format(
        "aider_benchmark", "exercises of aider's benchmark", (".json",), aider.RESULTS_SHAPES, aider.AIDER_BENCHMARK
    ),
    Format("aider", "histories of chats with aider", (".md",), aider.CHAT_SHAPES, aider.AIDER_CHATS),
    Format("mt_bench", "grades of MT-Bench", LINES, mt_bench.SHAPES, mt_bench.MT_BENCH_GRADES),
)
