"""The MCP server, not yet running: its instructions, its tools folder, its middleware."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from fastmcp import FastMCP
from fastmcp.server.dependencies import get_access_token, get_http_headers
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.server.middleware.rate_limiting import RateLimitingMiddleware
from fastmcp.server.providers import FileSystemProvider

from amdkernel_mcp import __version__, bundled, tracing
from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.table import verb_named
from amdkernel_mcp.errors import InfrastructureError
from amdkernel_mcp.extensions import installed
from amdkernel_mcp.jobs.away import AwayHosts
from amdkernel_mcp.jobs.journal import Journal, Service
from amdkernel_mcp.jobs.pools import Pools
from amdkernel_mcp.jobs.quotas import Quotas
from amdkernel_mcp.jobs.request import Answer, Perform, Request
from amdkernel_mcp.jobs.store import JobStore
from amdkernel_mcp.leases.gpu_leases import GpuLeases
from amdkernel_mcp.pages.routes import Pages, verifier
from amdkernel_mcp.pages.sign_in import SignIn
from amdkernel_mcp.pages.status import Running, Targets
from amdkernel_mcp.results.access import UserList
from amdkernel_mcp.server.admission.limits import REQUEST_BURST, REQUESTS_PER_S
from amdkernel_mcp.server.admission.permissions import needed, refuse_without
from amdkernel_mcp.server.audited import Audited, noting
from amdkernel_mcp.server.completion import complete
from amdkernel_mcp.server.delivery.deliver import Delivery, ExitCodes
from amdkernel_mcp.server.delivery.errors import OneLine, explained
from amdkernel_mcp.server.examinations import Examinations
from amdkernel_mcp.server.health import Health
from amdkernel_mcp.server.json_log import log_job
from amdkernel_mcp.server.metrics import Counts
from amdkernel_mcp.server.rewards import add_reward_route
from amdkernel_mcp.server.schemas import PlainSchemas, UnlistedReports
from amdkernel_mcp.server.selection import SelectedTools
from amdkernel_mcp.server.session import Session
from amdkernel_mcp.server.tasks import TasksExtension, as_tasks
from amdkernel_mcp.server.workers import noted_in, seen_in, worker_route
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from fastmcp.server.auth import AuthProvider

    from amdkernel_mcp.access.audit import AuditLog
    from amdkernel_mcp.jobs.job import Job

INSTRUCTIONS = """\
Tools for writing fast, correct HIP kernels for AMD GPUs. They compile, check, time and profile kernels in a sandbox, \
on an emulated MI300X when there is no GPU, so you can run the whole loop yourself.

The loop: search_docs / read_doc -> compile_kernel -> check_kernel -> benchmark_kernel -> profile_kernel -> change the \
kernel -> repeat.

* A kernel is one file of device code with its launch plan in a comment, for example
  // amdkernel: launch scale grid=[ceil_div(n, 256)] block=[256] lds=0
  Write no host code: the tools allocate buffers, launch, time and compare.
