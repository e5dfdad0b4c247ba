"""The engine's verbs, done by a team's server. The same arguments and results as those of `Engine`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from amdkernel_mcp.errors import InfrastructureError, InputError
from amdkernel_mcp.remote.answers import read_answer, read_whole
from amdkernel_mcp.remote.calls import Server, silent
from amdkernel_mcp.remote.own_problem import stored_problem
from amdkernel_mcp.remote.waiting import cancelled_job, command, finished_job
from amdkernel_mcp.results.history import AttemptList, ListedAttempt
from amdkernel_mcp.results.host_programs import ProgramCheckResult
from amdkernel_mcp.results.jobs import JobList, JobResult
from amdkernel_mcp.results.kernels import BenchmarkResult, CheckResult, CompileResult, ProfileResult
from amdkernel_mcp.results.tuning import TuneResult

if TYPE_CHECKING:
    from amdkernel_mcp.checking.options import CheckOptions
    from amdkernel_mcp.profiling.options import ProfileOptions
    from amdkernel_mcp.tuning.space import TuneOptions

Progress = Callable[[str], None]
_J = TypeVar("_J", CompileResult, CheckResult, ProgramCheckResult, BenchmarkResult, ProfileResult, TuneResult)

_OF_VERB: dict[str, type] = {
    "compile": CompileResult,
    "check": CheckResult,
    "benchmark": BenchmarkResult,
    "profile": ProfileResult,
    "tune": TuneResult,
}


class RemoteEngine:
    """Verbs as jobs of `server`. `say`: is given one line when a job was cancelled because the command ends."""

    def __init__(self, server: Server, say: Callable[[str], None]) -> None:
        self._server = server
        self._say = say

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def compile(
        self,
        source: str,
        *,
        file_name: str = "kernel.hip",
        arch: str | None = None,
        target: str | None = None,
        flags: Sequence[str] = (),
        isa: bool = False,
        kernel: str | None = None,
        on_progress: Progress = silent,
    ) -> CompileResult:
        """As Engine.compile."""
        asked = {"source": source, "arch": arch, "target": target, "flags": list(flags), "isa": isa, "kernel": kernel}
        return self._done(CompileResult, "compile_kernel", asked, on_progress, {"file_name": file_name})

    def check(
        self,
        problem: str,
        source: str,
        *,
        file_name: str = "kernel.hip",
        target: str | None = None,
        options: CheckOptions | None = None,
        on_progress: Progress = silent,
    ) -> CheckResult:
        """As Engine.check. Raises InputError for the key of an earlier check, which no tool takes."""
        asked: dict[str, Any] = {"source": source, "target": target}
        if options:
            _refuse_key(options.seed_key)
            asked |= {"schedules": options.schedules, "order": options.order}
        return self._judged(CheckResult, "check_kernel", problem, asked, on_progress, {"file_name": file_name})

    def check_program(
        self,
        problem: str,
        source: str,
        *,
        file_name: str = "program.hip",
        target: str | None = None,
        seed_key: str | None = None,
        on_progress: Progress = silent,
    ) -> ProgramCheckResult:
        """As Engine.check_program. Raises InputError for the key of an earlier check."""
        _refuse_key(seed_key)
        asked = {"source": source, "target": target}
        return self._judged(ProgramCheckResult, "check_program", problem, asked, on_progress, {"file_name": file_name})

    def benchmark(
        self,
        problem: str,
        source: str,
        *,
        file_name: str = "kernel.hip",
        baseline: str | None = None,
        baseline_file: str = "baseline.hip",
        target: str | None = None,
        case: str | None = None,
        on_progress: Progress = silent,
    ) -> BenchmarkResult:
        """As Engine.benchmark."""
        asked = {"source": source, "baseline_source": baseline, "target": target, "case": case}
        names = {"file_name": file_name, "baseline_file": baseline_file}
        result = self._judged(BenchmarkResult, "benchmark_kernel", problem, asked, on_progress, names)
        if result.at_fault is None:
            return result
        reason = result.reason.replace(result.at_fault, baseline_file, 1)
        return result.model_copy(update={"at_fault": baseline_file, "reason": reason})

    def tune(
        self,
        problem: str,
        source: str,
        *,
        file_name: str = "kernel.hip",
        target: str | None = None,
        options: TuneOptions | None = None,
        on_progress: Progress = silent,
    ) -> TuneResult:
        """As Engine.tune. Raises InputError for a seed of the search, which no tool takes."""
        asked: dict[str, Any] = {"source": source, "target": target}
        if options:
            if options.seed:
                raise InputError("a search with a seed of your own runs on your machine alone", hint="leave --url out")
            asked |= {"rows": options.rows, "case": options.case}
        return self._judged(TuneResult, "tune_kernel", problem, asked, on_progress, {"file_name": file_name})

    def profile(
        self,
        problem: str,
        source: str,
        *,
        file_name: str = "kernel.hip",
        target: str | None = None,
        options: ProfileOptions | None = None,
        on_progress: Progress = silent,
    ) -> ProfileResult:
        """As Engine.profile. Raises InputError for a recording to compare with: it is read on this machine."""
        asked: dict[str, Any] = {"source": source, "target": target}
        names = {"file_name": file_name}
        if options:
            if options.compare_with_recording:
                raise InputError("the server compares with the text of a kernel, not with a recording")
            other = options.compare_to and options.compare_to.rstrip("\n") + "\n"  # one line would be a path there
            asked |= {"focus": options.focus, "compare_to": other, "case": options.case}
            names["baseline_file"] = options.compare_file
        return self._judged(ProfileResult, "profile_kernel", problem, asked, on_progress, names)

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

    def job(self, job_id: str, *, on_progress: Progress = silent) -> JobResult:
        """A job once it has ended, with its whole answer. Raises as its verb did."""
        first = self._server.call("get_job", {"job_id": job_id, "wait_s": 0})
        return self._read_job(finished_job(self._server, first, on_progress))

    def cancel(self, job_id: str) -> JobResult:
        """End a job; what became of it, which is its answer if it was quicker."""
        return self._read_job(self._server.call("get_job", {"job_id": job_id, "wait_s": 5, "cancel": True}))

    def _read_job(self, state: Mapping[str, Any]) -> JobResult:
        url = self._server.url
        plain = {name: value for name, value in state.items() if name not in _OF_VERB}
        found = read_answer(JobResult, plain, url)
        whole: dict[str, Any] = {}
        for verb, model in _OF_VERB.items():
            answer = state.get(verb)
            if isinstance(answer, dict):
                kind = ProgramCheckResult if "trust" in answer else model
                whole[verb] = read_whole(kind, answer, url, self._server.resource)
        return found.model_copy(update=whole)

    def _judged(
        self,
        model: type[_J],
        tool: str,
        problem: str,
        asked: Mapping[str, Any],
        on_progress: Progress,
        names: Mapping[str, str],
    ) -> _J:
        """The answer of a verb about a problem. Raises InfrastructureError where the problem was replaced meanwhile."""
        name, problem_hash = stored_problem(self._server, problem)
        result = self._done(model, tool, {**asked, "problem": name}, on_progress, names)
        hashes = getattr(result, "hashes", None)
        if problem_hash and hashes and hashes.problem != problem_hash:
            raise InfrastructureError(
                f"another command stored its own {name} meanwhile, and this answer is about that problem",
                hint="run it again, or give the folders different names",
            )
        return result

    def _done(
        self, model: type[_J], tool: str, asked: Mapping[str, Any], on_progress: Progress, names: Mapping[str, str]
    ) -> _J:
        """The whole answer of a verb. It is a job with an id from the first moment, so that none can be lost."""
        given = {name: value for name, value in asked.items() if value is not None}
        answer: Mapping[str, Any] = self._server.call(tool, {**given, "wait_s": 0}, names=names)
        job_id = answer.get("job_id")
        if answer.get("status") in ("queued", "running") and isinstance(job_id, str):
            try:
                state = finished_job(self._server, answer, on_progress, names=names)
            except (KeyboardInterrupt, SystemExit):
                self._say(cancelled_job(self._server, job_id))
                raise
            verb = next(name for name, each in _OF_VERB.items() if issubclass(model, each))
            found = state.get(verb)
            if not isinstance(found, dict):
                raise InfrastructureError(f"{job_id} is done and has no answer", hint=command(self._server.url, job_id))
            answer = found
        return read_whole(model, answer, self._server.url, self._server.resource)


def _refuse_key(key: str | None) -> None:
    if key is not None:
        raise InputError(
            "an earlier check is replayed on the machine that has its problem",
            hint="leave --url out, or --seed-key",
        )
