"""A caller over HTTP creates a problem by its texts and checks a kernel against it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fastmcp import Client
from fastmcp.exceptions import ToolError

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.execution.setup.build import setup_torch
from amdkernel_mcp.server.app import build_server

pytestmark = [pytest.mark.sandbox, pytest.mark.anyio]
EXAMPLE = folder("examples") / "vector_add"
TOML = (EXAMPLE / "problem.toml").read_text()
REFERENCE = (EXAMPLE / "reference.py").read_text()

MODULE = """import torch

ROWS, COLUMNS = 8192, 4096


class Model(torch.nn.Module):
    def forward(self, x):
        return (x * 2).sum(dim=1)


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
"""


@pytest.fixture
async def client(sandbox: Sandbox, tmp_path: Path) -> AsyncIterator[Client]:
    assert sandbox
    settings = load_settings({"data_dir": tmp_path / "data", "cache_dir": tmp_path / "cache"})
    async with Client(build_server(settings)) as opened:
        yield opened


async def test_a_kernel_is_checked_against_a_problem_that_its_caller_created_and_shares(client: Client) -> None:
    created = await client.call_tool(
        "create_problem", {"name": "my_add", "problem_toml": TOML, "reference_py": REFERENCE, "shared": True}
    )
    assert created.structured_content["signature"] == "const float* x, const float* y, float* z, int n"
    listed = (await client.call_tool("list_problems", {})).structured_content["problems"]
    mine = [(each["name"], each["shared_by"]) for each in listed if not each["bundled"]]
    assert mine == [("my_add", "local")]
    source = sorted((EXAMPLE / "kernels").glob("better.hip"))[0].read_text()
    checked = await client.call_tool("check_kernel", {"problem": "my_add", "source": source})
    assert checked.structured_content["verdict"] == "correct"
    assert checked.structured_content["hashes"]["problem"] == created.structured_content["hash"]


async def test_what_a_server_keeps_is_for_its_user_alone(client: Client, tmp_path: Path) -> None:
    await client.call_tool("create_problem", {"name": "mine", "problem_toml": TOML, "reference_py": REFERENCE})
    source = (EXAMPLE / "kernels" / "naive.hip").read_text()
    await client.call_tool("check_kernel", {"problem": "mine", "source": source})
    data = tmp_path / "data"
    assert data.stat().st_mode & 0o777 == 0o700
    assert {"history.sqlite3", "problems", "artefacts"} <= {each.name for each in data.iterdir()}
    open_to_others = {str(each.relative_to(data)): oct(each.stat().st_mode) for each in data.rglob("*")}
    assert not {path: mode for path, mode in open_to_others.items() if mode[-2:] != "00"}


async def test_a_problem_that_proves_nothing_is_refused_and_not_stored(client: Client) -> None:
    constant = "import numpy as np\n\n\ndef reference(x, y, *, n):\n    return {'z': np.ones(n)}\n"
    with pytest.raises(ToolError, match=r"reference\.py"):
        await client.call_tool("create_problem", {"name": "ones", "problem_toml": TOML, "reference_py": constant})
    with pytest.raises(ToolError, match="unknown problem"):
        await client.call_tool("check_kernel", {"problem": "ones", "source": "//"})


@pytest.mark.parametrize(
    "given", [{}, {"problem_toml": TOML}, {"module": "", "problem_toml": TOML, "reference_py": REFERENCE}]
)
async def test_a_problem_is_two_texts_or_a_module(client: Client, given: dict[str, str]) -> None:
    with pytest.raises(ToolError, match="or `module` alone"):
        await client.call_tool("create_problem", {"name": "mine", **given})


@pytest.mark.thorough
async def test_a_kernel_is_checked_against_the_problem_of_a_module(client: Client, settings: Settings) -> None:
    setup_torch(settings, print)
    created = await client.call_tool("create_problem", {"name": "scaled", "module": MODULE})
    kernel = created.structured_content["kernel"]
    checked = await client.call_tool("check_kernel", {"problem": "scaled", "source": kernel, "wait_s": 300})
    assert checked.structured_content["verdict"] == "correct", checked.structured_content["reason"]
    with pytest.raises(ToolError, match="form: the file defines no get_inputs"):
        await client.call_tool("create_problem", {"name": "other", "module": "x = 1"})
    with pytest.raises(ToolError, match="row_softmax is a bundled problem"):
        await client.call_tool("create_problem", {"name": "row_softmax", "module": MODULE})
