"""Tool: create a problem."""

from typing import Annotated

from fastmcp import Context
from fastmcp.tools import tool
from pydantic import Field

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.results.problems import CreatedProblem
from amdkernel_mcp.server.session import session_of

from ._parameters import RUNS_IN_SANDBOX


@tool(title="Create a problem", annotations=RUNS_IN_SANDBOX)
async def create_problem(
    ctx: Context,
    name: Annotated[str, Field(description="a-z, 0-9, _ and -", min_length=1, max_length=64)],
    problem_toml: Annotated[str | None, Field(description="Its problem.toml", max_length=1 << 16)] = None,
    reference_py: Annotated[
        str | None, Field(description="`def reference(x, *, n): return {'y': ...}`", max_length=1 << 16)
    ] = None,
    module: Annotated[str | None, Field(description="Or a KernelBench module", max_length=48 << 10)] = None,
    shared: Annotated[bool, Field(description="For all users; only you replace it")] = False,
) -> CreatedProblem:
    """Store what a kernel must compute, in place of an older problem of the name.

    guide:problem has the format: [[arguments]] name, dtype, shape = ["n"], role; [[cases]] n = 4; [ranges] n = [1, 99].

    Next: check_kernel.
    """
    session = session_of(ctx)
    if module is not None and problem_toml is None and reference_py is None:
        return await session.examined(lambda work: session.engine.imports.create(name, module, work, shared=shared))
    if module is not None or problem_toml is None or reference_py is None:
        raise InputError("give `problem_toml` and `reference_py`, or `module` alone")
    return await session.examined(
        lambda work: session.engine.create_problem(name, problem_toml, reference_py, work=work, shared=shared)
    )
