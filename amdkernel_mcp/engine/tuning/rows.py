"""Makes the rows of a sweep: compile in parallel, check on the largest case, then count or time.

All rows get the same inputs, so that their times can be compared and the reference runs once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from amdkernel_mcp.checking.cases.tuned import Tuning, fewer_seeds, name_of, with_tuning
from amdkernel_mcp.checking.check import check
from amdkernel_mcp.engine.known_steps import MEASURED_BEFORE, KnownSteps
from amdkernel_mcp.engine.prepared_kernel import PreparedKernel, side_of
from amdkernel_mcp.engine.tuning.outcome import Outcome
from amdkernel_mcp.engine.tuning.row_cache import RowCache, RowKey
from amdkernel_mcp.measurement.not_timed import stopped
from amdkernel_mcp.measurement.timed_case import largest_case, name_of_cases, timed_cases
from amdkernel_mcp.results.kernels import CheckResult, CheckVerdict
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from amdkernel_mcp.engine.kernel_steps import KernelSteps
    from amdkernel_mcp.measurement.job import TimingInputs

MOST_COMPILES = 8
"""At the same time, and never more than there are cores."""


@dataclass
class Verdicts:
    """Of rows, by their names: on the largest case, and on all cases. They do not depend on which case is timed."""

    largest: dict[str, CheckResult] = field(default_factory=dict)
    whole: dict[str, CheckResult] = field(default_factory=dict)


class Rows:
    """The rows of one kernel on one problem and target. `base`: the kernel with its default values, compiled."""

    def __init__(
        self, steps: KernelSteps, base: PreparedKernel, case: str | None = None, verdicts: Verdicts | None = None
    ) -> None:
        self._steps = steps
        self._verdicts = verdicts or Verdicts()
        self._case = case
        self.timed = name_of_cases(timed_cases(base.problem, case))
        self._base = base
        self._cache = RowCache(steps.cache_dir)
        self._key = steps.key("check", base)
        self._largest = replace(base.problem, cases=(largest_case(base.problem.cases, base.problem),), ranges={})
        self._timing: TimingInputs | None = None
        self.not_cached: dict[str, None] = {}

    def compiled(self, tunings: Sequence[Tuning]) -> Iterator[tuple[Tuning, PreparedKernel]]:
        """Each combination with its compiled kernel, in order, while others still compile. No target is needed."""
        workers = max(1, min(MOST_COMPILES, os.cpu_count() or 1, len(tunings)))
        pool = ThreadPoolExecutor(workers, thread_name_prefix="tune-compile")
        try:
            plans = [with_tuning(self._base.plan, tuning) for tuning in tunings]
            running = [pool.submit(copy_context().run, self._steps.recompile, self._base, plan) for plan in plans]
            for tuning, future in zip(tunings, running, strict=True):
                yield tuning, future.result()
        finally:
            pool.shutdown(cancel_futures=True)

    def check(self, tuning: Tuning, row: PreparedKernel, work: Work) -> CheckResult:
        """The verdict on one combination, on the largest case."""
        known, name = self._verdicts.largest, name_of(tuning)
        if name not in known:
            known[name] = self._check_largest(name, row, work)
        return known[name]

    def _check_largest(self, name: str, row: PreparedKernel, work: Work) -> CheckResult:
        return check(
            sandbox=row.sandbox,
            compiled=row.compiled,
            problem=self._largest,
            plan=row.plan,
            target=row.target,
            options=fewer_seeds(None),
            key=self._key,
            cache_dir=self._steps.cache_dir,
            work=work.saying(lambda _: work.say(f"checking {name}")),
        )

    def counted(
        self, tuning: Tuning, row: PreparedKernel, work: Work, *, checked: CheckResult | None = None
    ) -> Outcome:
        """The row of an emulated target. `checked`: its verdict, where that is known already."""
        key = self._row_key(row)
        if found := self._cache.get(key):
            return found
        checked = checked or self.check(tuning, row, work)
        outcome = judged(tuning, checked)
        if checked.verdict == "correct":
            outcome = self._measured(outcome, row, work)
        if reason := self._cache.put(key, outcome):
            self.not_cached[f"a row was not cached: {reason}"] = None
        return outcome

    def _measured(self, outcome: Outcome, row: PreparedKernel, work: Work) -> Outcome:
        planned = self._steps.plan_measurement(row, self._inputs)
        known = f"{outcome.name} was measured before"
        named = work.saying(lambda text: work.say(known if text == MEASURED_BEFORE else f"measuring {outcome.name}"))
        measured = KnownSteps(self._steps).measure(row, planned, named)
        if measured.finding:
            answer = stopped(measured.finding, outcome.name, row.target.name, row.sandbox.isolation)
            verdict: CheckVerdict = answer.verdict if answer.verdict in _STOPPED else "crashed"  # type: ignore[assignment]
            return replace(outcome, verdict=verdict, reason=answer.reason, findings=(measured.finding,))
        if measured.wrong_outputs:
            reason = f"right in its check and wrong while it is measured: {measured.wrong_outputs}"
            return replace(outcome, verdict="incorrect", reason=reason, findings=measured.findings)
        return replace(outcome, side=side_of(row, measured))

    @property
    def _inputs(self) -> TimingInputs:
        """Those of the default values for all rows, made once."""
        self._timing = self._timing or self._steps.timing_inputs(self._base, case=self._case)
        return self._timing

    def _row_key(self, row: PreparedKernel) -> RowKey:
        return RowKey(
            source=row.compiled.source,
            flags=(*row.plan.flags(), *row.compiled.result.headers.values()),
            problem=row.problem.hash,
            arch=row.target.arch,
            gpu=row.target.gpu,
            image=row.sandbox.image_id,
            inputs=self._key.commitment,
            case=self.timed,
        )


_STOPPED = frozenset({"invalid", "timeout", "deadlock", "not_emulated"})


def judged(tuning: Tuning, checked: CheckResult) -> Outcome:
    """The row that a check makes; a correct one has no time yet."""
    verdict = checked.verdict or "not_measured"
    return Outcome(tuning, verdict, checked.reason, tuple(checked.findings))
