"""Over HTTP neither an error nor an answer shows a path of the server, or a command as if it were for the caller."""

from pathlib import Path

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.search.index.index import NO_INDEX_HINT
from amdkernel_mcp.server.app import build_server
from amdkernel_mcp.server.delivery.deliver import Delivery
from amdkernel_mcp.server.delivery.errors import for_other_machines

pytestmark = pytest.mark.anyio


async def test_an_error_has_the_names_of_the_folders_instead_of_their_paths() -> None:
    server = FastMCP("test", middleware=[Delivery({"/srv": "(data_dir)", "/srv/cache": "(cache_dir)"})])

    @server.tool
    def search() -> str:
        raise DocumentationError("nothing at /srv/docs.sqlite3", file="/srv/cache/index", hint="look into /srv")

    async with Client(server) as client:
        with pytest.raises(ToolError) as raised:
            await client.call_tool("search", {})
    assert str(raised.value) == "(cache_dir)/index: nothing at (data_dir)/docs.sqlite3\nHint: look into (data_dir)"


@pytest.mark.parametrize(
    ("hint", "read"),
    [
        (NO_INDEX_HINT, f"on the server's machine: {NO_INDEX_HINT}"),
        ("`amdkernel slurm doctor` looks further", "on the server's machine: `amdkernel slurm doctor` looks further"),
        ("is `amdkernel worker` running on gpu1?", "is `amdkernel worker` running on gpu1?"),
        ("`amdkernel docs read guide:problem` shows one", "`amdkernel docs read guide:problem` shows one"),
        ("name another target", "name another target"),
    ],
)
def test_a_hint_says_that_its_command_is_for_the_servers_machine(hint: str, read: str) -> None:
    assert for_other_machines(f"it fails\nHint: {hint}", {"/srv": "(data_dir)"}) == f"it fails\nHint: {read}"
    assert for_other_machines(f"it fails\nHint: {hint}", {}) == f"it fails\nHint: {hint}", "the caller is there"


@pytest.mark.thorough
@pytest.mark.sandbox
async def test_an_answer_that_cannot_be_recorded_says_so_without_the_path(tmp_path: Path) -> None:
    in_the_way = tmp_path / "data"
    in_the_way.write_text("a file where the folder should be")
    settings = load_settings({"data_dir": in_the_way, "cache_dir": tmp_path / "cache"})
    async with Client(build_server(settings)) as client:
        answer = await client.call_tool("compile_kernel", {"source": "__global__ void f() {}", "wait_s": 100})
    said = answer.structured_content["not_recorded"]
    assert "(data_dir)" in said
    assert str(tmp_path) not in answer.content[0].text
