"""The MCP tools: one file each, named as the tool. They import `amdkernel_mcp`; it never imports them."""
