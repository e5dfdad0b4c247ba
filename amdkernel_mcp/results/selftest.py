"""What a self-test returns."""

from typing import Literal

from pydantic import Field

from amdkernel_mcp.results.quantity import Result

NOT_RUN = "not run"
"""What a step got that was left out; it counts as neither right nor wrong."""


class SelftestRow(Result):
    """One kernel, or comparison, whose right verdict is known."""

    name: str
    verb: Literal["check", "benchmark", "simulated"] = Field(
        description="`simulated`: the timing method on a simulated GPU clock, without the target"
    )
    expected: list[str] = Field(description="The verdicts that are right")
    got: str
    ok: bool
    reason: str


class SelftestResult(Result):
    """Whether kernels that are known to be right or wrong get their verdicts here."""

    ok: bool
    target: str
    seconds: float
    rows: list[SelftestRow]
