"""Files without rollouts: verdicts, labels, prompts and published figures, and how they join TURNS."""
