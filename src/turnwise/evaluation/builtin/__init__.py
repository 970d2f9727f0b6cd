"""The evaluators in the box, each by its `_type`; importing this registers them."""

from turnwise.evaluation.builtin import answers, catalog, judges, red_team, steps, tools

__all__ = ["answers", "catalog", "judges", "red_team", "steps", "tools"]
