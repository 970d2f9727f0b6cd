"""Many calls of a user's function: one pool of workers, one store of their results, one progress bar.

Judging, rolling out and evaluating call the user's functions and models here, so that a plain function, a coroutine function, an
exit from within and a call that never returns mean the same everywhere, and that nothing is paid for twice. `workers.py` calls a
function for many items, `store.py` keeps every answer at once, `identity.py` says whether two functions are the same,
`progress.py` draws the bar, `calls.py` makes one call, and `machine.py` has what a store asks of the operating system. Open
`store.py` first.
"""
