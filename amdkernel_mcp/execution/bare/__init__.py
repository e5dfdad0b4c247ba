"""The fallback without containers: a subprocess with resource limits."""
