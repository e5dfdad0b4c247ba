"""From samples and counters to a time and a verdict."""
