"""As the seed page has it; only imports differ."""

# fmt: off
# ruff: noqa: F401
# mypy: ignore-errors

from .evaluator_register import register_similarity_evaluator  # pylint: disable=unused-import
