"""How the rows of a GPU are timed; the times come from a table, since there is no GPU."""

from dataclasses import dataclass, field
from typing import Any, cast

from amdkernel_mcp.engine.tuning.judges import TimingJudge
from amdkernel_mcp.engine.tuning.outcome import Outcome
from amdkernel_mcp.measurement.timing.interleaved import Plan
from amdkernel_mcp.results.kernels import BenchmarkResult, CheckResult
from amdkernel_mcp.results.quantity import Interval, Quantity
from amdkernel_mcp.work import Work

CORRECT = CheckResult(verdict="correct", reason="fine")


@dataclass
class Clock:
    """Stands for the steps: a row's name is its kernel, and its speed-up over the default is in a table."""

    speeds: dict[str, float | str]
    timed: list[tuple[str, str, int]] = field(default_factory=list)

    def benchmark_in_turns(
        self, row: str, default: str, work: Work, *, protocol: Plan, case: str | None
    ) -> BenchmarkResult:
        assert case is None
        pairs = protocol.looks[-1]
        self.timed.append((row, default, pairs))
        work.say("timing")
        speed = self.speeds[row]
        if isinstance(speed, str):
            return BenchmarkResult(verdict=cast("Any", speed), reason=f"it is {speed}")
        width = 0.3 / pairs
        return BenchmarkResult(
            verdict="faster" if speed - width > 1 else "inconclusive",
            reason="timed",
            speedup=Interval(value=speed, low=speed - width, high=speed + width),
            time_us=Quantity(value=100 / speed, evidence="measured"),
            baseline_time_us=Quantity(value=100.0, evidence="measured"),
        )


def sweep(
    clock: Clock, default: CheckResult = CORRECT
) -> tuple[list[tuple[str, int | None]], list[Outcome], list[str]]:
    """The names and ranks, best first; the outcomes; the progress."""
    said: list[str] = []
    work = Work(say=said.append)
    judge = TimingJudge(cast("Any", clock), cast("Any", None), "gpu1:0")
    outcomes = [
        judge.row({"T": name}, cast("Any", name), work, checked=default if name == "0" else CORRECT)
        for name in clock.speeds
    ]
    ranked = judge.rank(outcomes, work)
    return [(row.outcome.values["T"], row.rank) for row in ranked], [row.outcome for row in ranked], said


def test_the_fastest_rows_are_timed_longest_and_every_row_against_the_default() -> None:
    clock = Clock({"0": 1.0, **{str(k): 1 + 0.1 * k for k in range(1, 9)}})
    ranks, outcomes, said = sweep(clock)
    assert ranks[:2] == [("8", 1), ("7", 2)]
    assert {default for _, default, _ in clock.timed} == {"0"}
    assert [row for row, _, pairs in clock.timed if pairs == 64] == ["8", "7"]
    assert sum(pairs for _, _, pairs in clock.timed) < 8 * 64 * 0.6, "all rows in full would be 64 each"
    assert "timing T=8, round 5 of 5" in said
    [own] = [each for each in outcomes if each.values["T"] == "0"]
    assert own.timed is not None
    assert own.timed.time_us == Quantity(value=100.0, evidence="measured")


def test_a_row_whose_timed_outputs_are_wrong_loses_its_rank() -> None:
    ranks, outcomes, _ = sweep(Clock({"0": 1.0, "1": "incorrect", "2": 1.5, "3": "not_measured"}))
    assert ranks == [("2", 1), ("0", 2), ("1", None), ("3", None)]
    assert [each.verdict for each in outcomes[2:]] == ["incorrect", "not_measured"]


def test_where_the_default_is_wrong_rows_are_timed_against_the_first_correct_one() -> None:
    clock = Clock({"0": 1.0, "1": 1.0, "2": 2.0})
    ranks, _, _ = sweep(clock, CheckResult(verdict="incorrect", reason="wrong"))
    assert ranks == [("2", 1), ("1", 2), ("0", None)]
    assert {(row, default) for row, default, _ in clock.timed} == {("2", "1")}
