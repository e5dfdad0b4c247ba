"""A bound plan and the inputs of a case, as one case of a runner's job."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.launch.bind import BoundPlan
from amdkernel_mcp.problems.problem import ALIGNMENT, Case, Problem
from amdkernel_mcp.runner_protocol.job import Buffer, RunCase

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]


def runner_case(
    problem: Problem, case: Case, inputs: Mapping[str, Array], bound: BoundPlan, *, repeats: int, odd: bool = False
) -> RunCase:
    """The buffers and launches of `case`. Nothing in it says what is expected.

    `odd`: arrays begin at any address that the problem allows (`align`), not only at those that hipMalloc returns.
    """
    buffers = []
    for argument in problem.arrays:
        size = argument.dtype.bytes * prod(case.shape_of(argument))
        data = inputs[argument.name].tobytes() if argument.name in inputs else None
        role = argument.role if argument.role != "scalar" else "in"
        buffers.append(Buffer(argument.name, size, role, data, argument.align if odd else ALIGNMENT))
    buffers += [Buffer(name, size, "workspace") for name, size in bound.workspaces]
    return RunCase(tuple(buffers), bound.launches, repeats)
