"""Tool: wait for a job."""

from typing import Annotated

from fastmcp import Context
from fastmcp.tools import tool
from pydantic import Field

from amdkernel_mcp.engine.verbs.table import KEYS, AnsweredJob
from amdkernel_mcp.server.session import session_of

from ._parameters import RUNS_IN_SANDBOX, WaitS

# The tools that make the answers describe them; repeated here they would cost a client 16 KB.
_SCHEMA = {
    "type": "object",
    "properties": {
        "job_id": {"type": "string"},
        "status": {"type": "string", "enum": ["queued", "running", "done", "failed", "cancelled"]},
        "state": {"type": "string"},
        "progress": {"type": ["string", "null"]},
        "error": {"type": ["string", "null"]},
    }
    | {verb: {"type": ["object", "null"], "description": f"The answer of {verb}_kernel"} for verb in KEYS},
    "required": ["job_id", "status"],
}


@tool(title="Wait for a job", annotations=RUNS_IN_SANDBOX, output_schema=_SCHEMA)
async def get_job(
    ctx: Context,
    job_id: Annotated[str, Field(description="From an answer", min_length=1, max_length=100)],
    wait_s: WaitS = 45,
    cancel: Annotated[bool, Field(description="End it")] = False,
) -> AnsweredJob:
    """Wait for a job's answer.

    Before: a tool returned status `queued` or `running`.
    """
    return await session_of(ctx).job(ctx, job_id, wait_s=wait_s, cancel=cancel)
