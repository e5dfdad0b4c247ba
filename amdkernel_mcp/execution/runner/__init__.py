"""What runs in a sandbox, seen from the host: the job, its answer, whole programs."""
