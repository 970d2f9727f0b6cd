"""DeepTeam: assessments of two targets, with single and multi-turn attacks, a target that crashes, and a mock judge.

The figures come from the overview that DeepTeam itself makes of its test cases.
"""

import os
import typing
from pathlib import Path
from typing import Any

PACKAGES = ("deepteam", "sentry-sdk")  # the second is imported, and not required
VERSION = "deepteam"
LOST = ("the target of an assessment, which the file does not name", "the spans of a trace")


def produce(folder: Path) -> list[dict[str, Any]]:
    """Red team two mock targets, and return what DeepTeam says of them."""
    os.environ |= {"DEEPTEAM_TELEMETRY_OPT_OUT": "YES", "DEEPEVAL_TELEMETRY_OPT_OUT": "YES"}
    from deepeval.models import DeepEvalBaseLLM
    from deepteam import red_team
    from deepteam.attacks.multi_turn import LinearJailbreaking
    from deepteam.attacks.single_turn import ROT13, Base64
    from deepteam.test_case import RTTurn
    from deepteam.vulnerabilities import Bias, Toxicity

    class Model(DeepEvalBaseLLM):
        """A model that simulates attacks and judges answers: it fills in whatever schema it is asked for."""

        def __init__(self) -> None:
            self.calls = 0

        def load_model(self) -> Any:
            return self

        def get_model_name(self) -> str:
            return "mock"

        def generate(self, prompt: str, schema: Any = None) -> Any:
            self.calls += 1
            return f"attack {self.calls} ☃" if schema is None else _filled(schema, prompt, self.calls)

        async def a_generate(self, prompt: str, schema: Any = None) -> Any:
            return self.generate(prompt, schema)

    def target(name: str) -> Any:
        calls: list[str] = []

        def answer(text: str, turns: Any = None) -> Any:
            calls.append(text)
            if len(calls) % 5 == 0:
                message = "the server is gone ☃"
                raise RuntimeError(message)
            weak = name == "weak" and len(calls) % 2
            return RTTurn(role="assistant", content="Sure ☃" if weak else "I cannot help ☃")

        return answer

    assessments = []
    for name in ("weak", "strong"):
        assessment = red_team(
            model_callback=target(name),
            vulnerabilities=[Bias(types=["gender", "race"]), Toxicity(types=["insults"])],
            attacks=[Base64(), ROT13(), LinearJailbreaking(num_turns=2)],
            simulator_model=Model(),
            evaluation_model=Model(),
            attacks_per_vulnerability_type=3,
            async_mode=False,
            target_purpose="chat",
            run_all_attacks=True,
        )
        assessment.save(to=str(folder / name))
        assessments.append(assessment)
    return _figures(assessments)


def _filled(schema: Any, prompt: str, number: int) -> Any:
    """Return an instance of a pydantic model, whose verdict is a failure of the attack unless the target said yes."""
    values: dict[str, Any] = {}
    for name, field in schema.model_fields.items():
        kind = field.annotation
        item = (typing.get_args(kind) or (None,))[0]
        if typing.get_origin(kind) is list:
            inner = hasattr(item, "model_fields")
            values[name] = [_filled(item, prompt, number * 10 + place) if inner else "x" for place in range(3)]
        elif "score" in name:
            values[name] = 0 if "Sure" in prompt else 1
        elif kind is bool:
            values[name] = name == "is_valid" or (name == "jailbroken" and "Sure" in prompt)
        elif kind in {int, float}:
            values[name] = 5
        else:
            values[name] = f"attack {number} ☃"
    return schema(**values)


def _figures(assessments: list[Any]) -> list[dict[str, Any]]:
    """Return DeepTeam's overview of all assessments together; it leaves errors out, and its own count of them is 0."""
    cases = [case for assessment in assessments for case in assessment.test_cases]
    answers = [turn for case in cases for turn in case.turns or [] if turn.role == "assistant"]
    single = [case for case in cases if not case.turns]
    total: dict[str, Any] = {
        "where": {},
        "rollouts": len(cases),
        "errors": sum(case.error is not None for case in cases),
        "responses": len(answers) + sum(case.actual_output is not None for case in single),
        "sum of scores": sum(case.score or 0 for case in cases),
        "attacks": len({case.attack_method for case in cases}),
    }
    groups: dict[tuple[str, str], list[Any]] = {}
    for overview in (assessment.overview for assessment in assessments):
        for result in overview.attack_method_results:
            groups.setdefault(("attack", result.attack_method), []).append(result)
        for result in overview.vulnerability_type_results:
            groups.setdefault(("goal", f"{result.vulnerability}/{result.vulnerability_type.value}"), []).append(result)
    return [total] + [
        {
            "where": {column: value},
            "failures": sum(result.passing for result in results),
            "successes": sum(result.failing for result in results),
        }
        for (column, value), results in groups.items()
    ]
