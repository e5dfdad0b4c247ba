"""The MCP server, not yet running: its instructions, its tools folder, its middleware."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from fastmcp import FastMCP
from fastmcp.server.dependencies import get_access_token
from fastmcp.server.middleware import MiddlewareContext
from fastmcp.server.middleware.rate_limiting import RateLimitingMiddleware
from fastmcp.server.providers import FileSystemProvider

from amdkernel_mcp import __version__, bundled
from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine import Engine
from amdkernel_mcp.errors import InfrastructureError
from amdkernel_mcp.execution.jobs import JobStore
from amdkernel_mcp.server.errors import OneLine, ReportErrors
from amdkernel_mcp.server.limits import REQUEST_BURST, REQUESTS_PER_S
from amdkernel_mcp.server.session import Session

if TYPE_CHECKING:
    from fastmcp.server.auth import AuthProvider

INSTRUCTIONS = """\
Tools for writing fast, correct HIP kernels for AMD GPUs. They compile, check, time and profile kernels in a sandbox, \
on an emulated MI300X when there is no GPU, so you can run the whole loop yourself.

The loop: search_docs / read_doc -> compile_kernel -> check_kernel -> benchmark_kernel -> profile_kernel -> change the \
kernel -> repeat.

* A kernel is one file of device code with its launch plan in a comment, for example
  // amdkernel: launch scale grid=[ceil_div(n, 256)] block=[256] lds=0
  Write no host code: the tools allocate buffers, launch, time and compare.
* A problem defines what the kernel must compute: a bundled one by name (row_softmax, rmsnorm, gemm_f32, ...), or a \
folder with problem.toml and reference.py.
* Call check_kernel first: a time counts only for a kernel that is `correct`.
* Each number states its evidence: measured, emulated (exact counts), modelled, static or not_measured.
* A call that takes longer than wait_s returns status `running` and a job_id: call get_job.
* Findings name the line of your file; each diagnosis has queries for search_docs.
"""


def build_server(
    settings: Settings,
    *,
    local: bool = False,
    auth: AuthProvider | None = None,
    engine: Callable[[Settings], Engine] = Engine,
    tools: Path | None = None,
) -> FastMCP:
    """The server, not yet running. `local`: the caller is the user of this machine and may name files.

    Raises InfrastructureError for a file in the tools folder that cannot be loaded.
    """

    @contextlib.asynccontextmanager
    async def lifespan(_: FastMCP) -> AsyncIterator[dict[str, Any]]:
        jobs = JobStore(settings.max_workers)
        worker = engine(settings)
        try:
            yield {"session": Session(worker, jobs, results_dir=settings.cache_dir / "answers", local=local)}
        finally:
            jobs.close()
            await anyio.to_thread.run_sync(worker.close)

    quiet_logs()
    return FastMCP(
        "amdkernel",
        instructions=INSTRUCTIONS,
        version=__version__,
        auth=auth,
        lifespan=lifespan,
        mask_error_details=True,
        providers=[_load_tools(tools or bundled.folder("tools"))],
        middleware=[
            ReportErrors(),
            RateLimitingMiddleware(REQUESTS_PER_S, burst_capacity=REQUEST_BURST, get_client_id=_user),
        ],
    )


def _load_tools(folder: Path) -> FileSystemProvider:
    provider = FileSystemProvider(folder)
    for file, error in provider.failed_files.items():
        raise InfrastructureError(f"a tool cannot be loaded: {error}", file=str(file))
    return provider


def _user(_: MiddlewareContext[Any]) -> str:
    token = get_access_token()
    return token.client_id if token else "local"


_ONE_LINE = OneLine()  # one object: a logger takes the same filter only once


def quiet_logs() -> None:
    """Make the log print one line for an unexpected error and none for an expected one."""
    names = (
        "fastmcp.server.server",
        "mcp.server.runner",
        "mcp.server.lowlevel.server",
        "mcp.server._streamable_http_modern",
    )
    for name in names:
        logging.getLogger(name).addFilter(_ONE_LINE)
