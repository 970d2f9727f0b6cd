"""Audits: a stated figure beside what the log says, and the ways of counting that lie between them.

`counting.py` makes a small table of the rollouts of a figure, `ways.py` has the ways of counting (each is a function of that
table), `stated.py` says what a producer or a claim states, `search.py` finds the fewest ways that lead from ours to theirs, and
`audit.py` is the verb.
"""
