"""What `amdkernel compile` shows."""

from rich.console import Console
from rich.text import Text

from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.kernel_source import KernelSource
from amdkernel_mcp.results.compile_comparison import CompileComparison
from amdkernel_mcp.results.kernels import CompileResult, KernelResources


def show_compile(console: Console, result: CompileResult, kernel: KernelSource) -> None:
    """Verdict, messages, then the resources of each kernel."""
    time = f"{result.seconds:.2f} s{' (cached)' if result.cached else ''}"
    verdict = "ok" if result.ok else "does not compile"
    parts.headline(console, verdict, f"{kernel.file_name} for {result.arch}", time, result.toolchain or "")
    parts.diagnostics(console, result.diagnostics, kernel)
    if result.kernels:
        console.print(_resources(result.kernels))
        for found in result.kernels:
            mix = sorted(found.instructions.items(), key=lambda item: -item[1])
            words = " · ".join(f"{family} {count:,}" for family, count in mix if count)
            console.print(Text.assemble((f"{found.name}: ", "dim"), words))
    if result.comparison:
        _show_comparison(console, result.comparison)
    if result.isa:
        console.print(Text(result.isa), soft_wrap=True)
    parts.footer(console, result)


def _show_comparison(console: Console, found: CompileComparison) -> None:
    """The verdict, the figures that differ of each kernel, and with what they are compared."""
    flags = " ".join(found.flags or ())
    with_ = ", ".join(filter(None, [found.arch, flags, found.toolchain]))
    parts.headline(
        console,
        found.verdict,
        f"compared with {found.compared_with} ({with_})" if with_ else f"compared with {found.compared_with}",
    )
    console.print(Text(found.reason))
    for kernel in filter(lambda kernel: kernel.figures, found.kernels):
        table = parts.table(kernel.kernel, "before", "after", "", numbers=(1, 2))
        for each in kernel.figures:
            word = "" if each.better is None else "better" if each.better else "worse"
            table.add_row(
                each.figure,
                f"{each.before:,}",
                f"{each.after:,}",
                Text(word, parts.verdict_style(word) if word else ""),
            )
        console.print(table)
    for word, names in (("gone", found.gone), ("new", found.new)):
        if names:
            console.print(Text.assemble((f"{word}: ", "dim"), ", ".join(names)))


def _resources(kernels: list[KernelResources]) -> object:
    headings = ("kernel", "VGPR", "AGPR", "SGPR", "LDS", "scratch", "spills", "waves/SIMD", "limit")
    table = parts.table(*headings, numbers=range(1, 8))
    for kernel in kernels:
        spills = kernel.vgpr_spills + kernel.sgpr_spills
        table.add_row(
            Text(kernel.name, "bold"),
            str(kernel.vgpr),
            str(kernel.agpr),
            str(kernel.sgpr),
            f"{kernel.lds_bytes:,}",
            Text(f"{kernel.scratch_bytes:,}", "red" if kernel.scratch_bytes else ""),
            Text(str(spills), "red" if spills else ""),
            str(kernel.occupancy_waves_per_simd),
            kernel.occupancy_limit,
        )
    return table
