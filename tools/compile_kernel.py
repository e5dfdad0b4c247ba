"""Tool: compile a kernel."""

from typing import Annotated

from fastmcp import Context
from fastmcp.tools import tool
from pydantic import Field

from amdkernel_mcp.engine.verbs.compile import Compile
from amdkernel_mcp.results.kernels import CompileResult
from amdkernel_mcp.server.session import session_of

from ._parameters import RUNS_IN_SANDBOX, Arch, Path, Source, Target, WaitS


@tool(title="Compile a kernel", annotations=RUNS_IN_SANDBOX)
async def compile_kernel(
    ctx: Context,
    path: Path = None,
    source: Source = None,
    arch: Annotated[Arch | None, Field(description="Default: the target's")] = None,
    target: Target = None,
    flags: Annotated[
        list[Annotated[str, Field(max_length=200)]],
        Field(description="-O3, -DTILE=64", max_length=64),
    ] = [],  # noqa: B006 - never changed, and a schema with a plain default
    isa: Annotated[bool, Field(description="Disassemble")] = False,
    kernel: Annotated[str | None, Field(description="Only of this kernel", max_length=512)] = None,
    compare_to: Annotated[str | None, Field(description="attempt:ID, text, hip:6.4", max_length=1 << 20)] = None,
    wait_s: WaitS = 45,
) -> CompileResult:
    """Compile device code (no main, no launches): errors with lines, registers, LDS, spills, occupancy; changes.

    Next: check_kernel.
    """
    session = session_of(ctx)
    candidate = session.candidate(path=path, source=source)
    other = session.other_kernel(compare_to)
    asked = Compile(
        source=candidate.source,
        file_name=candidate.file_name,
        arch=arch,
        target=target,
        flags=tuple(flags),
        isa=isa,
        kernel=kernel,
        compare_to=other.source if other else None,
        compare_file=other.file_name if other else "baseline.hip",
    )
    return await session.long(ctx, asked, wait_s=wait_s)
