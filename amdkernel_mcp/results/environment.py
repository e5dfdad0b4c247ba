"""What an environment shows of a step."""

from pydantic import Field

from amdkernel_mcp.results.kernels import Diagnosis, Diagnostic, Finding
from amdkernel_mcp.results.quantity import NOT_MEASURED, Interval, Quantity, Result


class Observation(Result):
    """What the agent sees: the problem, and what its last kernel brought. At most a few KB."""

    problem: str
    signature: str = Field(description="The kernel to write, with its arguments")
    description: str
    step: int = Field(description="Kernels tried so far")
    verdict: str | None = Field(default=None, description="Of the last kernel; null after a reset")
    reason: str = ""
    findings: list[Finding] = []
    diagnostics: list[Diagnostic] = []
    time_us: Quantity = NOT_MEASURED
    speedup: Interval = Field(default=Interval(), description="Over the baseline")
    bounds: dict[str, str | None] = Field(default={}, description="What bounds each kernel, from its profile")
    diagnosis: list[Diagnosis] = Field(default=[], description="From the profile: why it is slow and what to try")
