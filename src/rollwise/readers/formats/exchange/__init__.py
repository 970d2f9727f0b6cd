"""Formats in which evaluations, transcripts and traces pass between tools and people; one file a format."""
