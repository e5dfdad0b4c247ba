"""The inputs of many calls; those that a problem's `generate` makes come from a sandbox.

`generate(rng, **scalars)` is untrusted code like the reference: what it leaves is checked for shape, type and range.
It is seeded by the seed of the call, and must make the same arrays again for the same seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.checking.cases.call import Call
from amdkernel_mcp.checking.cases.inputs import make_inputs, scalars_for_reference
from amdkernel_mcp.checking.expected.reference_arrays import bad_array, checked_array
from amdkernel_mcp.checking.expected.reference_run import run_function
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.problems.problem import Argument, Case, Problem

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

_NOT_ALLOWED = "non_finite = true on the argument allows it"


def make_calls(sandbox: Sandbox, problem: Problem, wanted: Sequence[tuple[Case, int, int]]) -> list[Call]:
    """The call of each case, seed and turn. Raises ProblemFileError when `generate` fails; SandboxError."""
    made = _generated(sandbox, problem, wanted) if problem.generates else [{}] * len(wanted)
    return [
        Call(case, seed, make_inputs(problem, case, seed=seed, turn=turn, generated=arrays), turn)
        for (case, seed, turn), arrays in zip(wanted, made, strict=True)
    ]


def _generated(sandbox: Sandbox, problem: Problem, wanted: Sequence[tuple[Case, int, int]]) -> list[dict[str, Array]]:
    calls = [{"seed": seed, "scalars": scalars_for_reference(problem, case)} for case, seed, _ in wanted]
    job = {"calls": calls, "inputs": [argument.name for argument in problem.inputs]}
    left = run_function(sandbox, problem, "generate", [case for case, _, _ in wanted], job, {})
    return [
        {
            argument.name: _fitted(problem, argument, case, left[f"{number}/{argument.name}.npy"])
            for argument in problem.inputs
            if f"{number}/{argument.name}.npy" in left
        }
        for number, (case, _, _) in enumerate(wanted)
    ]


def _fitted(problem: Problem, argument: Argument, case: Case, content: bytes) -> Array:
    """The array in its dtype, rounded to nearest. What the dtype cannot hold is an error of the problem."""
    import numpy as np

    dtype = argument.dtype
    array = checked_array(problem, argument, case, content, nan=None if argument.non_finite else _NOT_ALLOWED)
    if dtype.kind == "int":
        return np.ascontiguousarray(array)
    infinite = np.isinf(array)
    if infinite.any() and not argument.non_finite:
        raise bad_array(problem, case, f"`{argument.name}` is infinite: {_NOT_ALLOWED}")
    beyond = (np.abs(array) > dtype.largest) & ~infinite
    if beyond.any():
        value = array[beyond].flat[0]
        raise bad_array(problem, case, f"`{argument.name}` is {value:g}, which does not fit into {dtype.name}")
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array.astype(dtype.numpy))
