"""Where the rollouts are in a file that no format knows: its records, their texts, turns and ids, as a mapping."""
