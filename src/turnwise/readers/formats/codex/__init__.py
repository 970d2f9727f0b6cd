"""Codex: sessions as it keeps them, and what `codex exec --json` prints."""
