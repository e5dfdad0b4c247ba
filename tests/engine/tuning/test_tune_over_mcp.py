"""A sweep as a client sees it: progress with the best row so far, a job that can be cancelled, an answer of 8 KB."""

from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.server.app import build_server
from amdkernel_mcp.server.delivery.truncate import LIMIT_BYTES

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("sandbox"), pytest.mark.anyio, pytest.mark.thorough]

VALUES = 10
KERNEL = f"""// amdkernel: tune BLOCK=[{",".join(str(64 * k) for k in range(1, 9))}] UNUSED_ON_PURPOSE=[1,2]
// amdkernel: launch add grid=[ceil_div(n, BLOCK)] block=[BLOCK]
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}}
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_client_sees_progress_and_a_whole_answer_in_8_kb(tmp_path: Path) -> None:
    heard: list[str] = []

    async def hear(_progress: float, _total: float | None, message: str | None) -> None:
        heard.append(message or "")

    settings = load_settings({"data_dir": tmp_path / "data", "cache_dir": tmp_path / "cache"})
    given: dict[str, Any] = {"problem": "vector_add", "source": KERNEL, "rows": VALUES}
    async with Client(build_server(settings)) as client:
        started = (await client.call_tool("tune_kernel", given | {"wait_s": 0})).structured_content
        assert started["status"] in ("queued", "running")
        job = {"job_id": started["job_id"], "cancel": True, "wait_s": 60}
        assert (await client.call_tool("get_job", job)).structured_content["status"] == "cancelled"
        answer = await client.call_tool("tune_kernel", given | {"wait_s": 300}, progress_handler=hear)
    found = answer.structured_content
    assert found["status"] == "done"
    assert (found["strategy"], found["combinations"], found["seed"]) == ("search", 16, 0)
    assert found["rows"][0]["rank"] == 1
    assert len(answer.content[0].text.encode()) <= LIMIT_BYTES
    assert "UNUSED_ON_PURPOSE is used nowhere in the kernel" in found["notes"]
    assert any("best so far BLOCK=" in message for message in heard), heard
