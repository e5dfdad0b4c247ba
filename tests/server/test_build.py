"""Building the server: a tool file that is broken is an error, not a tool less."""

import subprocess
import sys
from pathlib import Path

import pytest
from fastmcp import Client

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import InfrastructureError
from amdkernel_mcp.server.app import build_server


@pytest.mark.parametrize("text", ["import nothing_of_this_name\n", "def broken(:\n"])
def test_a_broken_tool_file_ends_the_start(settings: Settings, tmp_path: Path, text: str) -> None:
    (tmp_path / "broken_tool.py").write_text(text)
    with pytest.raises(InfrastructureError, match="a tool cannot be loaded") as raised:
        build_server(settings, tools=tmp_path)
    assert raised.value.file == str(tmp_path / "broken_tool.py")


@pytest.mark.anyio
async def test_two_servers_live_in_one_process(settings: Settings) -> None:
    async with Client(build_server(settings)) as one, Client(build_server(settings, local=True)) as other:
        assert [tool.name for tool in await one.list_tools()] == [tool.name for tool in await other.list_tools()]


def test_the_server_imports_nothing_that_only_a_tool_needs() -> None:
    code = "import sys; import amdkernel_mcp.server.app; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "docker", "elftools", "msgpack", "ml_dtypes", "typer"} & set(loaded)


def test_bad_settings_end_the_start_with_one_line() -> None:
    command = [str(Path(sys.executable).with_name("amdkernel-mcp")), "--no-relay"]
    environment = {"AMDKERNEL_MAX_WORKERS": "many", "HOME": "/nonexistent"}
    ended = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1), ended.stderr
    assert "AMDKERNEL_MAX_WORKERS" in ended.stderr


def test_a_server_of_one_user_has_no_address_of_a_team(settings: Settings) -> None:
    def addresses(*, local: bool) -> set[str]:
        return {getattr(route, "path", "") for route in build_server(settings, local=local)._additional_http_routes}

    assert {"/reward", "/worker", "/metrics"} <= addresses(local=False)
    assert addresses(local=True) == set()
