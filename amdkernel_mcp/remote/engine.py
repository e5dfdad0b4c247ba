"""The engine's verbs, done by a team's server. The same arguments and results as those of `Engine`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from amdkernel_mcp.engine.verbs.table import KEYS, AnsweredJob, answer_model
from amdkernel_mcp.engine.verbs.verb import ProblemVerb, Verb
from amdkernel_mcp.errors import InfrastructureError, InputError
from amdkernel_mcp.progress import Progress, silent
from amdkernel_mcp.remote.answers import read_answer, read_whole
from amdkernel_mcp.remote.calls import Server
from amdkernel_mcp.remote.own_problem import stored_problem
from amdkernel_mcp.remote.waiting import cancelled_job, command, finished_job
from amdkernel_mcp.results.history import AttemptList, ListedAttempt
from amdkernel_mcp.results.job_answer import JobAnswer
from amdkernel_mcp.results.jobs import JobList, JobResult
from amdkernel_mcp.work import Work

_J = TypeVar("_J", bound=JobAnswer)


class RemoteEngine:
    """Verbs as jobs of `server`. `say`: is given one line when a job was cancelled because the command ends."""

    def __init__(self, server: Server, say: Progress) -> None:
        self._server = server
        self._say = say

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def do(self, asked: Verb[_J], work: Work | None = None) -> _J:
        """As Engine.do: the whole answer. It is a job with an id from the first moment, so that none can be lost.

        Raises InputError for an option that no tool takes, InfrastructureError where the problem was replaced
        meanwhile.
        """
        work = work or Work()
        if work.parent is not None:
            raise InputError("--parent does not go with --url", hint="the server takes your attempt before this one")
        given = {"source": asked.source, "target": asked.target, **asked.options_of_tool()}
        problem_hash = None
        if isinstance(asked, ProblemVerb):
            given["problem"], problem_hash = stored_problem(self._server, asked.problem)
        result = asked.received(self._done(asked, given, work))
        hashes = getattr(result, "hashes", None)
        if problem_hash and hashes and hashes.problem != problem_hash:
            raise InfrastructureError(
                f"another command stored its own {given['problem']} meanwhile, and this answer is about that problem",
                hint="run it again, or give the folders different names",
            )
        return result

    def profile_page(self, attempt: str | None) -> str:
        """The page of a profile, by its attempt. Raises InfrastructureError where it was not recorded."""
        if attempt is None:
            raise InfrastructureError("the server has no page of this profile, because it has not recorded it")
        return self._server.page(f"/attempts/{attempt}/profile")

    def attempts(self, *, problem: str | None, before: str | None, limit: int) -> AttemptList:
        """The user's attempts, newest first; as many answers of the server as that takes."""
        found: list[ListedAttempt] = []
        following = before
        while True:
            asked = {"problem": problem, "before": following, "limit": limit - len(found)}
            given = {name: value for name, value in asked.items() if value is not None}
            some = read_answer(AttemptList, self._server.call("list_attempts", given), self._server.url)
            found += some.attempts
            following = some.next
            if following is None or not some.attempts or len(found) >= limit:
                return AttemptList(attempts=found, next=following)

    def jobs(self, limit: int) -> JobList:
        """The user's jobs, newest first."""
        return read_answer(JobList, self._server.call("list_jobs", {"limit": limit}), self._server.url)

    def job(self, job_id: str, *, say: Progress = silent) -> JobResult:
        """A job once it has ended, with its whole answer. Raises as its verb did."""
        first = self._server.call("get_job", {"job_id": job_id, "wait_s": 0})
        return self._read_job(finished_job(self._server, first, say))

    def cancel(self, job_id: str) -> JobResult:
        """End a job; what became of it, which is its answer if it was quicker."""
        return self._read_job(self._server.call("get_job", {"job_id": job_id, "wait_s": 5, "cancel": True}))

    def _read_job(self, state: Mapping[str, Any]) -> JobResult:
        url = self._server.url
        found = read_answer(AnsweredJob, {name: value for name, value in state.items() if name not in KEYS}, url)
        whole: dict[str, Any] = {}
        for key in KEYS:
            answer = state.get(key)
            if isinstance(answer, dict):
                whole[key] = read_whole(answer_model(key, answer), answer, url, self._server.resource)
        return found.model_copy(update=whole)

    def _done(self, asked: Verb[_J], given: Mapping[str, Any], work: Work) -> _J:
        names = asked.files()
        given = {name: value for name, value in given.items() if value is not None}
        answer: Mapping[str, Any] = self._server.call(asked.tool, {**given, "wait_s": 0}, names=names)
        job_id = answer.get("job_id")
        if answer.get("status") in ("queued", "running") and isinstance(job_id, str):
            try:
                state = finished_job(self._server, answer, work.say, names=names)
            except (KeyboardInterrupt, SystemExit):
                self._say(cancelled_job(self._server, job_id))
                raise
            found = state.get(asked.key)
            if not isinstance(found, dict):
                raise InfrastructureError(f"{job_id} is done and has no answer", hint=command(self._server.url, job_id))
            answer = found
        return read_whole(asked.model, answer, self._server.url, self._server.resource)
