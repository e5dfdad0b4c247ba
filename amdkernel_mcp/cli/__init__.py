"""`amdkernel`: the engine for a person and for scripts. Exit codes: 0 good, 1 bad, 2 wrong input, 3 infrastructure."""
