"""The MCP tools: one file each, named as the tool. They know `amdkernel_mcp`; it never knows them."""
