"""Meanings of the names of columns: one vocabulary for every file of people's own.

Names are compared without case, blanks, `_`, `-`, `?`, `#` and dots; camelCase is split. A name alone never makes a verdict: its
values must agree (see `words.py` and `verdicts.py`).

The names come from the readers' formats; of 56 public files of red-teaming and of benchmarks that people commit (tables of
outcomes with ids and costs, judged answers, agent runs of SWE-bench, mini-swe-agent, OpenHands, Terminal-Bench, AgentLab, tau,
GPTFuzz, PAIR, HarmBench, JailbreakBench, WildBench); and of 49 more, on which the rules were tried without having seen them.
"""

import re
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import NamedTuple


def _bag(words: str) -> frozenset[str]:
    return frozenset(words.split())


ROLES = (
    "id", "task", "target", "attack", "goal", "category", "attempt", "turn", "role", "content", "prompt", "response", "score",
    "error", "moment", "cost", "tokens", "seconds", "ending", "reference", "context", "other",
)  # fmt: skip

# Names of each fact, as joined words; the first group that a file has names of is taken, and its columns must agree.
FACTS: Mapping[str, tuple[str, ...]] = {
    "target": (
        "target targetmodel targetname testedmodel modelundertest victimmodel targetllm systemundertest",
        "victim victimname",
        "model modelname modellabel",
        "modelid modelnameorpath llm llmname llmmodel responsemodel engine deployment modeltest",
        "agent agentname generator pipelinename",
        "sourcemodel evaluatedmodel answermodel respondingmodel subjectmodel",
        "defendermodel defendername",
    ),
    "attack": (
        "attack technique attacktechnique attackmethod jailbreakmethod",
        "attacktype attackname attackstrategy strategy jailbreaktactic attackcategory attackvector injectiontype",
        "method methodname tactic probe strategyid techniqueid methodid tacticid attacktypeid probeid",
    ),
    "goal": (
        "goal goaltext behavior behaviour harmfulbehavior harmfulbehaviour harmfulgoal attackgoal maliciousgoal",
        "objective intent forbiddenprompt originalprompt originalquestion baseprompt",
        "goalid behaviorid behaviourid",
    ),
    "task": (
        "task taskid instanceid problemid questionid taskname",
        "problem testcaseid docid promptid challenge challengeid queryidx scenario scenarioid topicid variationid templateid",
    ),
    "category": (
        "category harmcategory semanticcategory riskcategory testcategory",
        "policy vulnerability vulnerabilitytype suitename suite domain topic difficulty hardness pluginid categoryid",
    ),
    "attempt": (
        "attempt trial repeat repetition replicate",
        "trialindex attemptid attemptnumber trialid runindex repeatindex sampleindex epoch try seed",
    ),
}
# Ids that name a task where they repeat, and a rollout where they do not.
EITHER_IDS = frozenset(
    {"id", "sampleid", "caseid", "testid", "exampleid", "recordid", "index", "idx", "case", "testcase"}
)
_OTHERS: Mapping[str, str] = {
    "id": "id uid uuid runid rowid rolloutid sampleid caseid testid sessionid trialid conversationid conv conversation convid "
    "chatid dialogid dialogueid threadid episodeid attackid recordid exampleid trajectoryid index idx pairid case item",
    "turn": "turn turnid turnindex turnidx turnnumber turnno round roundid roundindex roundnumber sequence step",
    "role": "role from speaker author source sender who participant actor",
    "content": "content value text message body parts convertedvalue utterance words said msg",
    "score": "score rating reward grade preference points judgescore",
    "error": "error errmsg errormessage exception err timeout timedout",
    "moment": "timestamp createdat date datetime tstamp startedat endedat starttime endtime trialstartedat trialendedat",
    "cost": "cost costusd usd totalcost totalcostusd price accumulatedcost costs costindollars dollars",
    "seconds": "seconds duration time latency elapsed runtime wallms wallsecs walltime totalseconds totaltime",
    "ending": "exitstatus stopreason terminationreason finishreason endreason rawstopreason failuremode finish",
    "context": "systemprompt systemmessage",
    "prompt": "prompt user userinput human attackprompt usermsg usertext userturn attackermsg messagein inputtext",
    "response": "response assistant botmsg bot assistantmsg assistanttext messageout outputtext responsetext generatedtext "
    "aimessage botmessage bottext assistantmessage finaltext victimtext modeltext",
}  # fmt: skip
_ROLE_OF_NAME = {name: role for role, names in _OTHERS.items() for name in names.split()}
_ROLE_OF_NAME |= {
    name: role for role, groups in reversed([*FACTS.items()]) for group in groups for name in group.split()
}
_ROLE_OF_NAME |= dict.fromkeys(("case", "trialid", "attackid", "attemptid"), "id")
RANKS = {
    role: {name: rank for rank, group in enumerate(groups) for name in group.split()} for role, groups in FACTS.items()
}

