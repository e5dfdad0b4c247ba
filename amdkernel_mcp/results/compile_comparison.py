"""What changed between two compiles."""

from typing import Literal

from pydantic import Field

from amdkernel_mcp.results.quantity import Result

CompileChange = Literal["better", "worse", "mixed", "same"]


class ResourceChange(Result):
    """A figure of both compiles; `better` is null where it says nothing without the others."""

    figure: str
    before: int
    after: int
    better: bool | None = None


class KernelChange(Result):
    """What changed for one kernel."""

    kernel: str
    earlier_name: str | None = None
    verdict: CompileChange
    figures: list[ResourceChange] = Field(default=[], description="Those that differ")


class CompileComparison(Result):
    """Against another compile, by what the code objects say; no kernel ran."""

    compared_with: str
    verdict: CompileChange
    reason: str
    arch: str = Field(description="Of the other, as the next two")
    flags: list[str] | None = Field(default=None, description="Null: not known")
    toolchain: str | None = None
    kernels: list[KernelChange] = []
    gone: list[str] = Field(default=[], description="Kernels of the other alone")
    new: list[str] = []
