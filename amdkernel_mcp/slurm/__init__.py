"""Runs on the nodes of a Slurm cluster."""
