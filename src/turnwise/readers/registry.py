"""The formats there are, and which of them a file has."""

from collections.abc import Callable
from dataclasses import dataclass

from turnwise.errors import ArgumentError, ReadError, listing, meant
from turnwise.readers.formats import (
    agentdojo,
    aisteer,
    anthropic_output,
    art,
    astra,
    atif,
    atof,
    best_of_n,
    claude_code,
    deepteam,
    garak,
    garak_hitlog,
    gemini_output,
    harmbench,
    hh_rlhf,
    intercode,
    jailbreakbench,
    langfuse,
    langsmith,
    lm_eval,
    mint,
    nat,
    openai_chat,
    openai_output,
    opentelemetry,
    phoenix,
    promptfoo,
    pyrit,
    quesma,
    sharegpt,
    skyrl,
    swe_agent,
    tau2,
    tau_bench,
    trl,
    verifiers,
    verl,
)
from turnwise.readers.formats.codex import sessions as codex
from turnwise.readers.formats.inspect import samples as inspect_ai
from turnwise.readers.formats.inspect import summaries as inspect_summaries
from turnwise.readers.native import files as native_files
from turnwise.readers.problems import Problems
from turnwise.readers.results.lookalikes import lookalike
from turnwise.readers.results.nearly import nearly
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.wrapping import wrapping
from turnwise.readers.table import Table


@dataclass(frozen=True, slots=True)
class Format:
    """One format: how to know a file of it, and how to read one."""

    name: str
    about: str
    suffixes: tuple[str, ...]  # of its files; .gz or .zst may follow
    sniff: Callable[[Document], bool]
    read: Callable[[Document, Table], None]
    echo: bool = False  # repeats rollouts of another format, and is read after it
    outcomes: Callable[[Document, Table], None] | None = (
        None  # reads what became of the rollouts, where that costs less
    )
    loosely: Callable[[Document], bool] | None = None  # knows a file by less, where no format knows it


