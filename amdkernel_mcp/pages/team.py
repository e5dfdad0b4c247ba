"""The pages of a team: a problem with its boards, the use of GPUs, two attempts side by side, jobs and their logs."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse, Response

from amdkernel_mcp.errors import AmdkernelError, InputError, JobError
from amdkernel_mcp.jobs.job import FINISHED
from amdkernel_mcp.jobs.overview import now_of
from amdkernel_mcp.pages.compare import compared
from amdkernel_mcp.pages.drawn import DAYS, plot_of, week_of
from amdkernel_mcp.pages.leaderboard import gpus_of
from amdkernel_mcp.pages.related import command, related
from amdkernel_mcp.pages.render import fragment, name_of, page
from amdkernel_mcp.pages.status import states_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from amdkernel_mcp.jobs.job import Job
    from amdkernel_mcp.pages.drawn import GpuWeek
    from amdkernel_mcp.pages.leaderboard import Board, Boards
    from amdkernel_mcp.pages.sign_in import Viewer
    from amdkernel_mcp.pages.status import Running
    from amdkernel_mcp.pages.stream import Part, Parts, Streams

Seen = Callable[["Request", "Running", "Viewer"], Awaitable[Response]]
NoteOfAnother = Callable[["Request", "Viewer", str, str], None]
"""Writes to the audit log that an admin opened what another user made: which page, and whose."""
MOST_JOBS, LOOKED_AT = 50, 500
"""Jobs in a list; the newest of which filters take theirs."""
WRONG = frozenset(
    {
        *("incorrect", "invalid", "crashed", "timeout", "deadlock", "not_emulated", "compile_error"),
        *("does_not_compile", "wave64_mistake", "wrong_on_both", "wave32_mistake", "not_finished"),
    }
)
"""Verdicts that ask for another look."""
_WHOLE_HASH = re.compile(r"(sha256:[0-9a-f]{12})[0-9a-f]{52}")


class TeamPages:
    """Their handlers."""

    def __init__(self, boards: Boards, streams: Streams, note_of_another: NoteOfAnother) -> None:
        self._boards = boards
        self._streams = streams
        self._note_of_another = note_of_another

    def routes(self) -> list[tuple[str, Seen]]:
        """Path and handler; all only read."""
        return [
            ("/problems/{problem}", self._problem),
            ("/gpus", self._gpus),
            ("/compare", self._compare),
            ("/jobs", self._jobs),
            ("/attempts/{attempt}/job", self._job_of_attempt),
            ("/jobs/{job}", self._job),
            ("/jobs/{job}/events", self._job_events),
        ]

    async def _problem(self, request: Request, running: Running, viewer: Viewer) -> Response:
        name, query = request.path_params["problem"], request.query_params
        values = await asyncio.to_thread(
            problem_view, running, viewer, self._boards, name, query.get("gpu") or None, query.get("evidence") or None
        )
        return page("problem.html", values)

    async def _gpus(self, _: Request, running: Running, viewer: Viewer) -> Response:
        weeks = await asyncio.to_thread(weeks_of, running)
        return page("gpus.html", {"viewer": viewer, "weeks": weeks, "days": DAYS})

    async def _compare(self, request: Request, running: Running, viewer: Viewer) -> Response:
        first, second = (request.query_params.get(name, "").strip() for name in ("a", "b"))
        if not (first and second):
            raise InputError("A comparison needs two attempts.")

        def found() -> tuple[dict[str, Any], set[str]]:
            show = running.engine.attempts.show
            both = show(first, by=viewer.by), show(second, other=first, by=viewer.by)
            more = [related(running.engine.attempts, each.attempt) for each in both]
            return compared(*both) | {"more": more}, {each.attempt["by"] for each in both}

        view, owners = await asyncio.to_thread(found)
        for owner in sorted(owners):
            self._note_of_another(request, viewer, "page: compare", owner)
        return page("compare.html", {"viewer": viewer} | view)

    async def _jobs(self, request: Request, running: Running, viewer: Viewer) -> Response:
        asked = {name: request.query_params.get(name, "")[:200] for name in ("show", "user", "problem")}
        most = LOOKED_AT if any(asked.values()) else MOST_JOBS

        def found() -> list[dict[str, Any]]:
            views = (job_view(job, running, viewer) for job in running.jobs.list(viewer.by, most))
            return [view for view in views if is_asked_for(view, **asked)][:MOST_JOBS]

        values = {"jobs": await asyncio.to_thread(found), "most": MOST_JOBS, "asked": asked}
        return page("jobs.html", values | {"viewer": viewer})

    async def _job_of_attempt(self, request: Request, running: Running, viewer: Viewer) -> Response:
        """To the job that made an attempt."""

        def found() -> str | None:
            attempt = running.engine.attempts.show(request.path_params["attempt"], by=viewer.by).attempt
            return job_of(running, attempt["id"], attempt["by"])

        job = await asyncio.to_thread(found)
        if job is None:
            raise InputError("No job of this attempt is kept: it was made at a shell, or its job is forgotten by now.")
        return RedirectResponse(f"/jobs/{job}", 303)

    async def _job(self, request: Request, running: Running, viewer: Viewer) -> Response:
        job = await asyncio.to_thread(running.jobs.find, request.path_params["job"], viewer.by)
        self._note_of_another(request, viewer, "page: job", job.owner)
        view = await asyncio.to_thread(job_view, job, running, viewer)
        return page("job_page.html", {"viewer": viewer, "job": view})

    async def _job_events(self, request: Request, running: Running, viewer: Viewer) -> Response:
        job = await asyncio.to_thread(running.jobs.find, request.path_params["job"], viewer.by)
        return self._streams.answer(request, viewer, job_parts(job.id, running, viewer))


def job_of(running: Running, attempt: str, owner: str) -> str | None:
    """The id of the job that made this user's attempt, as long as this server knows it. Raises DatabaseError."""
    found = running.jobs.list(owner, 1, attempt)
    return found[0].id if found else None


