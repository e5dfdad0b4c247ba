"""What `amdkernel benchmark` shows."""

from rich.console import Console
from rich.text import Text

from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.kernel_source import KernelSource
from amdkernel_mcp.results.kernels import BenchmarkResult
from amdkernel_mcp.results.quantity import Interval


def show_benchmark(
    console: Console, result: BenchmarkResult, kernel: KernelSource, baseline: KernelSource | None = None
) -> None:
    """Verdict and speed-up, the times with their evidence, the lower bounds, then the counters."""
    factor = _factor(result.speedup, modelled=result.time_us.evidence == "modelled")
    on = f"{kernel.file_name} on {result.target}" if result.target else kernel.file_name
    parts.headline(console, result.verdict or "timed", factor, on)
    if result.reason:
        console.print(Text(result.reason))
    times = parts.table("", "time")
    times.add_row("kernel", parts.time(result.time_us, result.modelled_us))
    if result.baseline_time_us.value is not None:
        times.add_row("baseline", parts.time(result.baseline_time_us, result.baseline_modelled_us))
    for name, limit in result.limits_us.items():
        times.add_row(Text(f"at least, by {name}", "dim"), parts.quantity(limit, "us"))
    console.print(times)
    where = baseline if baseline and result.at_fault else kernel
    parts.diagnostics(console, result.diagnostics, where)
    parts.findings(console, result.findings, where)
    if result.counters:
        counters = parts.table("counter", "value", "", numbers=(1,))
        for name, metric in result.counters.items():
            style = parts.evidence_style(metric.evidence)
            counters.add_row(name, parts.number(metric.value, metric.unit), Text(metric.evidence, style))
        console.print(counters)
    if result.flags:
        console.print(Text(f"flags: {', '.join(result.flags)}", "yellow"))
    parts.footer(console, result)


def _factor(speedup: Interval, *, modelled: bool) -> str:
    """The speed-up with its interval. A modelled one is the interval alone: its middle estimates nothing."""
    if speedup.value is None:
        return ""
    if speedup.low is None or speedup.high is None:
        return f"{speedup.value:.3g}x"
    if modelled:
        return f"{speedup.low:.3g}x to {speedup.high:.3g}x"
    return f"{speedup.value:.3g}x  [{speedup.low:.3g}, {speedup.high:.3g}]"
