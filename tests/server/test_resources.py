"""Resources as a real client meets them: listed, read and refused, over stdio and over HTTP."""

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.shared.exceptions import MCPError

from amdkernel_mcp.search.index.build import build_index
from tests.server.http_server import ANN, http_server

pytestmark = pytest.mark.anyio
COMMAND = str(Path(sys.executable).with_name("amdkernel-mcp"))
TEMPLATES = [
    "amdkernel://arch/{gfx}",
    "amdkernel://artefact/{sha256}",
    "amdkernel://attempt/{attempt}",
    "amdkernel://docs/{source}/{path*}",
    "amdkernel://guide/{name}",
    "amdkernel://problem/{name}",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A home whose index holds one page."""
    (tmp_path / "guide" / "how-to").mkdir(parents=True)
    (tmp_path / "guide" / "how-to" / "lds.md").write_text("# LDS\n\nThirty-two banks.\n")
    (tmp_path / "data").mkdir()
    build_index([tmp_path / "guide"], tmp_path / "data" / "docs.sqlite3")
    return tmp_path


@pytest.fixture(params=["stdio", "stdio without relay", "http"])
async def client(request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Client]:
    if request.param == "http":
        with http_server(folder, tokens=f"{ANN} ann\n") as server:
            transport = StreamableHttpTransport(server.url, headers={"Authorization": f"Bearer {ANN}"})
            async with Client(transport) as opened:
                yield opened
        return
    environment = dict(os.environ) | {"AMDKERNEL_DATA_DIR": str(folder / "data")}
    arguments = ["--no-relay"] if "without" in request.param else []
    async with Client(StdioTransport(COMMAND, arguments, env=environment, keep_alive=False)) as opened:
        yield opened


async def test_pages_and_architectures_are_resources(client: Client) -> None:
    listed = await client.list_resource_templates()
    assert sorted(template.uri_template for template in listed) == TEMPLATES
    assert all(template.description and template.mime_type for template in listed)
    (page,) = await client.read_resource("amdkernel://docs/guide/how-to/lds.md")
    assert "Thirty-two banks." in page.text
    assert page.text.startswith("Quoted from the documentation")
    for name in ("gfx942", "MI300X"):
        (card,) = await client.read_resource(f"amdkernel://arch/{name}")
        assert "304 CUs" in card.text
    for uri, text in (("amdkernel://problem/rmsnorm", "sqrt(mean"), ("amdkernel://guide/kernel", "launch")):
        (page,) = await client.read_resource(uri)
        assert text in page.text
    for uri, hint in (
        ("amdkernel://problem/nosuch", "row_softmax"),
        ("amdkernel://guide/nosuch", "guide:kernel"),
        ("amdkernel://arch/sm_90", "gfx942"),
        ("amdkernel://docs/guide/how-to/lsd.md", "guide/how-to/lds.md"),
    ):
        with pytest.raises(MCPError, match=hint):
            await client.read_resource(uri)
    with pytest.raises(MCPError):
        await client.read_resource("amdkernel://docs/guide/../../../etc/passwd")
