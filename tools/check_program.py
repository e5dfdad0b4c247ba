"""Tool: check a program that has its own main."""

from fastmcp import Context
from fastmcp.tools import tool

from amdkernel_mcp.engine.verbs.check_program import CheckProgram
from amdkernel_mcp.results.host_programs import ProgramCheckResult
from amdkernel_mcp.server.session import session_of

from ._parameters import RUNS_IN_SANDBOX, Path, Problem, Source, Target, WaitS

# The rest of the answer is that of check_kernel; repeated here it would cost a client 8 KB.
_SCHEMA = {
    "type": "object",
    "properties": {
        "status": {"type": "string"},
        "job_id": {"type": ["string", "null"]},
        "verdict": {"type": ["string", "null"], "description": "As in check_kernel; it is unverified"},
        "reason": {"type": "string"},
        "trust": {"type": "string", "const": "unverified: host code"},
    },
    "required": ["status", "trust"],
}


@tool(title="Check a program with host code", annotations=RUNS_IN_SANDBOX, output_schema=_SCHEMA)
async def check_program(
    ctx: Context,
    problem: Problem,
    path: Path = None,
    source: Source = None,
    target: Target = None,
    wait_s: WaitS = 45,
) -> ProgramCheckResult:
    """Check a whole HIP program with `main`; prefer check_kernel.

    Its argv are the problem's arguments: a raw file for an array, a scalar's value.

    Next: check_kernel, with the device code alone.
    """
    session = session_of(ctx)
    program = session.candidate(path=path, source=source)
    folder = session.problem(problem)
    asked = CheckProgram(problem=folder, source=program.source, file_name=program.file_name, target=target)
    return await session.long(ctx, asked, wait_s=wait_s)
