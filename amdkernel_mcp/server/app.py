"""The MCP server: its tools folder, its errors, its two transports."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from fastmcp import FastMCP
from fastmcp.server.auth import AccessToken, TokenVerifier
from fastmcp.server.dependencies import get_access_token
from fastmcp.server.middleware import MiddlewareContext
from fastmcp.server.middleware.rate_limiting import RateLimitingMiddleware
from fastmcp.server.providers import FileSystemProvider

from amdkernel_mcp import __version__, bundled
from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.engine import Engine
from amdkernel_mcp.errors import AmdkernelError, InfrastructureError
from amdkernel_mcp.execution.jobs import JobStore
from amdkernel_mcp.server.errors import OneLine, TellErrors
from amdkernel_mcp.server.session import Session
from amdkernel_mcp.server.tokens import refuse_strangers

if TYPE_CHECKING:
    from fastmcp.server.auth import AuthProvider

INSTRUCTIONS = """\
Tools for writing fast, correct HIP kernels for AMD GPUs. They compile, run and judge kernels in a sandbox, on an \
emulated MI300X when there is no GPU, so you can close the whole loop yourself.

The loop: search_docs / read_doc -> compile_kernel -> check_kernel -> benchmark_kernel -> profile_kernel -> change the \
kernel -> again.

* A kernel is one file of device code with its launch plan in a comment, for example
  // amdkernel: launch scale grid=[ceil_div(n, 256)] block=[256] lds=0
  There is no host code: buffers, launches, timing and comparison are the tools' own.
* A problem says what the kernel must compute: the name of a bundled one (row_softmax, rmsnorm, gemm_f32, ...) or a \
folder with problem.toml and reference.py.
* Believe check_kernel before any time: a kernel that is not `correct` is not worth measuring.
* Every number says where it came from: measured, emulated (exact counts), modelled, static or not_measured.
* A call that takes longer than wait_s answers with status `running` and a job_id: call get_job.
* Findings carry the line of your file; a diagnosis names the page to read.
"""

REQUESTS_PER_S = 100.0  # of one user, whose agents share it; what costs time waits in the queue instead
REQUEST_BURST = 1000


def build_server(
    settings: Settings,
    *,
    local: bool = False,
    auth: AuthProvider | None = None,
    engine: Callable[[Settings], Engine] = Engine,
    tools: Path | None = None,
) -> FastMCP:
    """The server, not yet running. `local`: its caller is the user of this machine and may name files.

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
            TellErrors(),
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


class TeamTokens(TokenVerifier):
    """Bearer tokens of named users. Only digests are kept and compared, so that timing tells nothing of a token."""

    def __init__(self, names: dict[str, str]) -> None:
        super().__init__()
        self._names = {_digest(token): name for token, name in names.items()}

    async def verify_token(self, token: str) -> AccessToken | None:
        name = self._names.get(_digest(token))
        return AccessToken(token=token, client_id=name, scopes=[], subject=name) if name else None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def serve_stdio() -> int:
    """Serve one client over stdin and stdout until it closes stdin; the exit code."""
    engines: list[Engine] = []

    def engine(settings: Settings) -> Engine:
        engines.append(Engine(settings))
        return engines[-1]

    def leave(number: int, _: object) -> None:
        """End from where the process is: its read of stdin cannot be interrupted. Its containers go with it."""
        for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)  # clients send several, a tenth of a second apart
        for running in engines:
            running.close()
        os._exit(128 + number)

    try:
        server = build_server(load_settings(), local=True, engine=engine)
    except AmdkernelError as error:
        sys.stderr.write(f"{error.message} {error.hint or ''}".rstrip() + "\n")
        return error.exit_code
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, leave)
    server.run(transport="stdio", show_banner=False, log_level="warning")
    return 0


def serve_http(settings: Settings, tokens: dict[str, str], *, host: str, port: int, allowed_hosts: list[str]) -> None:
    """Serve many clients over Streamable HTTP at /mcp until interrupted. `tokens`: token and user's name.

    Raises SettingsError for an address that others can reach while nobody needs a token.
    """
    refuse_strangers(host, tokens)
    server = build_server(settings, auth=TeamTokens(tokens) if tokens else None)
    server.run(
        transport="http",
        host=host,
        port=port,
        show_banner=False,
        log_level="warning",
        host_origin_protection=True,
        allowed_hosts=allowed_hosts or None,
        uvicorn_config={"access_log": False, "timeout_graceful_shutdown": 5},
    )


_ONE_LINE = OneLine()  # one object: a logger takes the same filter only once


def quiet_logs() -> None:
    """Let the log have one line for an unexpected error and none for an expected one."""
    names = (
        "fastmcp.server.server",
        "mcp.server.runner",
        "mcp.server.lowlevel.server",
        "mcp.server._streamable_http_modern",
    )
    for name in names:
        logging.getLogger(name).addFilter(_ONE_LINE)
