"""What a tool call costs besides its work, over stdio and in memory: `make bench`.

The call asks for a job that does not exist, so it measures the way to a tool and back without work, client included.
"""

import asyncio
import statistics
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.server.app import build_server

CALLS = 60  # of each kind, fewer than the burst that the rate limit allows


async def main() -> None:
    """Print one line for each transport; calls alternate, so that drift hits both."""
    command = str(Path(sys.executable).with_name("amdkernel-mcp"))
    taken: dict[str, list[float]] = {"memory": [], "stdio": []}
    async with AsyncExitStack() as stack:
        clients = {
            "memory": await stack.enter_async_context(Client(build_server(load_settings(), local=True))),
            "stdio": await stack.enter_async_context(Client(StdioTransport(command, [], keep_alive=False))),
        }
        for client in clients.values():
            await call(client)  # the first one waits for imports
        for _ in range(CALLS):
            for name, client in clients.items():
                start = time.perf_counter()
                await call(client)
                taken[name].append(time.perf_counter() - start)
    anchor = statistics.median(taken["memory"])
    for name, seconds in taken.items():
        median, slow = statistics.median(seconds), statistics.quantiles(seconds, n=20)[-1]
        print(
            f"tool call, {name}: {median * 1e3:.1f} ms, p95 {slow * 1e3:.1f} ms, "
            f"{median / anchor:.2f} x in memory  {CALLS} calls"
        )


async def call(client: Client[Any]) -> None:
    """One call whose answer is an error of ours."""
    answer = await client.call_tool("get_job", {"job_id": "job-0"}, raise_on_error=False)
    assert answer.is_error


if __name__ == "__main__":
    asyncio.run(main())
