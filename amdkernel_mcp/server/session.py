"""What a tool file calls: the identity of the caller, what it may name, and the wait for long work.

A local user (stdio) may name files. Over HTTP a path would be a path of the server, so only text, bundled problems and
those that the caller created are accepted there; `local` is False by default.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from amdkernel_mcp import bundled
from amdkernel_mcp.engine.tuning.shapes import read_table
from amdkernel_mcp.engine.verbs.table import VERB_NAMED, AnsweredJob
from amdkernel_mcp.errors import DatabaseError, InputError, JobError
from amdkernel_mcp.jobs.job import FINISHED, Job
from amdkernel_mcp.jobs.overview import now_of
from amdkernel_mcp.jobs.request import Request
from amdkernel_mcp.jobs.store import JobStore
from amdkernel_mcp.kernel_source import KernelSource, is_attempt, names_no_file, read_kernel, sent_kernel
from amdkernel_mcp.profiling.options import ProfileOptions, options_for
from amdkernel_mcp.results.documentation import ReadResult
from amdkernel_mcp.results.job_answer import JobAnswer
from amdkernel_mcp.results.jobs import JobList, JobResult, ListedJob
from amdkernel_mcp.results.kernels import Focus
from amdkernel_mcp.results.quantity import Result
from amdkernel_mcp.server.delivery.errors import exit_code_of
from amdkernel_mcp.server.delivery.truncate import truncate
from amdkernel_mcp.server.examinations import Examinations
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from fastmcp import Context

    from amdkernel_mcp.engine.engine import Engine
    from amdkernel_mcp.engine.verbs.verb import Verb

PROGRESS_EVERY_S = 2.0
ASK_EVERY_S = 0.5

_R = TypeVar("_R", bound=Result)
_J = TypeVar("_J", bound=JobAnswer)


class Caller(Protocol):
    """The part of FastMCP's Context that waiting needs."""

    def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> Awaitable[None]:
        """Report the progress of a call to the client."""


