"""Over HTTP an error shows no path of the server."""

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.server.errors import ReportErrors

pytestmark = pytest.mark.anyio


async def test_an_error_has_the_names_of_the_folders_instead_of_their_paths() -> None:
    server = FastMCP("test", middleware=[ReportErrors({"/srv": "(data_dir)", "/srv/cache": "(cache_dir)"})])

    @server.tool
    def search() -> str:
        raise DocumentationError("nothing at /srv/docs.sqlite3", file="/srv/cache/index", hint="look into /srv")

    async with Client(server) as client:
        with pytest.raises(ToolError) as raised:
            await client.call_tool("search", {})
    assert str(raised.value) == "(cache_dir)/index: nothing at (data_dir)/docs.sqlite3\nHint: look into (data_dir)"
