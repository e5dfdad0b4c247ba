"""Tool: find the best values of a kernel's `tune` lines."""

from typing import Annotated

from fastmcp import Context
from fastmcp.tools import tool
from pydantic import Field

from amdkernel_mcp.engine.tuning.space import MOST_ROWS, TuneOptions
from amdkernel_mcp.engine.verbs.tune import Tune
from amdkernel_mcp.results.tuning import TuneResult
from amdkernel_mcp.server.session import session_of

from ._parameters import MEASURES, Case, Path, Problem, Source, Target, WaitS


@tool(title="Tune a kernel", annotations=MEASURES)
async def tune_kernel(
    ctx: Context,
    problem: Problem,
    path: Path = None,
    source: Source = None,
    target: Target = None,
    rows: Annotated[int, Field(ge=2, le=MOST_ROWS, description="At most")] = 64,
    case: Case = None,
    shapes: Annotated[str | None, Field(description="CSV: M,N,K,dtype")] = None,
    wait_s: WaitS = 45,
) -> TuneResult:
    """Find the best values of a kernel's tune lines: `// amdkernel: tune TILE=[16,32]`.

    Next: put `line` there; benchmark_kernel.
    """
    session = session_of(ctx)
    kernel = session.candidate(path=path, source=source)
    asked = Tune(
        problem=session.problem(problem),
        source=kernel.source,
        file_name=kernel.file_name,
        target=target,
        options=TuneOptions(rows=rows, case=case, shapes=session.table(shapes)),
    )
    return await session.long(ctx, asked, wait_s=wait_s)
