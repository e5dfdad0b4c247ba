"""How the rows of a target get their verdict and time: by counts of the emulator, or by timing in turns on a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from amdkernel_mcp.checking.cases.tuned import Tuning
from amdkernel_mcp.engine.tuning.halving import Rung, halve, rungs
from amdkernel_mcp.engine.tuning.outcome import Outcome, refused
from amdkernel_mcp.engine.tuning.ranking import RankedRow, rank_counted, rank_timed
from amdkernel_mcp.engine.tuning.rows import Rows, judged
from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.measurement.modelled import modelled_time
from amdkernel_mcp.results.kernels import BenchmarkResult, CheckResult, CheckVerdict
from amdkernel_mcp.results.quantity import Interval
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from amdkernel_mcp.engine.kernel_steps import KernelSteps
    from amdkernel_mcp.engine.prepared_kernel import PreparedKernel


_REFUSALS: Mapping[str, CheckVerdict] = {
    "invalid": "invalid",
    "incorrect": "incorrect",
    "crashed": "crashed",
    "timeout": "timeout",
    "deadlock": "deadlock",
}


class Judge(Protocol):
    """What the sweep needs of a target. The default values are the first row."""

    def row(
        self, tuning: Tuning, prepared: PreparedKernel, work: Work, *, checked: CheckResult | None = None
    ) -> Outcome:
        """Check one combination and give it a first time. `checked`: its verdict, where that is known already."""
        ...

    def cost(self, outcome: Outcome) -> float | None:
        """The smaller the better; None: the row has no rank."""
        ...

    def rank(self, outcomes: Sequence[Outcome], work: Work) -> list[RankedRow]:
        """All rows, best first."""
        ...


class CountingJudge:
    """Emulated targets: each row once, from the cache where it was counted before."""

    def __init__(self, rows: Rows, base: PreparedKernel) -> None:
        self._rows = rows
        self._gpu = gpu_by_name(base.target.gpu)
        self._target = base.target.name

    def row(
        self, tuning: Tuning, prepared: PreparedKernel, work: Work, *, checked: CheckResult | None = None
    ) -> Outcome:
        """Check and count."""
        if checked is not None and checked.verdict != "correct":
            return judged(tuning, checked)
        return replace(self._rows.counted(tuning, prepared, work, checked=checked), values=tuning)

    def cost(self, outcome: Outcome) -> float | None:
        """The modelled time in us."""
        time = modelled_time(outcome.side, self._gpu) if outcome.side and outcome.counts else None
        return time.value if time else None

    def rank(self, outcomes: Sequence[Outcome], work: Work) -> list[RankedRow]:  # noqa: ARG002 - a GPU's
        """By the modelled time."""
        return rank_counted(outcomes, gpu=self._gpu, target=self._target)


class TimingJudge:
    """GPUs: each correct row is timed in turns with the default values, the better half ever longer."""

    def __init__(self, steps: KernelSteps, rows: Rows, target: str, case: str | None = None) -> None:
        self._steps = steps
        self._rows = rows
        self._target = target
        self._case = case
        self._ladder = rungs()
        self._baseline: PreparedKernel | None = None
        self._prepared: dict[str, PreparedKernel] = {}

    def row(
        self, tuning: Tuning, prepared: PreparedKernel, work: Work, *, checked: CheckResult | None = None
    ) -> Outcome:
        """Check, then time in the first rung, against the first correct row: the default values, if they are."""
        outcome = judged(tuning, checked or self._rows.check(tuning, prepared, work))
        if outcome.verdict != "correct":
            return outcome
        self._prepared[outcome.name] = prepared
        if self._baseline is None:
            self._baseline = prepared
            own = BenchmarkResult(verdict="inconclusive", speedup=Interval(value=1, low=1, high=1), target=self._target)
            return replace(outcome, timed=own)
        return self._timed(outcome, self._ladder[0], work)

    def cost(self, outcome: Outcome) -> float | None:
        """The share of the default's time."""
        speed = outcome.timed.speedup.value if outcome.timed and outcome.counts else None
        return 1 / speed if speed else None

    def rank(self, outcomes: Sequence[Outcome], work: Work) -> list[RankedRow]:
        """Successive halving over the rows that count, after the rung that all of them had."""
        found = {outcome.name: outcome for outcome in outcomes}
        rivals = [outcome for outcome in outcomes if outcome.counts and outcome.rung]

        def time_row(row: Outcome, rung: Rung) -> float | None:
            if found[row.name].rung < rung.number:
                found[row.name] = self._timed(found[row.name], rung, work)
            speed = self.cost(found[row.name])
            return 1 / speed if speed else None

        halve(rivals, time_row, self._ladder)
        self._set_time_of_default(found)
        return rank_timed(list(found.values()), target=self._target)

    def _timed(self, outcome: Outcome, rung: Rung, work: Work) -> Outcome:
        assert self._baseline is not None
        answer = self._steps.benchmark_in_turns(
            self._prepared[outcome.name],
            self._baseline,
            work.saying(lambda _: work.say(f"timing {outcome.name}, round {rung.number} of {len(self._ladder)}")),
            protocol=rung.plan,
            case=self._case,
        )
        if answer.speedup.value is None or answer.verdict not in ("faster", "slower", "inconclusive"):
            known = _REFUSALS.get(answer.verdict or "", "not_measured")
            return refused(outcome, known, answer.reason, tuple(answer.findings))
        return replace(outcome, timed=answer, rung=rung.number)

    def _set_time_of_default(self, found: dict[str, Outcome]) -> None:
        """The default was timed next to each other row; its time is that of the longest comparison."""
        longest = max((each for each in found.values() if each.rung), key=lambda each: each.rung, default=None)
        own = next((each for each in found.values() if each.timed and not each.rung), None)
        if longest and own and longest.timed and own.timed:
            timed = own.timed.model_copy(update={"time_us": longest.timed.baseline_time_us})
            found[own.name] = replace(own, timed=timed)
