"""From counters to metrics and a diagnosis."""
