"""`amdkernel-mcp`, the process that editors start, and its relay."""
