"""Hosts that reach out: their workers take runs from the server."""
