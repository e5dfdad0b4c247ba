"""Judges a folder of candidates against their problems."""
