"""The built-in formats, and which format a file has."""

from collections.abc import Iterator

from rollwise.errors import ArgumentError, ReadError, meant
from rollwise.readers.committed import BINARY, COMMITTED, LINES
from rollwise.readers.formats import (
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
from rollwise.readers.formats.codex import sessions as codex
from rollwise.readers.formats.exchange import (
    docent,
    every_eval_ever,
    inspect_scout,
    mlflow,
    openhands,
    petri,
    pi,
    session_traces,
)
from rollwise.readers.formats.inspect import samples as inspect_ai
from rollwise.readers.formats.inspect import summaries as inspect_summaries
from rollwise.readers.mapping.given import GivenMapping
from rollwise.readers.native import files as native_files
from rollwise.readers.plugins import Format, installed
from rollwise.readers.problems import BrokenError, Problems
from rollwise.readers.proposal.reading import refusal_of
from rollwise.readers.proposal.refusals import is_closer
from rollwise.readers.proposal.structure import is_elsewhere
from rollwise.readers.results.hints import holds_outcomes, holds_rollouts, of_other_tool
from rollwise.readers.results.lookalikes import Lookalike, lookalike
from rollwise.readers.roles.columns import CUSTOM, MAPPING
from rollwise.readers.roles.names import role_of
from rollwise.readers.sources.contents import TEXT_SUFFIXES, wrapping
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.encodings import misspelled
from rollwise.readers.sources.tables import without_rollouts
from rollwise.readers.table import TurnsBuilder

TABLES = (".csv", ".tsv", ".txt", "")
# The order matters where a file fits several formats: the first that recognizes it is taken. It is also the order of rows.
FORMATS = (
    Format(
        "native",
        "a table of turns with a column rollout_id, rollouts with their turns, or a row for each rollout of one turn",
        (*BINARY, ".csv", ".tsv", ".txt", *LINES),
        native_files.SHAPES,
        native_files.read_native,
        copies=holds_outcomes,
        loosely=lambda document: (
            native_files.sniff_nested(document) or (holds_rollouts(document) and lookalike(document) is None)
        ),
    ),
    Format(
        "jailbreakbench",
        "artifacts of JailbreakBench and llm-adaptive-attacks",
        (".json",),
        jailbreakbench.SHAPES,
        jailbreakbench.JAILBREAKBENCH,
    ),
    Format("agentdojo", "runs of AgentDojo, one rollout per file", (".json",), agentdojo.SHAPES, agentdojo.AGENTDOJO),
    Format("tau_bench", "results of tau-bench", (".json",), tau_bench.SHAPES, tau_bench.TAU_BENCH),
    Format("intercode", "trajectories of InterCode", (".json",), intercode.SHAPES, intercode.INTERCODE),
    Format(
        "inspect",
        "logs of Inspect AI, archives and JSON",
        (".eval", ".json"),
        inspect_ai.SHAPES,
        inspect_ai.read_inspect,
        outcomes=inspect_summaries.read_outcomes,
    ),
    Format(
        "inspect_scout",
        "databases of transcripts of Inspect Scout",
        (".parquet",),
        inspect_scout.SHAPES,
        inspect_scout.read_inspect_scout,
        copies=True,
    ),
    Format(
        "petri",
        "audits of Petri 1 and of Bloom",
        (".json",),
        petri.SHAPES,
        petri.read_petri,
        copies=petri.holds_several,
    ),
    Format("docent", "runs of agents of Docent", LINES, docent.SHAPES, docent.read_docent),
    Format("mint", "results of MINT", (".jsonl", ".json"), mint.SHAPES, mint.MINT),
    Format("garak", "reports of garak", (".jsonl", ".json"), garak.SHAPES, garak.GARAK),
    Format(
        "garak_hitlog",
        "hit logs of garak: successes only",
        LINES,
        garak_hitlog.SHAPES,
        garak_hitlog.GARAK_HITLOG,
        copies=True,
    ),
    Format(
        "harmbench",
        "completions and results of HarmBench",
        (".json",),
        harmbench.SHAPES,
        harmbench.HARMBENCH,
    ),
    Format("astra", "metrics.json of ASTRA-RL's evaluators", (".json",), astra.SHAPES, astra.ASTRA),
    Format("quesma", "findings and sessions of Quesma's red team", (".json",), quesma.SHAPES, quesma.QUESMA),
    Format("swe_agent", "trajectories of SWE-agent", (".traj", ".json"), swe_agent.SHAPES, swe_agent.SWE_AGENT),
    Format("openhands", "output.jsonl of OpenHands", LINES, openhands.SHAPES, openhands.OPENHANDS),
    Format("atif", "trajectories in ATIF, of Harbor and NAT", LINES, atif.SHAPES, atif.ATIF),
    Format("atof", "streams of events in ATOF, of NAT", LINES, atof.SHAPES, atof.read_atof, copies=True),
    Format("nat", "workflow_output.json of the NeMo Agent Toolkit", LINES, nat.SHAPES, nat.NAT),
    Format("deepteam", "risk assessments and traces of DeepTeam", (".json",), deepteam.SHAPES, deepteam.DEEPTEAM),
    *COMMITTED,
    Format("hh_rlhf", "pairs of dialogues of hh-rlhf", LINES, hh_rlhf.SHAPES, hh_rlhf.HH_RLHF),
    Format(
        "sharegpt",
        "conversations of ShareGPT and FastChat",
        (*LINES, *BINARY),
        sharegpt.SHAPES,
        sharegpt.read_sharegpt,
    ),
    Format(
        "openai_chat",
        "records with messages, as OpenAI has them or under other usual names",
        (*LINES, *BINARY),
        openai_chat.SHAPES,
        openai_chat.read_openai_chat,
        loosely=openai_chat.sniff_chats,
    ),
    Format(
        "openai_output",
        "output of OpenAI's batches, chat completions and responses, and logs of requests with them",
        LINES,
        openai_output.SHAPES,
        openai_output.read_openai_output,
    ),
    Format(
        "anthropic_output",
        "results of Anthropic's message batches, messages, and logs of requests with them",
        LINES,
        anthropic_output.SHAPES,
        anthropic_output.read_anthropic_output,
    ),
    Format(
        "gemini_output",
        "results of Gemini's batches, also from Vertex AI, answers, and logs of requests with them",
        LINES,
        gemini_output.SHAPES,
        gemini_output.read_gemini_output,
    ),
    Format(
        "phoenix",
        "spans in the words of OpenInference, as Arize Phoenix exports them",
        (*LINES, *BINARY),
        phoenix.SHAPES,
        phoenix.read_phoenix,
    ),
    Format(
        "opentelemetry",
        "spans of OpenTelemetry of models, in OTLP's JSON",
        LINES,
        opentelemetry.SHAPES,
        opentelemetry.read_opentelemetry,
    ),
    Format("langfuse", "traces and observations of Langfuse", LINES, langfuse.SHAPES, langfuse.read_langfuse),
    Format("mlflow", "traces of MLflow, with assessments", LINES, mlflow.SHAPES, mlflow.read_mlflow),
    Format("langsmith", "runs of LangSmith", LINES, langsmith.SHAPES, langsmith.read_langsmith),
    Format(
        "session_traces",
        "sessions in the Session Trace Simple Format of Hugging Face",
        LINES,
        session_traces.SHAPES,
        session_traces.read_session_traces,
    ),
    Format("pi", "sessions of the coding agent Pi", LINES, pi.SHAPES, pi.read_pi),
    Format("claude_code", "sessions of Claude Code", LINES, claude_code.SHAPES, claude_code.read_claude_code),
    Format("codex", "sessions of Codex, and what codex exec --json prints", LINES, codex.SHAPES, codex.read_codex),
    Format("tau2", "results and simulations of tau2-bench", (".json",), tau2.SHAPES, tau2.TAU2),
    Format(
        "pyrit",
        "memory of PyRIT: SQLite, CSV, JSON",
        (".db", ".sqlite", ".sqlite3", ".csv", *LINES),
        pyrit.SHAPES,
        pyrit.read_pyrit,
    ),
    Format("promptfoo", "results of promptfoo", LINES, promptfoo.SHAPES, promptfoo.PROMPTFOO),
    Format(
        "every_eval_ever",
        "samples in the schema of Every Eval Ever",
        LINES,
        every_eval_ever.SHAPES,
        every_eval_ever.read_every_eval_ever,
    ),
    Format("lm_eval", "samples of the LM evaluation harness", LINES, lm_eval.SHAPES, lm_eval.LM_EVAL),
    Format("verifiers", "traces of verifiers and prime-rl", LINES, verifiers.SHAPES, verifiers.read_verifiers),
    Format("verl", "generations dumped by verl", LINES, verl.SHAPES, verl.VERL),
    Format("skyrl", "evaluations dumped by SkyRL", LINES, skyrl.SHAPES, skyrl.SKYRL),
    Format("trl", "completions logged by TRL", (".parquet",), trl.SHAPES, trl.TRL),
    Format("art", "trajectories of ART", (".parquet", *LINES), art.SHAPES, art.ART),
    Format("aisteer", "profiles.json of AISteer360", (".json",), aisteer.SHAPES, aisteer.AISTEER),
    Format("best_of_n", "search steps of best-of-N jailbreaking", LINES, best_of_n.SHAPES, best_of_n.BEST_OF_N),
)
NATIVE = FORMATS[0]  # rollwise's own tables


def _by_mapping(document: Document, table: TurnsBuilder) -> None:
    raise AssertionError  # a file of unknown kind is read by the mapping that is proposed for it


UNKNOWN = Format(MAPPING, "files that no format knows, read by a mapping", (), lambda _: False, _by_mapping)


def formats() -> Iterator[Format]:
    """Iterate over the built-in formats, then over formats of installed packages, which are imported only when reached."""
    yield from FORMATS
    yield from installed(frozenset(form.name for form in FORMATS))


def format_of(document: Document, forced: Format | None, *, by_name: bool, problems: Problems) -> Format | None:
    """Return the format of a file: `forced`, or the first that recognizes it. Where it has none, `problems` notes why.

    `by_name` is whether the file itself was named, rather than a folder with it.
    """
    if forced is not None:
        return _forced(document, forced, problems, by_name=by_name)
    form = _recognized(document)
    # Columns of rollwise's own table also occur in files that hold something else, such as verdicts or prompts.
    is_native = form is NATIVE
    form = form or _recognized_loosely(document)
    if form is NATIVE and not is_native and not native_files.sniff_nested(document) and is_elsewhere(document):
        form = None
    kind = lookalike(document) if is_native or form is None else None
    if form is not None and kind is None:
        return form
    if document.kind == "empty" or (document.kind == "json" and document.top in ([], {})):
        reason, advice = ("is empty", "; check that it was written whole") if kind is None else (kind.reason, "")
    else:
        reason, advice = _refusal(document, kind) or "", ""
        if not reason and _may_hold_rollouts(document):
            return UNKNOWN
    advice = advice or ("" if reason else "; format= reads it as the log of a tool")
    reason = reason or "is not recognized"
    if by_name and (kind is None or kind.beside is None):  # what goes with logs may be named with them
        raise ReadError(f"{document.name}: {reason}{advice}")
    problems.dropped(document.name, reason)
    if kind is not None and kind.beside is not None:
        problems.files_beside.add(document.name, kind.beside, has_verdicts=kind.has_verdicts)
    return None


def _forced(document: Document, forced: Format, problems: Problems, *, by_name: bool) -> Format | None:
    """Return the format that the user named, if the file may have it."""
    if forced.given is not None:
        tool = _recognized(document)
        name = None if tool is None or tool.name in CUSTOM else tool.name
        return forced if forced.given.reads(document, name, problems, by_name=by_name) else None
    if forced.sniff(document) or _recognizes_loosely(forced, document):
        return forced
    if by_name:  # of what no format recognizes, its reader says what is missing
        _refuse_other(document, forced)
        return forced
    problems.dropped(document.name, f"is not recognized as {forced.name}")
    return None


def _refusal(document: Document, kind: Lookalike | None) -> str | None:
    """Return why a file of no known format holds no rollouts; None where it may hold some."""
    if kind is not None:
        closer = refusal_of(document) if kind.is_guess else kind.reason
        return closer if closer is None or is_closer(closer) else kind.reason
    reason = wrapping(document.head, document.suffix) or of_other_tool(document)
    if document.kind == "sqlite":
        reason = without_rollouts(document)
    if reason is None and document.kind == "table" and document.suffix in TEXT_SUFFIXES:
        reason = misspelled(document.head)
    if reason is None and document.too_deep:
        raise BrokenError("is nested too deeply to be recognized")
    return reason


def _may_hold_rollouts(document: Document) -> bool:
    """Return whether a file of an unknown kind holds records: JSON, or a table with several columns, or one of a known name."""
    if document.kind == "table":
        is_named = len(document.header) > 1 or any(map(role_of, document.header))
        return is_named and document.suffix in TABLES
    return document.kind in {"json", "lines", "parquet", "arrow"}


def _refuse_other(document: Document, forced: Format) -> None:
    """Raise an error for a file that a reader would misread: one of another format, or one that holds no rows of turns."""
    if forced is NATIVE and document.kind in {"json", "lines", "table", "parquet", "arrow"}:
        reason = native_files.misfit(document)  # rows without ids may look like those of a tool
        kind = None if reason is not None else lookalike(document)
        reason = reason if kind is None else kind.reason
        if reason is None:
            return
    else:
        is_table = document.kind == "table" and not {".csv", ".tsv", ".txt"} & {*forced.suffixes}
        reason = "is a table" if is_table else None
    recognized = _recognized(document) or _recognized_loosely(document)
    if recognized is not None and recognized is not forced:
        reason = f"is recognized as {recognized.name} ({recognized.about}): leave format= out"
    if reason is not None:
        raise ReadError(f"{document.name}: does not fit format={forced.name!r}: it {reason}")


def is_custom(document: Document, forced: Format | None = None) -> bool:
    """Return whether the records of a file have custom names, rather than the names of a tool with a reader."""
    form = forced or _recognized(document)
    return form is None or form.name in CUSTOM


def is_known(document: Document) -> bool:
    """Return whether any format recognizes the file, if only loosely."""
    return (_recognized(document) or _recognized_loosely(document)) is not None


def _recognized(document: Document) -> Format | None:
    return next((form for form in formats() if _may_be(document, form) and form.sniff(document)), None)


def _recognized_loosely(document: Document) -> Format | None:
    return next((form for form in formats() if _may_be(document, form) and _recognizes_loosely(form, document)), None)


def _recognizes_loosely(form: Format, document: Document) -> bool:
    return form.loosely is not None and form.loosely(document)


def _may_be(document: Document, form: Format) -> bool:
    """Return whether a file with this suffix may have the format.

    A suffix that no built-in format has excludes none, and neither does a wrong suffix of a file that holds JSON. A file
    whose columns the user named is the user's own: a name never makes it a log of a tool.
    """
    if document.named and form.name not in CUSTOM:
        return False
    if document.suffix in form.suffixes:
        return True
    is_unknown = all(document.suffix not in form.suffixes for form in FORMATS)
    return is_unknown or (document.suffix not in LINES and document.kind in {"json", "lines"})


def format_named(name: str | None) -> Format | None:
    """Return the format of that name; None where no name is given."""
    if name is None:
        return None
    form = next((form for form in formats() if form.name == name), None)
    if form is None:
        names = [form.name for form in formats()]
        raise ArgumentError(f"read: unknown format {name!r}; {meant(name, names, most=len(names))}")
    return form


def forced_format(name: str | None, mapping: GivenMapping | None = None) -> Format | None:
    """Return the format that all files are to have: that of this name, or that of the user's mappings; None for neither."""
    if mapping is None:
        return format_named(name)
    return Format(MAPPING, "files that your mapping describes", (), lambda _: True, mapping.read, given=mapping)
