"""Tool: a CUDA source on AMD GPUs."""

from typing import Annotated

from fastmcp import Context
from fastmcp.tools import tool
from pydantic import Field

from amdkernel_mcp.engine.verbs.port import Port, PortOptions
from amdkernel_mcp.results.port import PortResult
from amdkernel_mcp.server.session import session_of

from ._parameters import RUNS_IN_SANDBOX, Path, Source, Target, WaitS

_Words = list[Annotated[str, Field(max_length=200)]]


@tool(title="Port CUDA", annotations=RUNS_IN_SANDBOX)
async def port_cuda(
    ctx: Context,
    path: Path = None,
    source: Source = None,
    target: Target = None,
    keep_warps: Annotated[bool, Field(description="Source untouched, warps of 32")] = False,
    verify: Annotated[bool, Field(description="Run its main on waves of 32 and 64")] = False,
    arguments: Annotated[_Words, Field(description="Its argv", max_length=64)] = [],  # noqa: B006 - never changed
    defines: Annotated[_Words, Field(description="N=1024 for its constants", max_length=64)] = [],  # noqa: B006 - never changed
    timeout_s: Annotated[float, Field(ge=1, le=600, description="Of a run")] = 60,
    with_sources: Annotated[bool, Field(description="The HIP source too")] = False,
    wait_s: WaitS = 45,
) -> PortResult:
    """Port a CUDA source to HIP: does it compile, which lines assume warps of 32, does it compute the same.

    Next: check_kernel, with one of its kernels.
    """
    session = session_of(ctx)
    program = session.candidate(path=path, source=source)
    options = PortOptions(
        keep_warps=keep_warps,
        verify=verify,
        arguments=tuple(arguments),
        defines=tuple(defines),
        timeout_s=timeout_s,
        with_sources=with_sources,
    )
    name = program.file_name if program.file_name != "kernel.hip" else "program.cu"
    asked = Port(source=program.source, file_name=name, target=target, options=options)
    return await session.long(ctx, asked, wait_s=wait_s)
