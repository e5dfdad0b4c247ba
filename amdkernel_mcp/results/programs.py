"""The profile of a whole program."""

from pydantic import Field

from amdkernel_mcp.results.kernels import Diagnosis, KernelProfile, Span
from amdkernel_mcp.results.quantity import Result


class ProgramKernel(Result):
    """One kernel of a program: all its launches together, then what one of them does."""

    name: str = Field(description="As the source has it, where it can be demangled")
    launches: int = Field(description="Over 1,000 of one grid and block it may be 2 % more")
    shapes: int = Field(description="Different grids and blocks among them")
    share: float | None = Field(description="Of the modelled time of all kernels, 0 to 1; null without a time model")
    modelled_us: Span | None = Field(description="Of all launches together; most such times lie in it")
    bound: str | None = Field(description="The resource that bounds the time")
    occupancy_waves_per_simd: int | None = None
    occupancy_limit: str | None = Field(default=None, description="`wave_slots`, `vgpr`, `sgpr` or `lds`")
    profile: KernelProfile = Field(description="Of the first launches of each grid and block")
    diagnosis: list[Diagnosis] = []


class ProgramProfile(Result):
    """What the kernels of a program did on the emulator, the one with most modelled time first."""

    target: str
    reason: str
    kernels: list[ProgramKernel] = []
    notes: list[str] = []
