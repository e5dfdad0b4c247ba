"""Launch and resources of recorded kernels: as the profiler printed them, or from a thread trace's code objects."""

from collections.abc import Iterable
from pathlib import Path

from amdkernel_mcp.compiler.elf_file import ElfFile
from amdkernel_mcp.compiler.object_kernels import read_object_kernels
from amdkernel_mcp.compiler.object_target import read_target
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.hardware.occupancy import SIMDS, occupancy
from amdkernel_mcp.profiling.metrics.metric import quantity
from amdkernel_mcp.profiling.readers.recording import Shape
from amdkernel_mcp.profiling.rules.recorded import FIT
from amdkernel_mcp.results.quantity import Metric

MOST_OBJECTS, LARGEST_OBJECT_BYTES = 64, 64 << 20


def shape_metrics(shape: Shape, gfx: str) -> dict[str, Metric]:
    """Launch and resources, and how many waves they let reside. A profiler rounds registers up to what is allocated."""
    rows = (
        ("Grid", shape.grid_items, "work-items"), ("Workgroup", shape.workgroup_items, "work-items"),
        ("VGPRs", shape.vgpr, "registers"), ("AGPRs", shape.agpr, "registers"), ("SGPRs", shape.sgpr, "registers"),
        ("LDS", shape.lds_bytes, "B"), ("Scratch", shape.scratch_bytes, "B"),
    )  # fmt: skip
    return {name: quantity(value, unit, "static") for name, value, unit in rows if value is not None} | _fit(shape, gfx)


def _fit(shape: Shape, gfx: str) -> dict[str, Metric]:
    """By vector registers, LDS and slots. Profilers do not print the SGPRs that are allocated, nor RDNA's wave size."""
    if gfx not in SIMDS or shape.vgpr is None or shape.lds_bytes is None or shape.workgroup_items is None:
        return {}
    wave_size = shape.wave_size or SIMDS[gfx].native_wave
    fits = occupancy(
        gfx,
        vgprs=shape.vgpr + (shape.agpr or 0),
        sgprs=0,
        lds_bytes=shape.lds_bytes,
        workgroup_size=shape.workgroup_items,
        wave_size=wave_size,
    )
    assumed = gfx.startswith("gfx1") and shape.wave_size is None
    note = f"taken for waves of {wave_size}: the recording does not say it" if assumed else None
    return {FIT: quantity(fits.waves_per_simd, "waves", "static", note=note)}


def shapes_in_objects(paths: Iterable[Path]) -> dict[str, tuple[Shape, str]]:
    """Resources and architecture of each kernel by its mangled name. What cannot be read is left out: it is untrusted.

    The largest work group that the code allows stands for that of the launch, which a trace does not name.
    """
    found: dict[str, tuple[Shape, str]] = {}
    for path in [*paths][:MOST_OBJECTS]:
        try:
            if path.stat().st_size > LARGEST_OBJECT_BYTES:
                continue
            elf = ElfFile(path.read_bytes())
            target = read_target(elf)
            kernels, _ = read_object_kernels(elf, target)
        except (InputError, OSError):
            continue
        for kernel in kernels:
            shape = Shape(
                workgroup_items=kernel.max_workgroup_size,
                lds_bytes=kernel.lds_bytes,
                scratch_bytes=kernel.scratch_bytes,
                vgpr=None if kernel.vgprs is None else kernel.vgprs - (kernel.agprs or 0),
                agpr=kernel.agprs,
                sgpr=kernel.sgprs,
                wave_size=kernel.wave_size,
            )
            found[kernel.name] = (shape, target.arch or "")
    return found
