"""check: whether a kernel computes what its problem asks."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.engine.verbs.shorten import OF_A_CHECK
from amdkernel_mcp.engine.verbs.verb import Means, ProblemVerb, Repeated, key_of, refuse_hang, refuse_key
from amdkernel_mcp.results.kernels import CheckResult

if TYPE_CHECKING:
    from amdkernel_mcp.history.attempt import Attempt


@dataclass(frozen=True, kw_only=True)
class Check(ProblemVerb[CheckResult]):
    """Whether the kernel computes what the problem asks, on announced and held-out cases.

    Raises ProblemFileError for a problem that cannot be used; a bad kernel is a verdict.
    """

    name: ClassVar = "check"
    tool: ClassVar = "check_kernel"
    key: ClassVar = "check"
    answer: ClassVar = CheckResult
    scope: ClassVar = "check"
    shortened: ClassVar = OF_A_CHECK

    options: CheckOptions | None = None

    def do(self, means: Means) -> CheckResult:
        """The verdict, on every value of the `tune` lines."""
        from amdkernel_mcp.engine.known_steps import KnownSteps

        means.recorder.warm_up()
        steps, work = means.steps, means.work
        problem = steps.problem(self.problem, work.owner)
        prepared = steps.prepare(problem, self.source, file_name=self.file_name, target=self.target, work=work)
        answer = steps.check(prepared, work, self.options)
        if self.options in (None, CheckOptions()):
            KnownSteps(steps).keep(prepared, answer)  # a benchmark of the same code need not check it again
        answer = steps.check_tuned(prepared, answer, work, self.options)
        answer = self._with_waves(means, answer)
        given = asdict(self.options) if self.options else {}
        tried = self.tried(means, problem, options=given, ran=lambda: [steps.what_ran(prepared)])
        return means.recorder.record(tried, answer)

    def _with_waves(self, means: Means, answer: CheckResult) -> CheckResult:
        """A kernel that is wrong on waves of 64 is tried on waves of 32, where its source may assume them."""
        from amdkernel_mcp.port.answer import wave_findings
        from amdkernel_mcp.port.verify import NARROW, WAVES

        wide = means.steps.target(self.target)
        if answer.verdict not in ("incorrect", "crashed") or WAVES.get(wide.arch) != 64:
            return answer
        lines = wave_findings(self.source)
        if not lines:
            return answer
        problem = means.steps.problem(self.problem, means.work.owner)
        narrow = means.steps.prepare(problem, self.source, file_name=self.file_name, target=NARROW, work=means.work)
        options = CheckOptions(seed_count=1, schedules=0, seed_key=answer.seeds.key if answer.seeds else None)
        if means.steps.check(narrow, means.work, options).verdict != "correct":
            return answer
        reason = f"wrong on waves of 64, right on waves of 32 ({NARROW}): {answer.reason}"
        return answer.model_copy(update={"reason": reason, "findings": [*lines, *answer.findings]})

    @classmethod
    def again(cls, attempt: Attempt, given: Repeated) -> Self:
        """With the recorded options, on the same inputs; a record does not ask for a kernel that may hang."""
        from amdkernel_mcp.history.attempts import read_options

        options = read_options(CheckOptions, {**attempt.options, "seed_key": key_of(attempt), "hang": False})
        return cls(
            problem=given.problem,
            source=given.source,
            file_name=attempt.file_name,
            target=given.target,
            options=options,
        )

    def options_of_tool(self) -> dict[str, Any]:
        """The orders; not the key of an earlier check."""
        if self.options is None:
            return {}
        refuse_key(self.options.seed_key)
        refuse_hang(self.options.hang)
        return {"schedules": self.options.schedules, "order": self.options.order}

    @staticmethod
    def good(answer: CheckResult) -> bool:
        """It is correct."""
        return answer.verdict == "correct"
