"""What the engine answers, one model per verb. The keys are a contract: never renamed, never dropped.

The same JSON goes to `--json`, to an MCP client's text and to its structured content.
"""
