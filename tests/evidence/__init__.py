"""Evidence for the page `docs/pages/evidence.md`: certified values, second implementations, coverage and width, real data."""