_ANSWERS = _bag("response reply output completion generation answer prediction responses resps generations")
_ANSWERED_BY = _bag(
    "model victim target llm assistant system agent bot generator generated defender chatbot raw final actual ai chat text "
    "preview full content response output the patch result"
)
_ASKING = _bag("prompt input question query instruction request probe")
_ATTACKING = _bag(
    "attack attacker attacked adversarial adversary jailbreak malicious red team redteam redteaming injected"
)
_ASKED_BY = _ATTACKING | _bag("user human final modified mutated full text raw input test prompt")
_NUMBERING = _bag("idx index id no num number local global raw absolute relative order") | {""}
_PASSED_ON = _bag("text string sent received returned")  # what follows `prompt` or `response` in names of texts
# Words of what is not the target's: what it is compared with, and what judges it.
_NOT_OURS = _bag(
    "expected reference gold golden correct ideal judge truth ground desired judged evaluator evaluation grader scorer"
)
_OWNED = _bag("model llm name cost tokens prompt response output time")
_OF_OTHERS = _bag("judge attacker evaluator evaluation grader scorer helper defender")
_PEOPLE = _bag(
    "attacker defender judge evaluator grader scorer annotator rater user client cluster"
)  # whose ids are no rollouts'
# Words of what a run may use, unlike what it used.
LIMITS = _bag(
    "max min maximum minimum limit limits threshold budget timeout backoff retry delay interval sleep estimated estimate"
)
COUNTS = _bag(
    "total n num count counts number successes failures attempts max min avg mean median pct percent rate asr accuracy "
    "iterations"
)
JUDGED = _bag(
    "verdict judgement judgment label classification outcome result decision judge evaluation rating grade status "
    "assessment flagged detected"
)
# Words of names that say whose the successes of a file are.
OF_ATTACKS = _bag(
    "attack attacks attacker attacked adversarial jailbreak jailbreaks jailbroken injection asr victim redteam harm harmful "
    "tactic technique exploit vulnerability behavior behaviour probe probes poison malicious"
)
OF_TASKS = _bag(
    "task tasks instance solved resolved patch exit expected reference gold difficulty accuracy correct steps test tests tool "
    "tools correctness benchmark"
)


def speaks_of_attacks_alone(words: AbstractSet[str]) -> bool:
    """Return whether the words of all names of a file are on attacks, and not on tasks as well: then a verdict is the attack's."""
    return bool(words & OF_ATTACKS) and not words & OF_TASKS


