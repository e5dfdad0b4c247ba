"""With each error of a tool what the command line exits with, for `amdkernel ... --url`."""

from __future__ import annotations

import mcp_types
from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from pydantic import ValidationError

from amdkernel_mcp.errors import AmdkernelError, InfrastructureError, InputError
from amdkernel_mcp.results.jobs import EXIT_CODE_KEY


class ExitCodes(Middleware):
    """The outermost middleware: the others see the error."""

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """The answer, or the error with its exit code in `_meta`."""
        try:
            return await call_next(context)
        except ToolError as error:
            code = exit_code_of(error)
            text = mcp_types.TextContent(type="text", text=str(error))
            return ToolResult(content=[text], is_error=True, meta={EXIT_CODE_KEY: code})


def exit_code_of(error: BaseException | None) -> int | None:
    """2 or 3: of the error of ours that is its cause; 3 where there is none. None for no error."""
    if error is None:
        return None
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, AmdkernelError):
            return cause.exit_code
        if isinstance(cause, ValidationError):
            return InputError.exit_code
        cause = cause.__cause__ or cause.__context__
    return InfrastructureError.exit_code
