"""The evaluators in the box, each by its `_type`; a module is imported when one of its evaluators is asked for."""
