"""The stdio transport: what editors start."""
