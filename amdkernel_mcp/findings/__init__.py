"""The emulator's records as findings: a sentence with file and line."""