LINES = (".jsonl", ".json", ".ndjson")
BINARY = (".parquet", ".arrow", ".feather", ".ipc")
OWN = frozenset({"native", "openai_chat", "sharegpt"})  # formats of no tool: a record may say anything in them
FORMATS = (
    Format(
        "native",
        "a table of turns with a column rollout_id, or rollouts with an id and their turns",
        (*BINARY, ".csv", ".tsv", ".txt", *LINES),
        native_files.sniff,
        native_files.read_native,
        loosely=native_files.sniff_nested,
    ),
    Format(
        "jailbreakbench",
        "artifacts of JailbreakBench and llm-adaptive-attacks",
        (".json",),
        jailbreakbench.sniff,
        jailbreakbench.read_jailbreakbench,
    ),
    Format(
        "agentdojo",
        "runs of AgentDojo, one rollout per file",
        (".json",),
        agentdojo.sniff,
        agentdojo.read_agentdojo,
    ),
    Format(
        "tau_bench",
        "results of tau-bench",
        (".json",),
        tau_bench.sniff,
        tau_bench.read_tau_bench,
    ),
    Format(
        "intercode",
        "trajectories of InterCode",
        (".json",),
        intercode.sniff,
        intercode.read_intercode,
    ),
    Format(
        "inspect",
        "logs of Inspect AI, archives and JSON",
        (".eval", ".json"),
        inspect_ai.sniff,
        inspect_ai.read_inspect,
        outcomes=inspect_summaries.read_outcomes,
    ),
    Format("mint", "results of MINT", (".jsonl", ".json"), mint.sniff, mint.read_mint),
    Format("garak", "reports of garak", (".jsonl", ".json"), garak.sniff, garak.read_garak),
    Format(
        "garak_hitlog",
        "hit logs of garak: successes only",
        LINES,
        garak_hitlog.sniff,
        garak_hitlog.read_garak_hitlog,
        echo=True,
    ),
    Format(
        "harmbench",
        "completions and results of HarmBench",
        (".json",),
        harmbench.sniff,
        harmbench.read_harmbench,
    ),
    Format("astra", "metrics.json of ASTRA-RL's evaluators", (".json",), astra.sniff, astra.read_astra),
    Format("quesma", "findings and sessions of Quesma's red team", (".json",), quesma.sniff, quesma.read_quesma),
    Format("swe_agent", "trajectories of SWE-agent", (".traj", ".json"), swe_agent.sniff, swe_agent.read_swe_agent),
    Format("atif", "trajectories in ATIF, of Harbor and NAT", LINES, atif.sniff, atif.read_atif),
    Format("atof", "streams of events in ATOF, of NAT", LINES, atof.sniff, atof.read_atof, echo=True),
    Format("nat", "workflow_output.json of the NeMo Agent Toolkit", LINES, nat.sniff, nat.read_nat),
    Format("deepteam", "risk assessments and traces of DeepTeam", (".json",), deepteam.sniff, deepteam.read_deepteam),
    Format("hh_rlhf", "pairs of dialogues of hh-rlhf", LINES, hh_rlhf.sniff, hh_rlhf.read_hh_rlhf),
    Format(
        "sharegpt",
        "conversations of ShareGPT and FastChat",
        (*LINES, *BINARY),
        sharegpt.sniff,
        sharegpt.read_sharegpt,
    ),
    Format(
        "openai_chat",
        "records with messages, as OpenAI has them or under other usual names",
        (*LINES, *BINARY),
        openai_chat.sniff,
        openai_chat.read_openai_chat,
        loosely=openai_chat.sniff_chats,
    ),
    Format(
        "openai_output",
        "output of OpenAI's batches, chat completions and responses, and logs of requests with them",
        LINES,
        openai_output.sniff,
        openai_output.read_openai_output,
    ),
    Format(
        "anthropic_output",
        "results of Anthropic's message batches, messages, and logs of requests with them",
        LINES,
        anthropic_output.sniff,
        anthropic_output.read_anthropic_output,
    ),
    Format(
        "gemini_output",
        "results of Gemini's batches, also from Vertex AI, answers, and logs of requests with them",
        LINES,
        gemini_output.sniff,
        gemini_output.read_gemini_output,
    ),
    Format(
        "phoenix",
        "spans in the words of OpenInference, as Arize Phoenix exports them",
        (*LINES, *BINARY),
        phoenix.sniff,
        phoenix.read_phoenix,
    ),
    Format(
        "opentelemetry",
        "spans of OpenTelemetry of models, in OTLP's JSON",
        LINES,
        opentelemetry.sniff,
        opentelemetry.read_opentelemetry,
    ),
    Format("langfuse", "traces and observations of Langfuse", LINES, langfuse.sniff, langfuse.read_langfuse),
    Format("langsmith", "runs of LangSmith", LINES, langsmith.sniff, langsmith.read_langsmith),
    Format("claude_code", "sessions of Claude Code", LINES, claude_code.sniff, claude_code.read_claude_code),
    Format("codex", "sessions of Codex, and what codex exec --json prints", LINES, codex.sniff, codex.read_codex),
    Format("tau2", "results and simulations of tau2-bench", (".json",), tau2.sniff, tau2.read_tau2),
    Format(
        "pyrit",
        "memory of PyRIT: SQLite, CSV, JSON",
        (".db", ".sqlite", ".sqlite3", ".csv", *LINES),
        pyrit.sniff,
        pyrit.read_pyrit,
    ),
    Format("promptfoo", "results of promptfoo", LINES, promptfoo.sniff, promptfoo.read_promptfoo),
    Format("lm_eval", "samples of the LM evaluation harness", LINES, lm_eval.sniff, lm_eval.read_lm_eval),
    Format("verifiers", "traces of verifiers and prime-rl", LINES, verifiers.sniff, verifiers.read_verifiers),
    Format("verl", "generations dumped by verl", LINES, verl.sniff, verl.read_verl),
    Format("skyrl", "evaluations dumped by SkyRL", LINES, skyrl.sniff, skyrl.read_skyrl),
    Format("trl", "completions logged by TRL", (".parquet",), trl.sniff, trl.read_trl),
    Format("art", "trajectories of ART", (".parquet", *LINES), art.sniff, art.read_art),
    Format("aisteer", "profiles.json of AISteer360", (".json",), aisteer.sniff, aisteer.read_aisteer),
    Format("best_of_n", "search steps of best-of-N jailbreaking", LINES, best_of_n.sniff, best_of_n.read_best_of_n),
)


