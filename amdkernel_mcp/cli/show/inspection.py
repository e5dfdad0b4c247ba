"""What `amdkernel inspect` shows."""

from rich.console import Console
from rich.text import Text

from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.counted import counted
from amdkernel_mcp.results.inspection import InspectedKernel, InspectedObject, InspectResult

MOST_KERNELS, MOST_MISSING = 40, 40
UNKNOWN = "?"


def show_inspection(console: Console, result: InspectResult) -> None:
    """Each code object with its kernels, and what is not known as `?`."""
    for found in result.objects:
        _show_object(console, result.file, found)


def _show_object(console: Console, file: str, found: InspectedObject) -> None:
    version = found.code_object_version
    words = (
        counted(found.bytes, "byte", grouped=True),
        f"code object version {version}" if version else "",
        counted(len(found.kernels), "kernel"),
    )
    target = Text(found.target or found.bundle_entry or "unknown architecture", "bold")
    parts.print_whole(console, Text.assemble(f"{file} ", target, ": ", ", ".join(filter(None, words))))
    for note in (*filter(None, [found.damaged]), *found.notes):
        console.print(Text(f"  {note}", "yellow"))
    shown = found.kernels[:MOST_KERNELS]
    if shown:
        console.print(_resources(shown))
    for kernel in shown:
        _show_kernel(console, kernel)
    if len(found.kernels) > len(shown):
        console.print(f"and {counted(len(found.kernels) - len(shown), 'more kernel')}; --json has all")
    _show_missing(console, found)


def _resources(kernels: list[InspectedKernel]) -> object:
    headings = (
        "kernel",
        "VGPR",
        "AGPR",
        "SGPR",
        "LDS",
        "scratch",
        "spills",
        "args",
        "workgroup",
        "waves/SIMD",
        "limit",
    )
    table = parts.table(*headings, numbers=range(1, 10))
    for kernel in kernels:
        spills = [kernel.vgpr_spills, kernel.sgpr_spills]
        known = [number for number in spills if number is not None]
        required = kernel.required_workgroup_size
        table.add_row(
            Text(kernel.source_name or kernel.name, "bold"),
            _number(kernel.vgpr),
            _number(kernel.agpr),
            _number(kernel.sgpr),
            _number(kernel.lds_bytes),
            Text(_number(kernel.scratch_bytes), "red" if kernel.scratch_bytes else ""),
            Text(_number(sum(known) if known else None), "red" if sum(known) else ""),
            _number(kernel.kernarg_bytes),
            "x".join(map(str, required)) if required else _number(kernel.max_workgroup_size),
            _number(kernel.occupancy_waves_per_simd),
            kernel.occupancy_limit or UNKNOWN,
        )
    return table


def _number(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


def _show_kernel(console: Console, kernel: InspectedKernel) -> None:
    name = kernel.source_name or kernel.name
    if kernel.instructions is not None:
        mix = sorted(kernel.instructions.items(), key=lambda item: -item[1])
        words = " · ".join(f"{family} {count:,}" for family, count in mix if count)
        console.print(Text.assemble((f"{name}: ", "dim"), words))
    for hazard in kernel.hazards or []:
        console.print(Text.assemble((f"{name}: ", "dim"), (hazard, "red")))
    for note in kernel.notes:
        console.print(Text.assemble((f"{name}: ", "dim"), (note, "yellow")))


def _show_missing(console: Console, found: InspectedObject) -> None:
    if not found.not_emulated:
        return
    table = parts.table("not emulated", "count", "function", "first at", "as")
    for one in found.not_emulated[:MOST_MISSING]:
        table.add_row(one.mnemonic, str(one.count), one.function or "-", one.line or f"{one.offset:#x}", one.text)
    console.print(table)
    if len(found.not_emulated) > MOST_MISSING:
        console.print(f"and {len(found.not_emulated) - MOST_MISSING} more; --json has all")
