"""The index: how it is built, and what is in it."""
