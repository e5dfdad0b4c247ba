"""What tune returns."""

from typing import Literal

from pydantic import Field

from amdkernel_mcp.results.job_answer import JobAnswer
from amdkernel_mcp.results.kernels import BenchmarkVerdict, CheckVerdict, Diagnostic, Finding, Hashes
from amdkernel_mcp.results.quantity import NOT_MEASURED, Evidence, Interval, Quantity, Result


class TuneRow(Result):
    """One combination of `tune` values. Only correct ones have a rank."""

    values: dict[str, str]
    verdict: CheckVerdict = Field(description="Of the largest case; of all cases for the best row and the default")
    reason: str
    rank: int | None = None
    tie: bool = Field(default=False, description="Its time does not differ surely from the best row's")
    time_us: Quantity = NOT_MEASURED
    interval_us: Interval = Interval()
    ratio: Interval = Field(default=Interval(), description="How many times as fast as the default values")
    compared: Literal["faster", "slower", "inconclusive"] | None = Field(
        default=None, description="With the default values"
    )
    default: bool = Field(default=False, description="The values without a sweep")
    cached: bool = False
    attempt: str | None = Field(default=None, description="The record of this row")


class TuneResult(JobAnswer):
    """The rows of a sweep, best first, and the values to choose."""

    verdict: BenchmarkVerdict | None = Field(
        default=None, description="`faster`: the best row is faster than the default; `inconclusive`: none surely is"
    )
    reason: str = ""
    case: str | None = None
    evidence: Evidence = Field(default="not_measured", description="Of all times here")
    best: dict[str, str] | None = None
    line: str | None = Field(default=None, description="Paste it in place of the `tune` lines to choose the best row")
    speedup: Interval = Field(default=Interval(), description="Of the best row over the default values")
    rows: list[TuneRow] = []
    combinations: int = Field(default=0, description="How many the `tune` lines have")
    strategy: Literal["sweep", "search"] | None = Field(
        default=None, description="`sweep`: all combinations; `search`: a part of them, chosen by their times"
    )
    seed: int | None = Field(default=None, description="Of the search")
    hashes: Hashes | None = None
    notes: list[str] = []
    seconds: float = 0.0
    findings: list[Finding] = []
    diagnostics: list[Diagnostic] = []
