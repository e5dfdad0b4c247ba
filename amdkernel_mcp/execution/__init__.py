"""Where code runs: targets, sandboxes, the runner's job format, jobs that outlast a call."""