# What `true` says where a name of a verdict has the word.
ATTACK_TRUE = _bag(
    "jailbroken broken breached breach hijacked compromised exploited leaked leak bypassed bypass vulnerable unsafe harmful "
    "misled complied compliance comply compliant complies violated violation toxic malicious infected answered"
)
ATTACK_FALSE = _bag(
    "mitigated robust blocked block defended refused refusal refuse safe resisted declined protected secure harmless rejected "
    "refuses benign"
)
TASK_TRUE = _bag("solved resolved correct passed pass accepted utility acc completed")
TASK_FALSE = _bag("incorrect wrong")
EITHER_TRUE = _bag("success successful succeeded succ ok won achieved successfully")
EITHER_FALSE = _bag("failed failure fail unsuccessful")
OF_PROMPTS = _bag("harmful toxic malicious unsafe safe benign harmless jailbreak violation risk")
OF_ANSWERS = _bag("response output answer reply completion attack")  # which say that a label is not the prompt's
# Said of many things; asked, unless something else in the file confirms it.
_WEAK = _bag(
    "ok won broken refused refusal refuses refuse acc utility valid completed answered compliance comply detected flagged accepted"
)
_REFUSALS = _bag("refused refusal refuses refuse")
_OF_TARGETS = _bag("is was has did the model target response answer llm")
_NEUTRAL = _bag(
    "is was has did be got the a attack jailbreak injection task test trial run goal overall final flag result results "
    "response output answer target victim judge llm verdict fully label by safety harm"
)
_DEFENDER = frozenset({"defense", "defence", "guardrail"})
_NOT = frozenset({"not", "non", "un", "no"})
# Words of names that are of no verdict, with any other words.
_NO_VERDICT = _bag(
    "reason reasons ids id score scores prompt prompts question tactic method time model name expected gold reference "
    "explanation query attacker confidence text at input by"
)


# `(1=Yes, 0=No)` at the end of a name, which says no more than its values do.
_LEGEND = re.compile(
    r"(?i)\s*[(\[]\s*(?:(?:1\s*=\s*)?(?:yes|y|true)|1)\s*[,;/|]\s*(?:(?:0\s*=\s*)?(?:no|n|false)|0)\s*[)\]]\s*$|"
    r"\s*[(\[]\s*(?:(?:0\s*=\s*)?(?:no|n|false)|0)\s*[,;/|]\s*(?:(?:1\s*=\s*)?(?:yes|y|true)|1)\s*[)\]]\s*$"
)


