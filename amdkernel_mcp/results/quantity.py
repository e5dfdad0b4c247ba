"""Numbers with their evidence, and the base of all results."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Evidence = Literal["measured", "emulated", "modelled", "static", "not_measured"]


class Result(BaseModel):
    """Base of all answers: frozen, declared keys only."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)


class Quantity(Result):
    """A number and where it came from; without evidence there is no number."""

    value: float | None
    evidence: Evidence

    @model_validator(mode="after")
    def _number_needs_evidence(self) -> Self:
        if (self.value is None) != (self.evidence == "not_measured"):
            raise ValueError("`value` must be null exactly when evidence is `not_measured`")
        return self


class Metric(Quantity):
    """A quantity with its unit, as one row of a profile."""

    unit: str
    note: str | None = Field(default=None, description="Why the number must be read with care")


NOT_MEASURED = Quantity(value=None, evidence="not_measured")


class Interval(Result):
    """An estimate with its interval, all null where nothing was measured or modelled. The reason has its level."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