def problem_view(
    running: Running, viewer: Viewer, boards: Boards, name: str, gpu: str | None, evidence: str | None
) -> dict[str, Any]:
    """What `problem.html` needs. Raises InputError where the viewer sees no time on a problem of this name."""
    seen = [each for each in boards.seen_by(running, viewer) if each.problem == name]
    if not seen:
        raise InputError(f"No timed kernel of a problem {name[:100]} that you may see.")
    gpus, sight = gpus_of(running.targets.get()), boards.sight(running, viewer)
    timed = [each for each in running.engine.attempts.timed(name) if sight.sees(each)]
    shown = []
    for board in _in_order(seen):
        if gpu in (None, board.gpu) and evidence in (None, board.evidence):
            own = _key(board)
            of_board = [
                each
                for each in timed
                if (gpus.get(each.target, each.target), each.evidence, each.timed_case, each.problem_hash) == own
            ]
            best = board.best.it
            shown.append(
                {
                    "board": board,
                    "plot": plot_of(of_board),
                    "pairs": _pairs(board, of_board, viewer),
                    "profiled": [each for each in board.entries if each.profile and viewer.by in (None, each.it.by)],
                    "command": command(name, best.file_name, best.target) if viewer.by in (None, best.by) else None,
                }
            )
    return {
        "viewer": viewer,
        "name": name,
        "shown": shown,
        "gpus": sorted({each.gpu for each in seen}),
        "kinds": sorted({each.evidence for each in seen}),
        "gpu": gpu,
        "evidence": evidence,
    }


def _in_order(boards: Sequence[Board]) -> list[Board]:
    """The problem as it is now first, then the newest attempt."""
    return sorted(boards, key=lambda board: board.is_now is False)


def _key(board: Board) -> tuple[str | None, ...]:
    return board.gpu, board.evidence, board.case, board.best.it.problem_hash


def _pairs(board: Board, timed: Sequence[Any], viewer: Viewer) -> list[tuple[str, str, str, float]]:
    """What the best may be compared with, so that one sees why it is faster: words, two attempts, and how many times as
    long the other took. The largest difference first: it says most."""
    mine = [each for each in timed if viewer.by in (None, each.by)]
    best = board.best.it
    if viewer.by not in (None, best.by):
        return []
    record, before = float("inf"), []
    for each in mine:
        if each.time_us < record:
            record = each.time_us
            before.append(each)
    rivals = [entry.it for entry in board.entries[1:2] if viewer.by in (None, entry.it.by)]
    options = [
        *(("the best before it", each) for each in before[-2:-1]),
        *((f"the best of {name_of(each.by)}", each) for each in rivals),
        *(("the first that was timed", each) for each in mine[:1]),
    ]
    pairs: dict[str, tuple[str, str, str, float]] = {}
    for words, other in options:
        if other.id != best.id and other.id not in pairs:
            pairs[other.id] = words, other.id, best.id, other.time_us / best.time_us
    return sorted(pairs.values(), key=lambda pair: -pair[3])


def weeks_of(running: Running) -> list[GpuWeek]:
    """The use of each GPU that has a name now, also of one that cannot be reached: it is known by the name that it had
    when a job last used it. Raises DatabaseError, and what asking for targets raises."""
    past, held = running.leases.past(DAYS), running.leases.held()
    ids = {each.target: each.gpu for each in running.leases.health.list()}
    ids |= {each.name: each.gpu_id for each in running.targets.get() if each.gpu_id}
    weeks = []
    for each in states_of(running):
        if each.kind == "gpu":
            gpu = ids.get(each.name)
            mine = [lease for lease in past if lease.gpu == gpu]
            week = week_of(each.name, each.gpu, mine, [lease for lease in held if lease.gpu == gpu])
            week.state, week.note, week.is_known = each.state, each.note, gpu is not None
            weeks.append(week)
    return sorted(weeks, key=lambda week: week.name)


