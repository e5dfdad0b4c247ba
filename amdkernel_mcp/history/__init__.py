"""What was tried: attempts, their records and artefacts. Nothing here runs a kernel."""