def format_of(document: Document, forced: Format | None, *, by_name: bool, problems: Problems) -> Format | None:
    """The format of a file, the one that is forced or the first that knows it; None if there is none, which `problems` notes.

    Raises
    ------
    ReadError
        Where a file that was asked for by its name has none.
    """
    if forced is not None:
        if by_name or forced.sniff(document) or _nearly_is(document, forced):
            return forced
        problems.unread(document.name, f"is not recognized as {forced.name}")
        return None
    likely = [kind for kind in FORMATS if _may_be(document, kind)]
    kind = next((kind for kind in likely if kind.sniff(document)), None)
    ours = kind is FORMATS[0]
    kind = kind or next((kind for kind in likely if _nearly_is(document, kind)), None)
    refusal = lookalike(document) if ours or kind is None else None
    if kind is not None and refusal is None:
        return kind
    empty = document.kind == "empty" or (document.kind == "json" and document.top in ([], {}))
    refusal = refusal or wrapping(document.head, document.suffix) or nearly(document)
    reason = refusal or ("is empty" if empty else "is not recognized")
    if by_name:
        remedy = "" if refusal else "; check that it was written whole" if empty else _unknown(document)
        raise ReadError(f"{document.name}: {reason}{remedy}")
    problems.unread(document.name, reason)
    return None


def _unknown(document: Document) -> str:
    """Return advice for a file of unknown format."""
    columns = document.keys if document.kind in {"table", "parquet", "arrow"} else frozenset[str]()
    if len(columns) > 1:
        lacks = "response" if "rollout_id" in columns else "rollout_id"
        said = "what was said" if lacks == "response" else "which rows are one rollout"
        return (
            f": none of its columns ({listing(columns)}) says {said}; force a format with format=, or name yours, "
            f'as in names={{"{lacks}": "..."}}'
        )
    return f"; formats are {format_names()}: choose one with format=, or read your own table with `tw.turns(frame)`"


def is_own(document: Document, forced: Format | None = None) -> bool:
    """Return whether the records of a file have custom names, rather than the names of a tool with a reader."""
    kind = forced or next((kind for kind in FORMATS if _may_be(document, kind) and kind.sniff(document)), None)
    return kind is None or kind.name in OWN


def is_known(document: Document) -> bool:
    """Return whether any format knows the file, be it by less."""
    return any(_may_be(document, kind) and (kind.sniff(document) or _nearly_is(document, kind)) for kind in FORMATS)


def _nearly_is(document: Document, kind: Format) -> bool:
    return kind.loosely is not None and kind.loosely(document)


def _may_be(document: Document, kind: Format) -> bool:
    """The suffix narrows what a file may be; one that no format knows says nothing, nor does another one of a file of JSON."""
    if document.suffix in kind.suffixes:
        return True
    unknown = all(document.suffix not in form.suffixes for form in FORMATS)
    return unknown or (document.suffix not in LINES and document.kind in {"json", "lines"})


def named(name: str | None) -> Format | None:
    """The format of that name."""
    if name is None:
        return None
    found = next((kind for kind in FORMATS if kind.name == name), None)
    if found is None:
        raise ArgumentError(f"read: unknown format {name!r}; {meant(name, [kind.name for kind in FORMATS])}")
    return found


def format_names() -> str:
    """The names of all formats, for a sentence."""
    return listing((kind.name for kind in FORMATS), most=len(FORMATS))