def job_parts(job_id: str, running: Running, viewer: Viewer) -> Parts:
    """The part of a job's page."""

    def parts(_: int) -> Sequence[Part]:
        try:
            view = job_view(running.jobs.find(job_id, viewer.by), running, viewer)
        except AmdkernelError:
            return []
        html = fragment("job.html", {"viewer": viewer, "job": view})
        still = fragment("job.html", {"viewer": viewer, "job": view | {"seconds": 0.0}})
        return [("job", still, html)]

    return parts


def job_view(job: Job, running: Running, viewer: Viewer) -> dict[str, Any]:
    """What `job.html` and `jobs.html` need."""
    place = running.jobs.place(job) if job.status == "queued" and not job.elsewhere else None
    status = job.state.replace("waits_for_gpu", "waits for a GPU")
    asked, asked_lane = job.request.arguments, job.request.lane(running.default_target)
    target = (job.answer.target if job.answer else None) or asked.get("target") or running.default_target
    now_s = running.jobs.overview().now_s if job.finished_s is None else job.finished_s
    since_s = job.accepted_s if job.begun_s is None else job.begun_s
    verdict, not_again = getattr(job.answer, "verdict", None), why_not_again(job, running, viewer)
    if getattr(job.answer, "ok", True) is False:  # of a compile
        verdict = "compile_error"
    return {
        "id": job.id,
        "owner": job.owner,
        "verb": job.request.verb.replace("_", " "),
        "problem": job.request.problem,
        "target": None if asked_lane == "compile" else target,
        "status": status,
        "is_over": job.status in FINISHED,
        "verdict": str(verdict) if verdict else None,
        "reason": str(getattr(job.answer, "reason", "") or ""),
        "attempt": job.answer.attempt if job.answer else None,
        "error": running.explain(job.error) if job.error is not None else None,
        "created": _iso(job.created_s),
        "age": max(0.0, time.time() - job.created_s),
        "seconds": None if job.elsewhere else max(0.0, now_s - since_s),
        "place": place.number if place else None,
        "says": now_of(job, place) if place or job.state == "waits_for_gpu" else None,
        "wait": place.wait.expected_s if place and place.wait else None,
        "log": [(_iso(each.at_s), _WHOLE_HASH.sub(r"\1…", each.text)) for each in [*job.log]],
        "elsewhere": job.elsewhere,
        "may_retry": job.status in FINISHED and not_again is None,
        "not_again": not_again,
    }


def is_asked_for(view: dict[str, Any], *, show: str, user: str, problem: str) -> bool:
    """Whether a list with these filters has the job. show: `open`: not over; `wrong`: it ended, not well; else any."""
    kinds = {"open": not view["is_over"], "wrong": view["status"] == "failed" or view["verdict"] in WRONG}
    named = user in ("", name_of(view["owner"])) and problem in ("", view["problem"])
    return named and kinds.get(show, True)


def _iso(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _is_kept(job: Job) -> bool:
    """It is over, and this process has what it was given."""
    return job.status in FINISHED and not job.elsewhere and bool(job.request.arguments)


def why_not_again(job: Job, running: Running, viewer: Viewer) -> str | None:
    """Why there is no button that starts it again; None where there is one, and while it runs."""
    if job.status not in FINISHED:
        return None
    if not _is_kept(job):
        return "What it was given is no longer here: call its tool or its command again."
    if job.owner != viewer.user:
        return f"{name_of(job.owner)} can start it again: the button is on this page for them alone."
    try:
        _refuse(running, viewer, job)
    except InputError as error:
        return error.message
    return None


def _refuse(running: Running, viewer: Viewer, job: Job) -> None:
    """Raises InputError where the viewer's token does not cover what the job asks for."""
    if viewer.scopes is not None:
        running.refuse(viewer.scopes, job.request)


def retry(job: Job, running: Running, viewer: Viewer) -> Job:
    """The same job again. Raises InputError, and what submitting raises: quotas, a server that drains."""
    if not (_is_kept(job) and job.owner == viewer.user):
        raise InputError("This job cannot be started again here: call its tool again.")
    asked = job.request
    _refuse(running, viewer, job)
    running.jobs.check_time_quota(viewer.user, asked)
    running.jobs.look_for_gpus(asked)
    again = running.jobs.submit(viewer.user, asked)
    running.jobs.hand_out(again)
    return again


async def retried(job_id: str, running: Running, viewer: Viewer) -> Response:
    """Start it and go to its page."""
    job = await asyncio.to_thread(running.jobs.find, job_id, viewer.user)
    try:
        again = await asyncio.to_thread(retry, job, running, viewer)
    except (JobError, InputError) as error:
        values = {"viewer": viewer, "title": "Not started", "text": error.message}
        return page("message.html", values, 409)
    return RedirectResponse(f"/jobs/{again.id}", 303)
