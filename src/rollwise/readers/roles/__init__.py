"""What the columns of people's own files are: names and values of one vocabulary, verdicts and facts, and what must be asked."""
