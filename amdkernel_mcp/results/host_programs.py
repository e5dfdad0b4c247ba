"""What `check_program` returns."""

from typing import Literal

from pydantic import Field

from amdkernel_mcp.results.kernels import CheckResult


class ProgramCheckResult(CheckResult):
    """Whether a program with its own `main` writes what its problem asks. Not comparable with the check of a kernel."""

    trust: Literal["unverified: host code"] = Field(
        default="unverified: host code",
        description="The program itself decides what runs and may answer without the GPU; it has no times of ours",
    )
    run_seconds: list[float] = Field(
        default=[], description="Wall time of each run with its sandbox, taken outside of it; not a time of a kernel"
    )
