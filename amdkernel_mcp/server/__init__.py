"""The MCP server: app, transports, session, errors, tokens, truncation."""
