"""The tool: headers that a client sends, a problem whose outputs decide, and names that are refused."""

from collections.abc import AsyncIterator

import pytest
from fastmcp import Client
from fastmcp.exceptions import ToolError

from amdkernel_mcp.config import Settings
from amdkernel_mcp.server.app import build_server

pytestmark = pytest.mark.anyio

HEADER = '#pragma once\n#define EACH(n) (blockIdx.x * blockDim.x + threadIdx.x < (n))\n#include "more/sum.cuh"\n'
MORE = "__device__ inline float sum_of(float a, float b) { return a + b; }\n"
SOURCE = """#include "parts.cuh"
__global__ void add(const float* a, const float* b, float* c, int count)
{
    if (EACH(count)) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        c[i] = sum_of(a[i], b[i]);
    }
}
void f(const float* a, const float* b, float* c, int n) { add<<<(n + 255) / 256, 256>>>(a, b, c, n); }
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[Client]:
    async with Client(build_server(settings, local=True)) as opened:
        yield opened


@pytest.mark.sandbox
async def test_headers_of_a_client_are_a_part_of_the_candidate_that_a_problem_judges(client: Client) -> None:
    sent = {"parts.cuh": HEADER, "more/sum.cuh": MORE}
    asked = {"source": SOURCE, "headers": sent, "candidate": "add", "problem": "vector_add", "wait_s": 50}
    answer = (await client.call_tool("port_cuda", asked)).structured_content
    assert answer["verdict"] == "correct", answer["reason"]
    assert "args=[x, y, z, n]" in answer["launch"]


@pytest.mark.sandbox
@pytest.mark.thorough
async def test_without_its_headers_the_source_does_not_compile(client: Client) -> None:
    compiled = (await client.call_tool("port_cuda", {"source": SOURCE, "wait_s": 50})).structured_content
    assert compiled["verdict"] == "does_not_compile"
    assert "parts.cuh" in compiled["reason"]


async def test_a_header_outside_of_the_program_is_refused(client: Client) -> None:
    with pytest.raises(ToolError, match="cannot be a source"):
        await client.call_tool("port_cuda", {"source": SOURCE, "headers": {"../parts.cuh": HEADER}})
