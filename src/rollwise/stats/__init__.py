"""Functions of arrays that return an estimate with an interval; NumPy and SciPy only, no frames, no seeds of their own.

Everywhere here: `values` is float (n,), one number per rollout, no NaN; `clusters` is a tuple of integer code arrays,
each (n,) with codes 0..G-1: `()` for independent rollouts, `(goal,)` for one way, `(goal, task)` for two crossed ways;
`weights` is float (n,) and positive, or None for one each; `level` is the nominal coverage in (0, 1).
"""
