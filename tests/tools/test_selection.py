"""A server that offers a part of its tools, selected by flags, by the environment or by the settings file."""

import os
import sys
from pathlib import Path

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.errors import SettingsError
from amdkernel_mcp.server.app import build_server
from tests.one_in import one_in

pytestmark = pytest.mark.anyio
COMMAND = str(Path(sys.executable).with_name("amdkernel-mcp"))
READING = ["list_attempts", "list_jobs", "list_problems", "list_targets", "read_doc", "search_docs"]


async def listed(arguments: list[str], environment: dict[str, str], home: Path) -> list[str]:
    variables = dict(os.environ) | {"AMDKERNEL_DATA_DIR": str(home), "AMDKERNEL_CONFIG": str(home / "config.toml")}
    transport = StdioTransport(COMMAND, arguments, env=variables | environment, keep_alive=False)
    async with Client(transport) as client:
        return [tool.name for tool in await client.list_tools()]


@pytest.mark.parametrize(
    ("arguments", "environment", "file", "names"),
    one_in(
        4,
        [
            (["--read-only"], {}, "", READING),
            ([], {"AMDKERNEL_READ_ONLY": "1"}, "", READING),
            ([], {}, "read_only = true\n", READING),
            (["--tools", "read_doc,check_kernel"], {}, "", ["check_kernel", "read_doc"]),
            (["--tools=read_doc", "--no-relay"], {}, "", ["read_doc"]),
            ([], {}, 'tools = ["read_doc"]\n', ["read_doc"]),
            (["--read-only", "--tools=read_doc,check_kernel"], {}, "", ["read_doc"]),
        ],
        others=pytest.mark.thorough,
    ),
)
async def test_flags_environment_and_file_select_tools(
    arguments: list[str], environment: dict[str, str], file: str, names: list[str], tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text(file)
    assert await listed(arguments, environment, tmp_path) == names


async def test_a_tool_that_is_not_offered_cannot_be_called(tmp_path: Path) -> None:
    server = build_server(load_settings({"read_only": True, "data_dir": tmp_path}), local=True)
    async with Client(server) as client:
        assert [tool.name for tool in await client.list_tools()] == READING
        refused = await client.call_tool("compile_kernel", {"source": "x"}, raise_on_error=False)
        assert refused.is_error
        assert "does not offer compile_kernel" in refused.content[0].text
        assert not (await client.call_tool("list_problems", {})).is_error


def test_a_name_that_no_tool_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no tool 'read_docs'") as caught:
        build_server(load_settings({"tools": ["read_docs"], "data_dir": tmp_path}))
    assert "read_doc" in str(caught.value.hint)
