"""Tool: a CUDA source on AMD GPUs."""

from typing import Annotated

from fastmcp import Context
from fastmcp.tools import tool
from pydantic import Field, WithJsonSchema

from amdkernel_mcp.engine.verbs.port import Port, PortOptions
from amdkernel_mcp.results.port import PortResult
from amdkernel_mcp.server.session import session_of

from ._parameters import RUNS_IN_SANDBOX, Path, Source, Target, WaitS

# The keys that an agent decides by; the whole model would cost a client 9 KB.
_SCHEMA = {
    "type": "object",
    "properties": {
        "status": {"type": "string"},
        "job_id": {"type": ["string", "null"]},
        "verdict": {"type": ["string", "null"]},
        "reason": {"type": "string"},
        "suspects": {"type": "array", "items": {"type": "object"}, "description": "Lines that a wave of 64 breaks"},
        "lint": {"type": "array", "items": {"type": "object"}},
        "by_hand": {"type": "array", "items": {"type": "string"}},
        "launch": {"type": ["string", "null"]},
        "diff": {"type": ["string", "null"]},
    },
    "required": ["status"],
}
_HEADERS = {"type": "object", "description": "Name to text"}
_Words = list[Annotated[str, Field(max_length=200)]]


@tool(title="Port CUDA", annotations=RUNS_IN_SANDBOX, output_schema=_SCHEMA)
async def port_cuda(
    ctx: Context,
    path: Path = None,
    source: Source = None,
    headers: Annotated[dict[str, str], WithJsonSchema(_HEADERS), Field(max_length=64)] = {},  # noqa: B006 - never changed
    target: Target = None,
    keep_warps: Annotated[bool, Field(description="Source stays")] = False,
    verify: Annotated[bool, Field(description="Run on both waves")] = False,
    arguments: Annotated[_Words, Field(description="argv", max_length=64)] = [],  # noqa: B006 - never changed
    defines: Annotated[_Words, Field(description="N=64", max_length=64)] = [],  # noqa: B006 - never changed
    candidate: Annotated[str | None, Field(description="One kernel")] = None,
    problem: Annotated[str | None, Field(description="Its outputs decide")] = None,
    wait_s: WaitS = 45,
) -> PortResult:
    """Port CUDA to HIP; find warps of 32.

    Next: check_kernel.
    """
    session = session_of(ctx)
    program, others = session.cuda_program(path=path, source=source, headers=headers)
    options = PortOptions(
        others=others,
        keep_warps=keep_warps,
        verify=verify,
        arguments=tuple(arguments),
        defines=tuple(defines),
        with_sources=not keep_warps,
        candidate=candidate,
        problem=session.problem(problem) if problem else None,
    )
    asked = Port(source=program.source, file_name=program.file_name, target=target, options=options)
    return await session.long(ctx, asked, wait_s=wait_s)
