"""The loop as an agent takes it: a real client over stdio, the real compiler, the real emulator."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from amdkernel_mcp.config import Settings
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.results.kernels import CheckResult

pytestmark = [pytest.mark.anyio, pytest.mark.sandbox]
COMMAND = str(Path(sys.executable).with_name("amdkernel-mcp"))
SCALE = """\
// amdkernel: launch vector_add grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>
extern "C" __global__ void vector_add(const float* x, const float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i]SEMICOLON
}
"""


async def test_a_client_gets_the_line_then_the_verdict_then_the_counters(
    sandbox: Sandbox, settings: Settings, tmp_path: Path
) -> None:
    assert sandbox
    folders = {"AMDKERNEL_DATA_DIR": str(settings.data_dir), "AMDKERNEL_CACHE_DIR": str(settings.cache_dir)}
    transport = StdioTransport(COMMAND, [], env=dict(os.environ) | folders, keep_alive=False)
    async with Client(transport) as client:

        async def call(tool: str, **arguments: Any) -> dict[str, Any]:
            answer = (await client.call_tool(tool, arguments)).structured_content
            while answer["status"] == "running":
                job = (await client.call_tool("get_job", {"job_id": answer["job_id"]})).structured_content
                answer = job[tool.removesuffix("_kernel")] or job
            return dict(answer)

        broken = await call("compile_kernel", source=SCALE.replace("SEMICOLON", ""))
        assert not broken["ok"]
        assert broken["diagnostics"][0]["line"] == 5, broken["diagnostics"]

        file = tmp_path / "add.hip"
        file.write_text(SCALE.replace("SEMICOLON", ";"))
        checked = await call("check_kernel", problem="vector_add", path=str(file), wait_s=1)
        assert checked["verdict"] == "correct", checked["reason"]
        again = {"problem": "vector_add", "path": str(file), "wait_s": 300}
        answer = await client.call_tool("check_kernel", again)
        text = answer.content[0].text
        assert len(text.encode()) <= 600, text
        assert CheckResult.model_validate_json(text).reason == checked["reason"]
        assert answer.structured_content["cases"] == checked["cases"]

        timed = await call("benchmark_kernel", problem="vector_add", path=str(file))
        assert timed["time_us"]["evidence"] == "modelled", timed

        profiled = await call("profile_kernel", problem="vector_add", source=file.read_text())
        assert profiled["kernels"][0]["metrics"], profiled["reason"]
        assert all({"finding", "because", "try", "docs"} <= set(found) for found in profiled["diagnosis"])
