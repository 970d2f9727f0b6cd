"""Roles of the columns of people's own: names and values of one vocabulary, verdicts and facts, and open questions."""
