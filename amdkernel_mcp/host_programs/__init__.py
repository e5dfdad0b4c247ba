"""Checks HIP programs that have their own `main`: the lane of host code, whose results are unverified."""
