"""What `amdkernel inspect` returns."""

from pydantic import Field

from amdkernel_mcp.results.machine import MissingInstruction
from amdkernel_mcp.results.quantity import Result


class InspectedKernel(Result):
    """One kernel of a code object, in the terms of compile. Null: the file does not say it."""

    name: str
    source_name: str | None = Field(default=None, description="As in the source, where `name` is mangled")
    vgpr: int | None = Field(description="Vector registers; of the unified file where there is one, AGPRs included")
    agpr: int | None = Field(description="Of these, accumulation registers")
    sgpr: int | None
    lds_bytes: int | None = Field(description="Static LDS: what a launch adds is not in the file")
    scratch_bytes: int | None
    vgpr_spills: int | None
    sgpr_spills: int | None
    wavefront_size: int | None
    kernarg_bytes: int | None
    max_workgroup_size: int | None
    required_workgroup_size: list[int] | None = Field(default=None, description="x, y, z, if only this may be launched")
    dynamic_stack: bool | None = Field(default=None, description="True: the scratch is at least `scratch_bytes`")
    occupancy_waves_per_simd: int | None = Field(description="With static LDS; null: no table, or a part is not known")
    occupancy_limit: str | None = Field(description="What bounds the occupancy: `wave_slots`, `vgpr`, `sgpr` or `lds`")
    instructions: dict[str, int] | None = Field(description="Static instruction count by family")
    not_emulated: list[str] | None = Field(description="Mnemonics that the emulator does not have")
    hazards: list[str] | None = Field(
        default=None,
        description="Missing wait states, registers beyond the allocation, branches astray: the first of each kind with"
        " its address. Null: not looked at",
    )
    from_descriptor: list[str] = Field(
        default=[],
        description="Fields that the metadata lack: from the kernel descriptor, registers in whole granules",
    )
    notes: list[str] = Field(default=[], description="Where metadata and kernel descriptor differ")


class InspectedObject(Result):
    """One code object of the file."""

    code_object: str = Field(description="`sha256:…`")
    bytes: int
    bundle_entry: str | None = Field(default=None, description="What the offload bundle around it calls it")
    arch: str | None = Field(default=None, description="By the ELF header")
    target: str | None = Field(default=None, description="The arch with the settings that it requires")
    code_object_version: int | None = None
    kernels: list[InspectedKernel] = []
    not_emulated: list[MissingInstruction] = []
    notes: list[str] = Field(default=[], description="What is odd about it, and why a part of the answer is missing")
    damaged: str | None = Field(default=None, description="Why nothing more could be read")


class InspectResult(Result):
    """The code objects of a file."""

    file: str
    objects: list[InspectedObject]
