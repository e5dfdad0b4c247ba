"""What became of one row of a sweep."""

from __future__ import annotations

from dataclasses import dataclass, replace

from amdkernel_mcp.checking.cases.tuned import Tuning, name_of
from amdkernel_mcp.measurement.side import Side
from amdkernel_mcp.results.kernels import BenchmarkResult, CheckVerdict, Finding


@dataclass(frozen=True)
class Outcome:
    """One combination: its verdict and, if it is `correct`, its time.

    side: what the emulator counted. timed: the comparison with the default values on a GPU. rung: how often it was
    timed there.
    """

    values: Tuning
    verdict: CheckVerdict
    reason: str
    findings: tuple[Finding, ...] = ()
    side: Side | None = None
    timed: BenchmarkResult | None = None
    rung: int = 0
    cached: bool = False

    @property
    def name(self) -> str:
        """The values as text: `TILE=32 WAVES=4`."""
        return name_of(self.values)

    @property
    def counts(self) -> bool:
        """Whether it may be ranked."""
        return self.verdict == "correct" and (self.side is not None or self.timed is not None)


def refused(outcome: Outcome, verdict: CheckVerdict, reason: str, findings: tuple[Finding, ...] = ()) -> Outcome:
    """The row without a time."""
    return replace(outcome, verdict=verdict, reason=reason, findings=findings, side=None, timed=None)
