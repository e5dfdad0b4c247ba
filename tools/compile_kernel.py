"""Tool: compile a kernel."""

from typing import Annotated

from fastmcp import Context
from fastmcp.tools import tool
from pydantic import Field

from amdkernel_mcp.results.kernels import CompileResult
from amdkernel_mcp.server.session import session_of

from ._parameters import RUNS_IN_SANDBOX, Arch, Path, Source, Target, WaitS


@tool(title="Compile a kernel", annotations=RUNS_IN_SANDBOX)
async def compile_kernel(
    ctx: Context,
    path: Path = None,
    source: Source = None,
    arch: Annotated[Arch | None, Field(description="GPU architecture; default: the target's")] = None,
    target: Target = None,
    flags: Annotated[
        list[Annotated[str, Field(max_length=200)]],
        Field(description="Compiler flags from the allow-list, e.g. -O3, -ffast-math, -DTILE=64", max_length=64),
    ] = [],  # noqa: B006 - never changed, and a schema with a plain default
    isa: Annotated[bool, Field(description="Also return the disassembly with source lines, kernels first")] = False,
    kernel: Annotated[
        str | None, Field(description="Return the disassembly of this kernel only", max_length=512)
    ] = None,
    wait_s: WaitS = 45,
) -> CompileResult:
    """Compile HIP device code with the ROCm compiler in a sandbox.

    Returns errors and warnings with line and column of your file, and for each kernel VGPRs, SGPRs, LDS, scratch,
    spills, occupancy (waves per SIMD) and instruction mix. `ok: false` means that it does not compile.
    Send device code only: `__global__` functions, no main() and no launches.

    Next: check_kernel, to check that the results are right.
    """
    session = session_of(ctx)
    candidate = session.candidate(path=path, source=source)
    return await session.long(
        ctx,
        CompileResult,
        lambda progress: session.engine.compile(
            candidate.source,
            file_name=candidate.file_name,
            arch=arch,
            target=target,
            flags=flags,
            isa=isa,
            kernel=kernel,
            on_progress=progress,
        ),
        wait_s=wait_s,
    )
