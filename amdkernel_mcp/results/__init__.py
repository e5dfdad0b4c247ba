"""What the tools and `--json` return."""
