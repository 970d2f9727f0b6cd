"""The package's own tables: turns in rows, rollouts with nested turns, and the checks that both pass."""
