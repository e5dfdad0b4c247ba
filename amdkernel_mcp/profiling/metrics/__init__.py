"""Metrics: counters, and formulas over them."""
