"""One sweep: the rows are tried and ranked, and the best one is checked on everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from amdkernel_mcp.checking.cases.tuned import Tuning, name_of
from amdkernel_mcp.engine.tuning.answer import answer_of
from amdkernel_mcp.engine.tuning.judges import CountingJudge, Judge, TimingJudge
from amdkernel_mcp.engine.tuning.outcome import Outcome, refused
from amdkernel_mcp.engine.tuning.ranking import RankedRow, rank_counted, rank_timed
from amdkernel_mcp.engine.tuning.rows import Rows, Verdicts
from amdkernel_mcp.engine.tuning.space import Space, TuneOptions, unused_names
from amdkernel_mcp.engine.tuning.strategy import strategy_of
from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.languages.table import language_of
from amdkernel_mcp.results.kernels import CheckResult
from amdkernel_mcp.results.tuning import TuneResult
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from amdkernel_mcp.engine.kernel_steps import KernelSteps
    from amdkernel_mcp.engine.prepared_kernel import PreparedKernel


class Sweep:
    """One sweep: what was tried so far, and what is known to be best. `verdicts`: of a sweep with the same cases."""

    def __init__(
        self,
        steps: KernelSteps,
        base: PreparedKernel,
        space: Space,
        options: TuneOptions,
        work: Work,
        verdicts: Verdicts | None = None,
    ) -> None:
        self._verdicts = verdicts or Verdicts()
        self._options = options
        self.rows = Rows(steps, base, options.case, self._verdicts)
        self.strategy = strategy_of(space, options)
        self.emulated = base.target.kind == "emulator"
        self._steps, self._base, self._space = steps, base, space
        self._report, self._work = work.say, work.saying(self._progress)
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
                self._keep(self._judge.row(tuning, prepared, self._work))
        while True:
            ranked = self._judge.rank(self._outcomes, self._work)
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

    def answer(self, rows: Sequence[RankedRow]) -> TuneResult:
        """What is said about ranked rows."""
        base, source = self._base, self._base.compiled.source
        language = language_of(source, base.file_name)
        unused = [name for name in unused_names(self._space, source) if name not in language.options]
        result = answer_of(
            rows,
            space=self._space,
            options=self._options,
            strategy=self.strategy.name,
            emulated=self.emulated,
            language=language,
        )
        update = {
            "target": base.target.name,
            "case": self.rows.timed,
            "reason": f"{result.reason}; case {self.rows.timed}",
            "isolation": base.sandbox.isolation,
            "notes": [*(f"{name} is used nowhere in the kernel" for name in unused), *result.notes],
            "not_cached": list(self.rows.not_cached),
        }
        return result.model_copy(update=update)

    def finished_rows(self) -> list[RankedRow]:
        """The rows so far, with the times that they have."""
        where = self._base.target
        if self.emulated:
            return rank_counted(self._outcomes, gpu=gpu_by_name(where.gpu), target=where.name)
        return rank_timed(self._outcomes, target=where.name)

    def _try_default(self) -> None:
        default = self._space.default
        checked = self._check_whole(default, self._base, f"checking {name_of(default)}")
        self._keep(self._judge.row(default, self._base, self._work, checked=checked))

    def _check_all(self, tuning: Tuning) -> CheckResult:
        said = f"checking {name_of(tuning)} on all cases"
        self._progress(said)
        [(_, prepared)] = self.rows.compiled([tuning])
        return self._check_whole(tuning, prepared, said)

    def _check_whole(self, tuning: Tuning, prepared: PreparedKernel, said: str) -> CheckResult:
        known = self._verdicts.whole
        if (name := name_of(tuning)) not in known:
            known[name] = self._steps.check(prepared, self._work.saying(lambda _: self._progress(said)))
        return known[name]

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
