"""tune: the best values of a kernel's `tune` lines. The sweep itself is in `engine/tuning`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from amdkernel_mcp.engine.tuning.space import USUAL, TuneOptions
from amdkernel_mcp.engine.verbs.shorten import LAST, STRINGS, Cut, Keep, KeepFirst
from amdkernel_mcp.engine.verbs.verb import Means, ProblemVerb, Repeated
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.results.tuning import TuneResult

if TYPE_CHECKING:
    from amdkernel_mcp.engine.tuning.tune import Tuned
    from amdkernel_mcp.history.attempt import Attempt


@dataclass(frozen=True, kw_only=True)
class Tune(ProblemVerb[TuneResult]):
    """Try the values of the kernel's `tune` lines: each row is verified, and the correct ones are ranked by time.

    With a table of shapes: on each shape, with a rule from shape to values.
    A cancelled sweep leaves the record of its finished rows. Raises InputError for a kernel without such a line.
    """

    name: ClassVar = "tune"
    tool: ClassVar = "tune_kernel"
    key: ClassVar = "tune"
    answer: ClassVar = TuneResult
    scope: ClassVar = "check"
    timed: ClassVar = True
    sweeps: ClassVar = True
    shortened: ClassVar = (
        Cut("rows", 120),
        KeepFirst("rows", 16),
        Cut("shapes", 160),
        Cut("rows", 60),
        KeepFirst("rows", 10),
        Keep("findings", 4),
        Keep("diagnostics", 4),
        KeepFirst("shapes", 16),
        *STRINGS,
        KeepFirst("rows", 5),
        KeepFirst("shapes", 6),
        LAST,
    )

    options: TuneOptions = USUAL

    def do(self, means: Means) -> TuneResult:
        """The table of the rows."""
        from amdkernel_mcp.engine.tuning.records import record_sweep
        from amdkernel_mcp.engine.tuning.tune import tune

        means.recorder.warm_up()
        steps, work = means.steps, means.work
        problem = steps.problem(self.problem, work.owner)
        base = steps.prepare(problem, self.source, file_name=self.file_name, target=self.target, work=work)
        tried = self.tried(
            means,
            problem,
            options={name: value for name, value in asdict(self.options).items() if value is not None},
            ran=lambda: [steps.what_ran(base, ("check", "timing"))],
        )

        def record(tuned: Tuned) -> TuneResult:
            stamped = means.judged.stamp_sweep(tuned.result, self.source, problem)
            return record_sweep(means.recorder, tried, replace(tuned, result=stamped))

        return record(tune(steps, base, self.options, work, on_cancel=record))

    @classmethod
    def again(cls, attempt: Attempt, given: Repeated) -> Self:
        """With the recorded options."""
        from amdkernel_mcp.history.attempts import read_options

        return cls(
            problem=given.problem,
            source=given.source,
            file_name=attempt.file_name,
            target=given.target,
            options=read_options(TuneOptions, attempt.options),
        )

    def options_of_tool(self) -> dict[str, Any]:
        """The number of rows, the case and the shapes; not the seed of a search."""
        if self.options.seed:
            raise InputError("a search with a seed of your own runs on your machine alone", hint="leave --url out")
        return {"rows": self.options.rows, "case": self.options.case, "shapes": self.options.shapes}

    @staticmethod
    def good(answer: TuneResult) -> bool:
        """There is a best row, whether or not it is faster than the default values."""
        return answer.best is not None
