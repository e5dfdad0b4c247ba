"""Tool: benchmark a kernel."""

from typing import Annotated

from fastmcp import Context
from fastmcp.tools import tool
from pydantic import Field

from amdkernel_mcp.engine.verbs.benchmark import Benchmark
from amdkernel_mcp.results.kernels import BenchmarkResult
from amdkernel_mcp.server.session import session_of

from ._parameters import MEASURES, Case, Path, Problem, Source, Target, WaitS


@tool(title="Benchmark a kernel", annotations=MEASURES)
async def benchmark_kernel(
    ctx: Context,
    problem: Problem,
    path: Path = None,
    source: Source = None,
    baseline_path: Annotated[str | None, Field(description="Or attempt:ID", max_length=4096)] = None,
    baseline_source: Annotated[str | None, Field(description="Text", max_length=1 << 20)] = None,
    target: Target = None,
    case: Case = None,
    wait_s: WaitS = 45,
) -> BenchmarkResult:
    """Time a kernel against a baseline.

    Next: profile_kernel.
    """
    session = session_of(ctx)
    kernel = session.candidate(path=path, source=source)
    baseline = session.baseline(path=baseline_path, source=baseline_source)
    folder = session.problem(problem)
    asked = Benchmark(
        problem=folder,
        source=kernel.source,
        file_name=kernel.file_name,
        target=target,
        baseline=baseline.source if baseline else None,
        baseline_file=baseline.file_name if baseline else "baseline.hip",
        case=case,
    )
    return await session.long(ctx, asked, wait_s=wait_s)