* A problem defines what the kernel must compute: a bundled one by name (row_softmax, rmsnorm, gemm_f32, ...), or a \
folder with problem.toml and reference.py; create_problem stores your own.
* Call check_kernel first: a time counts only for a kernel that is `correct`.
* Each number states its evidence: measured, emulated (exact counts), modelled, static or not_measured.
* A call that takes longer than wait_s returns status `running` and a job_id: call get_job.
* Findings name the line of your file; `docs` of a diagnosis is a ref for read_doc.
"""


def build_server(
    settings: Settings,
    *,
    local: bool = False,
    auth: AuthProvider | None = None,
    audit: AuditLog | None = None,
    engine: Callable[[Settings], Engine] = Engine,
    tools: Path | None = None,
    on_start: Callable[[JobStore], None] = lambda _: None,
    users: Callable[[], UserList] = lambda: UserList(users=[]),
) -> FastMCP:
    """The server, not yet running. `local`: the caller is the user of this machine and may name files.
    `on_start`: gets the jobs of the server when it starts. `users`: who has a token now, for an admin's page.

    Raises SettingsError for a setting `tools` that names none, InfrastructureError for a file in
    the tools folder that cannot be loaded.
    """

    hidden = {} if local else {str(settings.data_dir): "(data_dir)", str(settings.cache_dir): "(cache_dir)"}
    running: list[Running] = []
    counts = Counts(None if local else settings.data_dir / "metrics.json")

    def watch(job: Job) -> None:
        counts.job_ended(job)
        log_job(job)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastMCP) -> AsyncIterator[dict[str, Any]]:
        worker = engine(settings)
        service: Service = "stdio" if local else "http"
        leases = GpuLeases(settings)
        targets = Targets(lambda: worker.machine.targets().targets, changes=lambda: worker.workers.changes)
        jobs = JobStore(
            performed_by(worker),
            settings.max_workers,
            journal=lambda: Journal(settings, service),
            quotas=Quotas.of(settings),
            gpu_seconds=leases.used_s,
            default_target=settings.default_target,
            watch=watch,
            away=AwayHosts(worker.workers.away_s),
            pools=Pools(targets.get),
            emulated=None if local else settings.data_dir / "emulated_seconds.json",
        )
        quotas = Quotas.of(settings)
        examinations = Examinations(settings.max_workers, quotas.queued)
        running.append(
            Running(
                *(worker, jobs, targets, settings.default_target, leases, users, quotas),
                explain=lambda error: explained(error, hidden),
                refuse=partial(_refuse_job, settings.default_target),
            )
        )
        if not local and auth is not None:
            worker.workers.open(noted_in(audit), await anyio.to_thread.run_sync(seen_in, audit))
        try:
            on_start(jobs)
            answers = settings.cache_dir / "answers"
            session = Session(worker, jobs, examinations, results_dir=answers, local=local, hidden=hidden)
            yield {"session": session}
        finally:
            running.clear()
            counts.save()
            examinations.close()
            jobs.close()
            leases.close()
            await anyio.to_thread.run_sync(worker.close)
            await anyio.to_thread.run_sync(tracing.stop)
            if audit is not None:  # here, because a signal ends the process once uvicorn has closed the application
                await anyio.to_thread.run_sync(audit.close)

    quiet_logs()
    limit = RateLimitingMiddleware(REQUESTS_PER_S, burst_capacity=REQUEST_BURST, get_client_id=_user)
    folders = [tools or bundled.folder("tools"), *installed("tools", Path)]
    server = StatelessMCP(
        "amdkernel",
        instructions=INSTRUCTIONS,
        version=__version__,
        auth=auth,
        lifespan=lifespan,
        mask_error_details=True,
        dereference_schemas=False,  # PlainSchemas does it
        providers=[_load_tools(folder) for folder in folders],
        middleware=[
            ExitCodes(),
            *([] if local else [Traced()]),
            Audited(with_tokens=auth is not None, default_target=settings.default_target, audit=audit),
            SelectedTools(settings, [name for folder in folders for name in _names_of(folder)]),
            Delivery(hidden),
            PlainSchemas(),
            UnlistedReports(),
            limit,
        ],
    )
    server.completion(complete)
    server.add_extension(TasksExtension())
    server._mcp_server.middleware.insert(0, as_tasks)  # FastMCP hands out no other way to middleware of the protocol
    if not local:
        # One limit for tools and rewards: a user's requests are counted together.
        add_reward_route(
            server, auth, lambda: running[0].engine if running else None, lambda user: limit.limiters[user].consume()
        )
        route = worker_route(auth, lambda: running[0].engine.workers if running else None, audit)
        server._additional_http_routes.append(route)  # `custom_route` takes no WebSocket
        _add_pages(server, auth, lambda: running[0] if running else None, counts, audit)
    return server


def _names_of(folder: Path) -> list[str]:
    """The names of the tools, which are those of their files."""
    return sorted(
        file.stem for file in folder.glob("[a-z]*.py") if file.stem not in ("documentation", "prompts", "reports")
    )


def _add_pages(
    server: FastMCP,
    auth: AuthProvider | None,
    running: Callable[[], Running | None],
    counts: Counts,
    audit: AuditLog | None,
) -> None:
    sign_in = SignIn(verifier(auth.verify_token) if auth else None)
    for path, methods, handler in [
        *Pages(sign_in, running, noting(audit)).routes(),
        *Health(sign_in, running, counts).routes(),
    ]:
        server.custom_route(path, methods=[*methods], include_in_schema=False)(handler)


def _refuse_job(default_target: str, scopes: frozenset[str], request: Request) -> None:
    """The rule of the tools, for a job that a page starts again."""
    tool = verb_named(request.verb).tool
    refuse_without(needed(tool, request.arguments.get("target"), default_target=default_target), scopes, tool)


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
        "mcp.server.streamable_http",
        "uvicorn.error",
    )
    for name in names:
        logging.getLogger(name).addFilter(_ONE_LINE)


class StatelessMCP(FastMCP):
    """FastMCP without the store of what a session said, which no tool here uses: it needs three more packages.

    Sessions are all alike: which tools there are is a setting (`selection.py`).
    """

    @property
    def _state_store(self) -> Any:
        return _Empty()


class _Empty:
    async def get(self, **_: Any) -> None:
        """Nothing is kept for any key."""


class Traced(Middleware):
    """Each call of a tool is a span, below the one that the client's `traceparent` header names."""

    async def on_call_tool(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """A span with the name of the tool."""
        parent = tracing.parent_of(get_http_headers(include={"traceparent"}).get("traceparent"))
        with tracing.below(parent), tracing.span("request", tool=str(context.message.name)[:64]):
            return await call_next(context)


def performed_by(engine: Engine) -> Perform:
    """Does the requests of jobs as verbs of this engine."""

    def perform(request: Request, work: Work) -> Answer:
        asked = verb_named(request.verb).read(request.arguments)
        with engine.workers.job(work) as served:
            answer: Answer = engine.do(asked, served)
            return answer

    return perform
