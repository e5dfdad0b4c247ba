"""Exact look-ups: one card for one name - an API, an instruction, a counter, an error code or an architecture."""
