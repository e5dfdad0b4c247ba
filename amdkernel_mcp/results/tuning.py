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
    shape: str | None = Field(default=None, description="Of a table")


class TunedShape(Result):
    """One shape of a table: a sweep on it alone."""

    # Costs are times of the best row's time; 1 where the two do not differ surely.
    shape: str
    held_out: bool = False
    verdict: BenchmarkVerdict
    reason: str
    best: dict[str, str] | None = None
    speedup: Interval = Interval()
    by_rule: dict[str, str] | None = None
    by_rule_costs: float | None = None


class RuleLeaf(Result):
    """What the shapes get that meet `when`."""

    when: str
    line: str


class ShapeRule(Result):
    """From shape to values, fitted without the held-out shapes, on which the costs are."""

    leaves: list[RuleLeaf]
    held_out: int
    mean_cost: float | None = None
    worst_cost: float | None = None
    best_mean_cost: float | None = Field(default=None, description="Of `best` on all shapes")
    best_worst_cost: float | None = None


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
    shapes: list[TunedShape] = []
    rule: ShapeRule | None = None
    hashes: Hashes | None = None
    notes: list[str] = []
    seconds: float = 0.0
    findings: list[Finding] = []
    diagnostics: list[Diagnostic] = []
