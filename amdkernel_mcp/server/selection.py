"""Offers a part of the tools: those that are named, or those that only read."""

from collections.abc import Sequence

import mcp_types
from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool, ToolResult

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import SettingsError


class SelectedTools(Middleware):
    """Lists and calls no other tools than the settings `tools` and `read_only` leave."""

    def __init__(self, settings: Settings, known: Sequence[str]) -> None:
        """Raises SettingsError for a name that no tool has."""
        if unknown := [name for name in settings.tools if name not in known]:
            raise SettingsError(f"tools: there is no tool {unknown[0]!r}", hint=f"there are {', '.join(known)}")
        self._names = settings.tools
        self._read_only = settings.read_only

    async def on_list_tools(
        self,
        context: MiddlewareContext[mcp_types.ListToolsRequest],
        call_next: CallNext[mcp_types.ListToolsRequest, Sequence[Tool]],
    ) -> Sequence[Tool]:
        """The tools that are offered."""
        return [tool for tool in await call_next(context) if self._offers(tool)]

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Raises ToolError for a tool that is not offered."""
        assert context.fastmcp_context is not None
        tool = await context.fastmcp_context.fastmcp.get_tool(context.message.name)
        if tool and not self._offers(tool):
            raise ToolError(f"this server does not offer {tool.name}: its settings `tools` or `read_only` leave it out")
        return await call_next(context)

    def _offers(self, tool: Tool) -> bool:
        reads = tool.annotations is not None and tool.annotations.read_only_hint is True
        return (not self._names or tool.name in self._names) and (reads or not self._read_only)