class Claim(NamedTuple):
    """Claim of a column's name on the verdicts in it."""

    whose: str  # "attack", "task", "either", or "named": the words in the column must say
    when_true: bool | None  # what true means; None where only the words in the column say
    doubt: str | None = None  # why the name is not beyond doubt, a sentence


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case."""
    split = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return tuple(word for word in re.split(r"[^a-z0-9]+", split.lower()) if word)


def joined(name: str) -> str:
    """Return a name as names are compared: its words without anything between them."""
    return "".join(words_of(name))


@lru_cache(maxsize=4096)
def role_of(name: str) -> str | None:
    """Return the role of a column by its name alone, one of `ROLES`; None where it says nothing.

    Of a path such as `usage.input_tokens` the last name counts. A judge's or an attacker's own is "other".
    """
    words = words_of(name.rpartition(".")[2])
    if not words:
        return None
    exact = _ROLE_OF_NAME.get("".join(words))
    return exact or next((role for role, is_so in _RULES if is_so(words, frozenset(words))), None)


Words = tuple[str, ...]


def _is_of_another(words: Words, bag: frozenset[str]) -> bool:
    if words == ("attacker", "prompt"):  # what an attacker asks, unlike what it is asked for by a `judge_prompt`
        return False
    return bool(bag & _OF_OTHERS and bag & _OWNED) or bool(words[-1] == "id" and bag & _PEOPLE)


def _is_limit(words: Words, bag: frozenset[str]) -> bool:
    return bool(bag & LIMITS) and bool(
        bag & {"cost", "costs", "usd", "tokens", "seconds", "secs", "time", "s", "ms", "duration"}
    )


def _is_score(words: Words, bag: frozenset[str]) -> bool:
    return words[-1] in {"score", "rating"} and not bag & COUNTS


def _is_reference(words: Words, bag: frozenset[str]) -> bool:
    return bool(bag & _NOT_OURS) and not bag & JUDGED and not bag & {"correct", "judged"}


def _is_prompt(words: Words, bag: frozenset[str]) -> bool:
    if len(words) == 2 and words[0] in _ASKING and words[1] in _PASSED_ON:
        return True
    is_attackers = words[-1] in {"message", "msg"} and bool(bag & _ATTACKING)  # any other message may be of anybody
    is_asking = (words[-1] in _ASKING or is_attackers) and {*words[:-1]} <= _ASKED_BY | _ASKING
    return words[-1] == "prompt" or is_asking


def _is_time(words: Words, bag: frozenset[str]) -> bool:
    if words[-1] in {"latency", "duration", "seconds", "secs"}:
        return True
    if words[-1] in {"s", "ms", "sec"}:
        return bool(bag & {"latency", "elapsed", "time", "duration", "wall", "runtime"})
    return words[-1] == "time" and bag <= {"wall", "total", "run", "response", "execution", "elapsed", "time"}


def _is_turn(words: Words, bag: frozenset[str]) -> bool:
    return words[0] in {"turn", "round"} and {word.rstrip("0123456789") for word in words[1:]} <= _NUMBERING


def _is_answer(words: Words, bag: frozenset[str]) -> bool:
    ends = {words[-1], re.sub(r"(\d|[ab])$", "", words[-1])}
    if len(words) == 2 and words[0] in _ANSWERS and words[1] in _PASSED_ON:
        return True
    if ends & _ANSWERS and {*words[:-1]} <= _ANSWERED_BY:
        return True
    is_known = bag <= _ANSWERS | _ANSWERED_BY | {"1", "2", "a", "b"}
    return len(words) > 1 and words[-1] != "model" and is_known and bool(bag & (_ANSWERS | {"patch"}))


def _is_cost(words: Words, bag: frozenset[str]) -> bool:
    return bool(bag & {"cost", "costs"}) and bag <= {"cost", "costs", "usd", "total", "api", "run"}


# The first that is so counts.
_RULES: tuple[tuple[str, Callable[[Words, frozenset[str]], bool]], ...] = (
    ("other", _is_of_another),
    ("other", _is_limit),
    ("score", _is_score),
    ("reference", _is_reference),
    ("turn", _is_turn),
    ("tokens", lambda _, bag: "tokens" in bag),
    ("moment", lambda words, bag: bool(bag & {"timestamp", "datetime"}) or words[-1] == "at"),
    ("prompt", _is_prompt),
    ("seconds", _is_time),
    ("response", _is_answer),
    ("cost", _is_cost),
    ("id", lambda words, _: words[-1] in {"id", "uuid"}),
    ("other", lambda words, _: words[-1] == "model"),
)


@lru_cache(maxsize=4096)
def verdict_claim(name: str) -> Claim | None:
    """Return the claim of a name on the verdicts in its column; None if it does not name a verdict.

    Each word must be known: `build_ok`, `attacker_refusal` and `api_success` are of something else, and are in doubt.
    """
    words = words_of(_LEGEND.sub("", name.rpartition(".")[2]))
    bag = frozenset(words)
    if says_refusal(name):
        return Claim("attack", False, "Its name is said of many things")
    if not words or bag & ((COUNTS - {"attempts"}) | _NO_VERDICT) or ("type" in bag and "result" not in bag):
        return None
    if "test" in bag and bag & {"result", "results"} and bag <= {"test", "unit", "result", "results", "the"}:
        return Claim("task", True)
    cores = [_core(word) for word in words]
    sides = [side for core, _ in cores if (side := _side(core)) is not None]
    whose, when_true = next(
        (side for side in reversed(sides) if side[0] != "either"), sides[0] if sides else ("named", None)
    )
    doubt = _doubt([core for core, _ in cores], bag)
    if when_true is None and "jailbreak" in bag:
        whose, when_true = "attack", True
    if when_true is None:
        return Claim("named", None, doubt) if bag & JUDGED else None
    is_turned = bool(bag & _NOT) ^ (sum(is_negated for _, is_negated in cores) % 2 == 1)
    if bag & _DEFENDER and whose == "either":
        whose, is_turned = "attack", not is_turned
    elif bag & _DEFENDER:
        doubt = doubt or "It is of the defense alone"  # where it let an attack through, the target may have refused
    if whose == "either":
        whose = (
            "attack" if bag & {"attack", "jailbreak", "injection"} else "task" if bag & {"task", "test"} else "either"
        )
    return Claim(whose, when_true != is_turned, doubt)


def _doubt(cores: list[str], bag: frozenset[str]) -> str | None:
    """Return the doubt about a name of a verdict: a word of something else, or one that is said of many things."""
    neutral = _NEUTRAL | JUDGED | _DEFENDER | _NOT
    if any(_side(core) is None and core not in neutral and len(core) > 1 and not core.isdigit() for core in cores):
        return "Its name may be of something else"
    weak = _WEAK - ({"ok", "won"} if bag & {"attack", "jailbreak"} else set())
    return "Its name is said of many things" if weak & {*cores} else None


def is_of_else(name: str) -> bool:
    """Return whether a name has a word of something else than a verdict: a count, a reason, what is expected."""
    return bool({*words_of(name)} & (COUNTS | _NO_VERDICT))


def says_refusal(name: str) -> bool:
    """Return whether a name says that the target refused, and nothing else: `refused`, `is_refusal`, `model_refused`."""
    words = {*words_of(name)}
    return bool(words & _REFUSALS) and words <= _REFUSALS | _OF_TARGETS


def is_strong(name: str) -> bool:
    """Return whether a name can only be of verdicts of attacks or of tasks, so that the same verdict on all rows counts as well."""
    claim = verdict_claim(name)
    if claim is None or claim.doubt is not None or claim.when_true is None or claim.whose == "either":
        return False
    return not may_be_of_prompts(name)


def may_be_of_prompts(name: str) -> bool:
    """Return whether a name may as well be of a label of the prompt: `harmful`, but not `response_harmful`."""
    words = {*words_of(name)}
    return bool(words & OF_PROMPTS) and not words & (OF_ANSWERS | EITHER_TRUE | EITHER_FALSE)


def judges(name: str) -> bool:
    """Return whether a column of this name judges what came of an attack, or of anything: no label, no word of a task."""
    claim, words = verdict_claim(name), {*words_of(name)}
    if claim is None or claim.doubt is not None or words & {"status", "label", "grade", "rating"}:
        return False
    return claim.whose != "task" and not may_be_of_prompts(name)


def judges_attacks(name: str) -> bool:
    """Return whether a column of this name can only judge attacks, whatever its words for yes and no are."""
    claim = verdict_claim(name)
    return claim is not None and claim.whose == "attack" and not is_negative(name) and is_strong(name)


def rank_of(name: str) -> int:
    """Return the rank of a name of a fact among the names of its role: 0 is the likeliest."""
    return next((ranks[joined(name)] for ranks in RANKS.values() if joined(name) in ranks), 0)


def is_negative(name: str) -> bool:
    """Return whether a name asks if the target held, rather than if the attack succeeded: `blocked`, `defense_success`."""
    claim = verdict_claim(name)
    return claim is not None and claim.when_true is False


def _core(word: str) -> tuple[str, bool]:
    """Return a word without `un`, where the rest is known, and whether it was negated."""
    positive = word.removeprefix("un")
    is_negated = positive != word and _side(word) is None and _side(positive) is not None
    return (positive, True) if is_negated else (word, False)


def _side(word: str) -> tuple[str, bool] | None:
    """Return whose verdict a word is, and what true means."""
    for whose, good, bad in (
        ("attack", ATTACK_TRUE, ATTACK_FALSE),
        ("task", TASK_TRUE, TASK_FALSE),
        ("either", EITHER_TRUE, EITHER_FALSE),
    ):
        if word in good or word in bad:
            return whose, word in good
    return None
