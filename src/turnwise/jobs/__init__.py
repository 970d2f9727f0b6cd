"""Asking many: functions of the user called in threads or on an event loop.

Judging, rolling out and evaluating call the user's functions and models here, so that a plain function, a coroutine function, an
exit from within and a call that never returns mean the same everywhere. Open `calls.py` first.
"""
