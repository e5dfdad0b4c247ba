"""Tool: benchmark a kernel."""

from typing import Annotated

from fastmcp import Context
from fastmcp.tools import tool
from pydantic import Field

from amdkernel_mcp.results.kernels import BenchmarkResult
from amdkernel_mcp.server.session import session_of

from ._parameters import MEASURES, Path, Problem, Source, Target, WaitS


@tool(title="Benchmark a kernel", annotations=MEASURES)
async def benchmark_kernel(
    ctx: Context,
    problem: Problem,
    path: Path = None,
    source: Source = None,
    baseline_path: Annotated[
        str | None, Field(description="File of the kernel to compare with (stdio server only)", max_length=4096)
    ] = None,
    baseline_source: Annotated[
        str | None, Field(description="Full text of the kernel to compare with", max_length=1 << 20)
    ] = None,
    target: Target = None,
    wait_s: WaitS = 45,
) -> BenchmarkResult:
    """Time a kernel against a baseline kernel: `faster`, `slower` or `inconclusive`, with a 95 % interval.

    Without a baseline it returns only the kernel's own time. On the emulated target times are `modelled` from exact
    counts, never `measured`. An incorrect kernel is not timed.

    Before: check_kernel returns `correct`. Next: profile_kernel shows what to improve.
    """
    session = session_of(ctx)
    kernel = session.candidate(path=path, source=source)
    baseline = session.baseline(path=baseline_path, source=baseline_source)
    folder = session.problem(problem)
    return await session.long(
        ctx,
        BenchmarkResult,
        lambda progress: session.engine.benchmark(
            folder,
            kernel.source,
            file_name=kernel.file_name,
            baseline=baseline,
            target=target,
            on_progress=progress,
        ),
        wait_s=wait_s,
    )
