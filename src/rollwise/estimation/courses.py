"""End of a group's attempts: after a fixed number, or at the first success; and what speaks against it."""

from typing import Literal

from rollwise.choices import Stopped
from rollwise.errors import counted
from rollwise.estimation.stopped_loops import IN_ORDER
from rollwise.estimation.trials import Attempts
from rollwise.stats.stopping import Stopping

Course = Literal["fixed", "stopped", "either"]
_UNDETERMINED = "it is not known whether attempts stopped at a success"


def course_of(repeats: Attempts, evidence: Stopping | None, stopped: Stopped) -> Course:
    """Return the assumption about the number of attempts: fixed, stopped at a success, or valid for either.

    If the data cannot decide and goals with a success have fewer attempts than others, a fixed number would leave these goals
    out; Kaplan-Meier is valid either way.
    """
    if stopped is True or (stopped == "detect" and evidence is not None and evidence.design == "stopped"):
        return "stopped"
    undetermined = stopped == "detect" and evidence is not None and evidence.design == "undetermined"
    return "either" if undetermined and repeats.short_of_others else "fixed"


def doubt_about(evidence: Stopping | None, stopped: Stopped, course: Course, *, numbered: bool) -> str | None:
    """Return the caveat if the number of attempts is assumed to be fixed, or to be of either kind; None without one."""
    if course == "stopped":
        return None if numbered or stopped is True else IN_ORDER
    if evidence is None:
        return None if stopped is False else f"{_UNDETERMINED}: no column `attempt` orders them"
    if stopped is False and evidence.design == "stopped":
        last = (
            "the only success is the last attempt at its goal"
            if evidence.successes == 1
            else f"{'all' if evidence.last == evidence.successes else f'{evidence.last:,} of'} {evidence.successes:,} successes "
            "are the last attempt at their goal"
        )
        return f"assumed to be fixed on request, although {last} (chance {evidence.chance:.1g} if it were)"
    if stopped == "detect" and evidence.design == "undetermined":
        assumption = "assumed to be fixed" if course == "fixed" else "Kaplan-Meier, which is valid either way"
        few = f"with only {counted(evidence.successes, 'success')}"
        sign = few if evidence.last == evidence.successes else "although they end sooner after one"
        return f"{_UNDETERMINED}, {sign}; {assumption}"
    return None
