"""What a model reads of the profile of a bundled example: two kilobytes, the most important first, nothing empty."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import Settings
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.profiling.remains import REMAINS

pytestmark = [pytest.mark.anyio, pytest.mark.sandbox, pytest.mark.thorough]
COMMAND = str(Path(sys.executable).with_name("amdkernel-mcp"))
KERNELS = sorted(file for name in ("naive", "better") for file in folder("examples").glob(f"*/kernels/{name}.hip"))
MOST_BYTES = 2048


def empty(value: Any) -> bool:
    """Whether a null is anywhere in it."""
    if isinstance(value, dict):
        return any(empty(each) for each in value.values())
    return any(map(empty, value)) if isinstance(value, list) else value is None


async def test_the_profile_of_every_example_fits_into_two_kilobytes(sandbox: Sandbox, settings: Settings) -> None:
    assert sandbox
    folders = {"AMDKERNEL_DATA_DIR": str(settings.data_dir), "AMDKERNEL_CACHE_DIR": str(settings.cache_dir)}
    transport = StdioTransport(COMMAND, [], env=dict(os.environ) | folders, keep_alive=False)
    async with Client(transport) as client:
        for file in KERNELS:
            problem = file.parent.parent.name
            call = {"problem": problem, "source": file.read_text(), "wait_s": 300}
            text = (await client.call_tool("profile_kernel", call)).content[0].text
            assert len(text.encode()) <= MOST_BYTES, f"{file}: {len(text.encode())} bytes"
            answer = json.loads(text)
            assert not empty(answer), text
            assert 1 <= len(answer["diagnosis"]) <= 3, text
            first = answer["diagnosis"][0]
            if first["finding"].startswith(REMAINS):  # what its time consists of, as no finding is first
                assert file.stem == "better", text
                continue
            assert first["because"], text
            opened = await client.call_tool("read_doc", {"ref": first["docs"][0]})
            says = opened.structured_content["text"]
            assert "*Try*" in says or "## The kernel" in says

        before = (folder("examples") / "transpose/kernels/naive.hip").read_text()
        after = (folder("examples") / "transpose/kernels/better.hip").read_text()
        call = {"problem": "transpose", "source": after, "compare_to": before, "focus": "memory", "wait_s": 300}
        answer = json.loads((await client.call_tool("profile_kernel", call)).content[0].text)
        assert answer["comparison"]["gone"][0]["finding"] == "Stores are not coalesced", text
        assert answer["focus"] == "memory"
