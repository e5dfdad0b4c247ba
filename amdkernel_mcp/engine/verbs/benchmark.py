"""benchmark: the time of a correct kernel, against that of another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from amdkernel_mcp.engine.verbs.shorten import LAST, STRINGS, Keep
from amdkernel_mcp.engine.verbs.verb import Means, ProblemVerb, Repeated, Text
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.results.kernels import BenchmarkResult

if TYPE_CHECKING:
    from amdkernel_mcp.engine.prepared_kernel import PreparedKernel
    from amdkernel_mcp.history.attempt import Attempt


@dataclass(frozen=True, kw_only=True)
class Benchmark(ProblemVerb[BenchmarkResult]):
    """Time a kernel, against the kernel `baseline` if given: its text or `attempt:ID`. Only correct ones are timed.

    `values`: those of its `tune` lines, by default its default values. `case`: in place of the profile case, or
    largest. `fresh`: nothing that was found before is used.
    """

    name: ClassVar = "benchmark"
    tool: ClassVar = "benchmark_kernel"
    key: ClassVar = "benchmark"
    answer: ClassVar = BenchmarkResult
    scope: ClassVar = "check"
    timed: ClassVar = True
    also_recorded: ClassVar = ("tune_row",)
    shortened: ClassVar = (
        Keep("diagnostics", 10),
        Keep("findings", 12),
        Keep("counters", 24),
        Keep("flags", 12),
        *STRINGS,
        Keep("counters", 12),
        Keep("diagnostics", 4),
        Keep("findings", 4),
        Keep("limits_us", 8),
        Keep("flags", 6),
        Keep("counters", 6),
        LAST,
    )

    baseline: Text | None = None
    baseline_file: Text = "baseline.hip"
    values: Mapping[str, str] | None = None
    case: Text | None = None
    fresh: bool = False

    def do(self, means: Means) -> BenchmarkResult:
        """The verdict on the two times."""
        from amdkernel_mcp.engine.benchmark_steps import benchmark_steps
        from amdkernel_mcp.measurement.not_timed import name_baseline

        means.recorder.warm_up()
        by = means.work.owner
        baseline, baseline_file = means.attempts.named_source(self.baseline, self.baseline_file, by=by)
        problem = means.steps.problem(self.problem, by)  # once: its files can change while the kernels run
        seen: list[PreparedKernel] = []
        answer = benchmark_steps(
            means.steps,
            problem,
            self.source,
            file_name=self.file_name,
            baseline=baseline,
            baseline_file=baseline_file,
            target=self.target,
            values=self.values,
            work=means.work,
            seen=seen,
            case=self.case,
            fresh=self.fresh,
        )
        answer = name_baseline(answer, baseline_file)
        names = ("code_object", "baseline_code_object")
        compiled = {name: each.compiled.result.code_object for name, each in zip(names, seen, strict=False)}
        answer = answer.model_copy(update=compiled)
        answer = means.judged.stamp_comparison(answer, self.source, baseline, problem)
        tried = self.tried(
            means,
            problem,
            baseline=baseline,
            options={
                **({"values": dict(self.values)} if self.values else {}),
                **({"case": self.case} if self.case else {}),
            },
            ran=lambda: [means.steps.what_ran(each, ("check", "timing")) for each in seen],
        )
        return means.recorder.record(tried, answer)

    @classmethod
    def again(cls, attempt: Attempt, given: Repeated) -> Self:
        """Also the row of a sweep: a benchmark with the values of the row."""
        return cls(
            problem=given.problem,
            source=given.source,
            file_name=attempt.file_name,
            target=given.target,
            baseline=given.baseline,
            values=attempt.options.get("values"),
            case=attempt.options.get("case"),
            fresh=True,
        )

    def options_of_tool(self) -> dict[str, Any]:
        """The baseline; not the values of a row."""
        if self.values:
            raise InputError("the row of a sweep is repeated on the machine that has it")
        return {"baseline_source": self.baseline, "case": self.case}

    def files(self) -> Mapping[str, str]:
        """The kernel and the baseline."""
        return {"file_name": self.file_name, "baseline_file": self.baseline_file}

    def received(self, answer: BenchmarkResult) -> BenchmarkResult:
        """With the caller's name of a baseline that is at fault."""
        if answer.at_fault is None:
            return answer
        reason = answer.reason.replace(answer.at_fault, self.baseline_file, 1)
        return answer.model_copy(update={"at_fault": self.baseline_file, "reason": reason})

    @staticmethod
    def good(answer: BenchmarkResult) -> bool:
        """It is faster than the baseline, or timed where there is none."""
        alone = answer.hashes is None or answer.hashes.baseline is None
        timed = answer.time_us.value is not None and answer.verdict in (None, "inconclusive")
        return answer.verdict == "faster" or (alone and timed)
