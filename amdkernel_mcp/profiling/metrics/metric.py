"""One row of a metric table: a name, a formula over counters, a unit, and where the formula comes from."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from amdkernel_mcp.expressions import Formula
from amdkernel_mcp.results.quantity import Evidence, Metric


@dataclass(frozen=True)
class Definition:
    """A metric as docs/metrics.md prints it. `evidence` is that of its value when no input is missing.

    `fallback`: a formula over metrics that the profiler computed itself, for recordings without the counters of `text`.
    `text` is empty where there is no other: then no counter is asked for.
    """

    name: str
    unit: str
    text: str
    evidence: Evidence
    source: str
    meaning: str = ""
    fallback: str = ""

    @cached_property
    def formula(self) -> Formula:
        """The text, parsed. Raises ExpressionError when it is not a formula."""
        return Formula(self.text)

    @cached_property
    def formulas(self) -> tuple[Formula, ...]:
        """The formula, then what stands in for it. Raises ExpressionError when one is not a formula."""
        return tuple(Formula(text) for text in (self.text, self.fallback) if text)

    def metric(self, values: Mapping[str, float]) -> Metric:
        """The metric; `not_measured` when a counter is absent or a denominator is zero."""
        return quantity(self.formula.value(values), self.unit, self.evidence)


def quantity(value: float | None, unit: str, evidence: Evidence, *, note: str | None = None) -> Metric:
    """A metric that is `not_measured` when there is no value."""
    if value is None:
        return Metric(value=None, evidence="not_measured", unit=unit, note=note)
    return Metric(value=value, evidence=evidence, unit=unit, note=note)
