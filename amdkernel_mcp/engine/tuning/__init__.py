"""Tries the values of a kernel's `tune` line: which of them are correct, and which of these are fast."""
