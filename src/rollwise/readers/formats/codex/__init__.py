"""Codex: `sessions.py` reads session files and the output of `codex exec --json`; `lines.py` follows the lines of one."""
