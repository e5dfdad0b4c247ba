"""check_program: whether a program with its own `main` writes what its problem asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from amdkernel_mcp.engine.verbs.shorten import OF_A_CHECK, Keep
from amdkernel_mcp.engine.verbs.verb import Means, ProblemVerb, Repeated, Text, key_of, refuse_hang, refuse_key
from amdkernel_mcp.results.host_programs import ProgramCheckResult

if TYPE_CHECKING:
    from amdkernel_mcp.history.attempt import Attempt


@dataclass(frozen=True, kw_only=True)
class CheckProgram(ProblemVerb[ProgramCheckResult]):
    """Whether a HIP program with its own `main` writes what the problem asks; marked as unverified.

    `seed_key`: replays the inputs and shapes of an earlier check. `hang`: it starts though it may hang and a reset of
    the GPU would take down others. Raises ProblemFileError for a problem that cannot be used; a bad program is a
    verdict.
    """

    name: ClassVar = "check_program"
    tool: ClassVar = "check_program"
    key: ClassVar = "check"
    answer: ClassVar = ProgramCheckResult
    scope: ClassVar = "check"
    shortened: ClassVar = (Keep("run_seconds", 16), *OF_A_CHECK)

    file_name: Text = "program.hip"
    seed_key: Text | None = None
    hang: bool = False

    def do(self, means: Means) -> ProgramCheckResult:
        """The verdict."""
        means.recorder.warm_up()
        problem = means.steps.problem(self.problem, means.work.owner)
        answer = means.steps.check_program(
            problem,
            self.source,
            file_name=self.file_name,
            target=self.target,
            key=self.seed_key,
            work=means.work,
            hang=self.hang,
        )
        given = {"seed_key": self.seed_key} if self.seed_key else {}
        return means.recorder.record(self.tried(means, problem, options=given), answer)

    @classmethod
    def again(cls, attempt: Attempt, given: Repeated) -> Self:
        """On the same inputs."""
        return cls(
            problem=given.problem,
            source=given.source,
            file_name=attempt.file_name,
            target=given.target,
            seed_key=key_of(attempt),
        )

    def options_of_tool(self) -> dict[str, Any]:
        """None: no tool takes the key of an earlier check."""
        refuse_key(self.seed_key)
        refuse_hang(self.hang)
        return {}

    @staticmethod
    def good(answer: ProgramCheckResult) -> bool:
        """It is correct."""
        return answer.verdict == "correct"
