"""The verb: try the rows, rank them, check the best one on everything, and say what may be said."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amdkernel_mcp.checking.cases.tuned import Tuning, name_of
from amdkernel_mcp.checking.check import invalid
from amdkernel_mcp.engine.tuning.answer import answer_of
from amdkernel_mcp.engine.tuning.judges import CountingJudge, Judge, TimingJudge
from amdkernel_mcp.engine.tuning.outcome import Outcome, refused
from amdkernel_mcp.engine.tuning.ranking import RankedRow, rank_counted, rank_timed
from amdkernel_mcp.engine.tuning.rows import Rows
from amdkernel_mcp.engine.tuning.space import Space, TuneOptions, space_of, unused_names
from amdkernel_mcp.engine.tuning.strategy import strategy_of
from amdkernel_mcp.errors import JobError
from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.languages.table import language_of
from amdkernel_mcp.results.kernels import CheckResult
from amdkernel_mcp.results.quantity import Interval
from amdkernel_mcp.results.tuning import TuneResult

if TYPE_CHECKING:
    from amdkernel_mcp.engine.kernel_steps import KernelSteps, Progress
    from amdkernel_mcp.engine.prepared_kernel import PreparedKernel


@dataclass(frozen=True)
class Tuned:
    """The answer, and the rows as benchmarks, for their records."""

    result: TuneResult
    rows: tuple[RankedRow, ...] = ()


def tune(
    steps: KernelSteps,
    base: PreparedKernel,
    options: TuneOptions,
    on_progress: Progress,
    *,
    on_cancel: Callable[[Tuned], object],
) -> Tuned:
    """Try the values of a kernel's `tune` lines. `base`: the kernel with its default values.

    `on_cancel`: gets the finished rows, unranked, of a sweep that is cancelled.

    Raises InputError for a kernel without such a line; a bad line is the verdict `invalid`.
    """
    began = time.monotonic()
    if base.plan.mistakes:
        return Tuned(_invalid(invalid(base.plan.mistakes), base))
    space = space_of(base.plan, file_name=base.file_name)
    sweep = _Sweep(steps, base, space, options, on_progress)

    def answer(rows: Sequence[RankedRow]) -> TuneResult:
        source = base.compiled.source
        language = language_of(source, base.file_name)
        unused = [name for name in unused_names(space, source) if name not in language.options]
        notes = [f"{name} is used nowhere in the kernel" for name in unused]
        how = sweep.strategy.name
        result = answer_of(rows, space=space, options=options, strategy=how, emulated=sweep.emulated, language=language)
        update = {
            "target": base.target.name,
            "case": sweep.rows.timed,
            "reason": f"{result.reason}; case {sweep.rows.timed}",
            "isolation": base.sandbox.isolation,
            "notes": [*notes, *result.notes],
            "not_cached": list(sweep.rows.not_cached),
            "seconds": round(time.monotonic() - began, 3),
        }
        return result.model_copy(update=update)

    try:
        rows = sweep.rows_ranked()
    except JobError:  # it was cancelled
        if rows := sweep.finished_rows():
            on_cancel(Tuned(_cancelled(answer(rows), sweep.total), tuple(rows)))
        raise
    return Tuned(answer(rows), tuple(rows))


def _cancelled(ranked: TuneResult, total: int) -> TuneResult:
    """The finished rows without a choice: nothing was checked on all cases, and other rows may be better."""
    rows = [row.model_copy(update={"rank": None, "tie": False}) for row in ranked.rows]
    reason = f"cancelled after {len(rows)} of {total} rows, so none was chosen"
    nothing: dict[str, object] = {"best": None, "line": None, "speedup": Interval(), "findings": []}
    return ranked.model_copy(update={"verdict": "not_measured", "reason": reason, "rows": rows, **nothing})


def _invalid(refusal: CheckResult, base: PreparedKernel) -> TuneResult:
    return TuneResult(
        verdict="invalid",
        reason=refusal.reason,
        findings=refusal.findings,
        target=base.target.name,
        isolation=base.sandbox.isolation,
    )


class _Sweep:
    """One sweep: what was tried so far, and what is known to be best."""

    def __init__(
        self, steps: KernelSteps, base: PreparedKernel, space: Space, options: TuneOptions, on_progress: Progress
    ) -> None:
        self.rows = Rows(steps, base, options.case)
        self.strategy = strategy_of(space, options)
        self.emulated = base.target.kind == "emulator"
        self._steps, self._base, self._space = steps, base, space
        self._report = on_progress
        self._judge: Judge = (
            CountingJudge(self.rows, base)
            if self.emulated
            else TimingJudge(steps, self.rows, base.target.name, options.case)
        )
        self.total = min(space.size, options.rows)
        self._outcomes: list[Outcome] = []
        self._best: tuple[float, str] | None = None

    def rows_ranked(self) -> list[RankedRow]:
        """Try the rows, rank them, and check the best on all cases and seeds; one that fails cannot be chosen."""
        self._try_default()
        while batch := self.strategy.ask():
            for tuning, prepared in self.rows.compiled(batch):
                self._keep(self._judge.row(tuning, prepared, self._progress))
        while True:
            ranked = self._judge.rank(self._outcomes, self._progress)
            best = ranked[0]
            if best.rank is None or best.outcome.values == self._space.default:
                return ranked
            checked = self._check_all(best.outcome.values)
            if checked.verdict == "correct":
                return ranked
            self._outcomes = [
                refused(each, checked.verdict or "not_measured", checked.reason, tuple(checked.findings))
                if each.values == best.outcome.values
                else each
                for each in self._outcomes
            ]

    def finished_rows(self) -> list[RankedRow]:
        """The rows so far, with the times that they have."""
        where = self._base.target
        if self.emulated:
            return rank_counted(self._outcomes, gpu=gpu_by_name(where.gpu), target=where.name)
        return rank_timed(self._outcomes, target=where.name)

    def _try_default(self) -> None:
        default = self._space.default
        checked = self._steps.check(self._base, lambda _: self._progress(f"checking {name_of(default)}"))
        self._keep(self._judge.row(default, self._base, self._progress, checked=checked))

    def _check_all(self, tuning: Tuning) -> CheckResult:
        said = f"checking {name_of(tuning)} on all cases"
        self._progress(said)
        [(_, prepared)] = self.rows.compiled([tuning])
        return self._steps.check(prepared, lambda _: self._progress(said))

    def _keep(self, outcome: Outcome) -> None:
        cost = self._judge.cost(outcome)
        self._outcomes.append(outcome)
        self.strategy.tell(outcome.values, cost)
        if cost is not None and (self._best is None or cost < self._best[0]):
            self._best = (cost, outcome.name)
        self._progress("")

    def _progress(self, step: str) -> None:
        """Where the sweep is. Raises where the job was cancelled."""
        done = f"{len(self._outcomes)} of {self.total} rows"
        best = ""
        if self._best:
            cost, name = self._best
            time_said = f"{cost:.4g} us modelled" if self.emulated else f"{cost:.3g} of the default's time"
            best = f"; best so far {name} ({time_said})"
        self._report(f"{done}{best}{f'; {step}' if step else ''}")
