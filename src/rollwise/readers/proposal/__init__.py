"""Places of the rollouts in a file that no format knows: its records, their texts, turns and ids, as a mapping."""
