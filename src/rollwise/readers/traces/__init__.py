"""Traces and requests: spans, events and API calls, joined into conversations."""