class Session:
    """Turns calls of tools into calls of the engine. One per server."""

    def __init__(
        self,
        engine: Engine,
        jobs: JobStore,
        examinations: Examinations,
        *,
        results_dir: Path,
        local: bool = False,
        hidden: Mapping[str, str] | None = None,
    ) -> None:
        """`hidden`: folders that errors do not show, see delivery.errors.for_other_machines."""
        self.engine = engine
        self._jobs = jobs
        self._examinations = examinations
        self._results_dir = results_dir
        self._local = local
        self._hidden = hidden or {}

    def candidate(
        self, *, path: str | None, source: str | None, what: str = "the kernel", extensions: bool = False
    ) -> KernelSource:
        """The kernel. Raises InputError unless exactly one is given and this caller may give it.

        extensions: Python that builds one of PyTorch is taken as well.
        """
        if path is None and source is None:
            raise InputError(f"give the path or the source text of {what}")
        if path is not None and source is not None:
            raise InputError(f"give the path or the source text of {what}, not both")
        if source is not None:
            return sent_kernel(source, extensions=extensions)
        assert path is not None
        return read_kernel(self._may_name(path), extensions=extensions)

    def cuda_program(
        self, *, path: str | None, source: str | None, headers: Mapping[str, str]
    ) -> tuple[KernelSource, dict[str, str]]:
        """A CUDA program and its further files. A local caller's `.cu` file or folder takes along what it includes.

        Raises InputError as `candidate` does, and for headers that no program may have.
        """
        from amdkernel_mcp.port.sources import read_program, sent_files

        if path is not None and source is None and (path.endswith(".cu") or self._may_name(path).is_dir()):
            found = read_program(self._may_name(path))
            others = {name: text for name, text in found.files.items() if name != found.main}
            return KernelSource(found.files[found.main], found.main), others
        program = self.candidate(path=path, source=source, extensions=True)
        return (program if path else replace(program, file_name="program.cu")), sent_files(headers)

    def baseline(self, *, path: str | None, source: str | None) -> KernelSource | None:
        """The kernel to compare with; None when neither is given."""
        if path is None and source is None:
            return None
        for named in (path, source):
            if named is not None and is_attempt(named):
                return KernelSource(named.strip(), named.strip())
        kernel = self.candidate(path=path, source=source, what="the baseline")
        return kernel if path else replace(kernel, file_name="baseline.hip")

    def compared(self, focus: Focus | None, compare_to: str | None, case: str | None = None) -> ProfileOptions:
        """Options of a profile. `compare_to`: a kernel's text, `attempt:ID`, or a local caller's path."""
        if compare_to is None or "\n" in compare_to or is_attempt(compare_to):
            return ProfileOptions(focus, compare_to and sent_kernel(compare_to).source, case=case)
        return replace(options_for(focus, self._may_name(compare_to)), case=case)

    def other_kernel(self, compare_to: str | None) -> KernelSource | None:
        """The kernel to compare with: its text, `attempt:ID`, or a local caller's path; None where there is none."""
        if compare_to is None:
            return None
        if "\n" in compare_to or names_no_file(compare_to):
            return sent_kernel(compare_to, "baseline.hip")
        return read_kernel(self._may_name(compare_to))

    def table(self, shapes: str | None) -> str | None:
        """The text of a table, or of a local caller's file."""
        if shapes is None or "\n" in shapes:
            return shapes
        return read_table(self._may_name(shapes))

    def problem(self, problem: str) -> str:
        """The problem, as the engine takes it. Raises InputError for a folder that this caller may not name."""
        if self._local or self.engine.has_own_problem(problem, by=owner()):
            return problem
        if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", problem):
            folder = bundled.folder("examples") / problem
            if (folder / "problem.toml").is_file():
                return str(folder)  # not the bare name, which might also be a folder where the server was started
        names = ", ".join(sorted(file.parent.name for file in bundled.folder("examples").glob("*/problem.toml")))
        raise InputError(
            f"unknown problem {problem!r}; this server has {names or 'none'}",
            hint="list_problems lists yours as well; create_problem stores a new one",
        )

    async def short(self, work: Callable[[], _R]) -> _R:
        """The result of work of a few seconds at most, truncated to what a model reads at once."""
        return self._fit(await asyncio.to_thread(work))

    async def examined(self, step: Callable[[Work], _R]) -> _R:
        """The result of a step that runs what the caller wrote, outside the queue of jobs. Raises QuotaError."""
        return self._fit(await self._examinations.run(owner(), step))

    async def text(self, work: Callable[[], str]) -> str:
        """The text of a resource. It is not truncated: a client attaches it as a whole."""
        return await asyncio.to_thread(work)

    async def long(self, ctx: Context, asked: Verb[_J], *, wait_s: float) -> _J:
        """The answer of a verb, or the id of its job for get_job when it takes longer than `wait_s`."""
        request = Request(asked.name, asked.arguments())
        await asyncio.to_thread(self._jobs.check_time_quota, owner(), request)
        await asyncio.to_thread(self._jobs.look_for_gpus, request)
        job = self._jobs.submit(owner(), request)
        try:
            await self._wait(ctx, job, wait_s)
        except asyncio.CancelledError:
            self._jobs.cancel(job)
            raise
        if job.status not in FINISHED:
            await self._hand_out(job)
        place = {} if job.status in FINISHED else await asyncio.to_thread(self._place, job)
        status = job.status  # once: the job may end between two looks at it
        if status not in FINISHED:
            return asked.model(status=status, job_id=job.id, **place)
        if job.error is not None:
            raise job.error
        if not isinstance(job.answer, asked.model):
            raise JobError("the job was cancelled")
        return self._fit(job.answer)

    async def job(self, ctx: Context, job_id: str, *, wait_s: float, cancel: bool) -> JobResult:
        """The state of a job and, once it has ended, its answer; waits up to `wait_s`. An admin may end anyone's."""
        whose = None if is_admin() else owner()
        job = await asyncio.to_thread(self._jobs.find, job_id, whose)
        if cancel:
            await asyncio.to_thread(self._jobs.cancel, job)
            job = await asyncio.to_thread(self._jobs.find, job_id, whose)
        until_s = time.monotonic() + wait_s
        if not job.elsewhere:
            await self._wait(ctx, job, wait_s)
        if job.elsewhere:  # by now
            job = await self._wait_elsewhere(job, until_s)
        place = await asyncio.to_thread(self._place, job)
        if job.owner != owner():  # what was made and measured is its owner's alone
            seen = place | {"progress": None}
            return AnsweredJob(
                job_id=job.id, owner=job.owner, status=job.status, state=job.state, created=_utc(job.created_s), **seen
            )
        state = job.state  # before the answer: a job that has ended has one
        verb = VERB_NAMED.get(job.request.verb)
        answers: dict[str, Any] = {verb.key: job.answer} if verb else {}
        return self._fit(
            AnsweredJob(
                job_id=job.id,
                status="running" if state == "waits_for_gpu" else state,
                state=state,
                created=_utc(job.created_s),
                **place,
                error=self._why(job.error),
                error_code=None if job.elsewhere else exit_code_of(job.error),
                **answers,
            )
        )

    async def jobs(self, limit: int) -> JobList:
        """The caller's jobs, newest first."""
        found = await asyncio.to_thread(self._jobs.list, owner(), limit)

        def listed(job: Job) -> ListedJob:
            seen = {name: said for name, said in self._place(job).items() if name in ("progress", "queue_place")}
            return ListedJob(
                job_id=job.id,
                verb=job.request.verb,
                status=job.status,
                state=job.state,
                problem=job.request.problem,
                target=(job.answer.target if job.answer else None) or job.request.arguments.get("target"),
                verdict=getattr(job.answer, "verdict", None),
                age_s=round(max(0.0, time.time() - job.created_s), 1),
                **seen,
            )

        return JobList(jobs=await asyncio.to_thread(lambda: [listed(job) for job in found]))

    def _place(self, job: Job) -> dict[str, Any]:
        """The state of a job, and where it stands while it waits."""
        place = self._jobs.place(job)
        said = {"progress": now_of(job, place)}
        if place is None:
            return said
        return said | {"queue_place": place.number, "expected_wait_s": place.wait.expected_s if place.wait else None}

    async def _hand_out(self, job: Job) -> None:
        """Raises DatabaseError where a team's server cannot promise the job: then it is not accepted."""
        stored = await asyncio.to_thread(self._jobs.hand_out, job)
        if not (stored or self._local or job.status in FINISHED):
            self._jobs.cancel(job)
            raise DatabaseError(
                "the job was not accepted: the database of the server does not answer, so it could be lost",
                hint="call again in a minute",
            )

    async def _wait_elsewhere(self, job: Job, until_s: float) -> Job:
        """What the journal says of a job that another process has, asked again until it has ended."""
        job = await asyncio.to_thread(self._jobs.find, job.id, job.owner)
        while job.status not in FINISHED and (left := until_s - time.monotonic()) > 0:
            await asyncio.sleep(min(ASK_EVERY_S, left))
            job = await asyncio.to_thread(self._jobs.find, job.id, job.owner)
        return job

    async def _wait(self, ctx: Caller, job: Job, wait_s: float) -> None:
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        self._jobs.on_end(job, lambda: None if loop.is_closed() else wake(loop, ended))
        start = loop.time()
        while not ended.is_set() and (left := start + wait_s - loop.time()) > 0:
            try:
                await asyncio.wait_for(ended.wait(), min(PROGRESS_EVERY_S, left))
            except TimeoutError:
                said = await asyncio.to_thread(self._place, job)
                await ctx.report_progress(round(loop.time() - start, 3), message=said["progress"] or job.status)

    def _why(self, error: BaseException | None) -> str | None:
        from amdkernel_mcp.server.delivery.errors import explained

        return None if error is None else explained(error, self._hidden)

    def _fit(self, result: _R) -> _R:
        result = truncate(result, self._results_dir)
        return result if self._local else _without_paths(result, self._hidden)

    def _may_name(self, path: str) -> Path:
        if not self._local:
            raise InputError(
                "this server does not read files that a caller names", hint="send the text of the file as `source`"
            )
        return Path(path).expanduser()


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def wake(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    """Set `event` from another thread; does nothing when the loop was closed meanwhile, since then no call waits."""
    try:
        loop.call_soon_threadsafe(event.set)
    except RuntimeError:
        return


def session_of(ctx: Context) -> Session:
    """The session of the server that handles this call."""
    session = ctx.lifespan_context["session"]
    assert isinstance(session, Session)
    return session


def owner() -> str:
    """The caller: the user that the bearer token names, or `local`."""
    from fastmcp.server.dependencies import get_access_token

    token = get_access_token()
    return f"user:{token.client_id}" if token else "local"


def is_admin() -> bool:
    """Whether the caller's token has the scope `admin`."""
    from fastmcp.server.dependencies import get_access_token

    token = get_access_token()
    return token is not None and "admin" in token.scopes


def with_address(result: ReadResult) -> ReadResult:
    """The page with the address of ours that a person opens, as this caller reached the server; none over stdio."""
    from fastmcp.server.dependencies import get_http_request

    if result.url is None or not result.url.startswith("/"):
        return result
    try:
        site = str(get_http_request().base_url).rstrip("/")
    except RuntimeError:  # no server whose pages could be opened
        return result.model_copy(update={"url": None})
    return result.model_copy(update={"url": f"{site}{result.url}"})


def _without_paths(result: _R, folders: Mapping[str, str]) -> _R:
    """The result without paths of this server, which its caller cannot read."""
    from amdkernel_mcp.server.delivery.errors import for_other_machines

    if isinstance(result, JobResult):
        return result.with_answer(lambda answer: _without_paths(answer, folders))
    if isinstance(result, JobAnswer):
        changed = {
            "artefacts": [artefact.model_copy(update={"path": ""}) for artefact in result.artefacts],
            "not_recorded": result.not_recorded and for_other_machines(result.not_recorded, folders),
            "not_cached": [for_other_machines(each, folders) for each in result.not_cached],
        }
        return result.model_copy(update=changed)
    return result
