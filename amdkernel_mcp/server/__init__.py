"""The MCP server: app, callers, errors, tokens."""
