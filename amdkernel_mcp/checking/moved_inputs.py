"""How far a reference moves when its inputs move a little, which is what rounding costs its outputs.

scale.py takes the scale of an element from what it stands among. An output of a few elements has nothing to stand
among: the only element of a dot product is small whenever its terms cancel. Its scale is found by a sum over its
terms instead: inputs that move by a relative e at random move a sum of terms t by about e * sqrt(sum t**2), which is
also how large the sum of such terms is on average.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.checking.cases.call import Call
from amdkernel_mcp.checking.expected.reference import expected_outputs
from amdkernel_mcp.errors import ProblemFileError
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.problems.problem import Argument, Problem

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

FEW = 16
"""Elements. The RMS of fewer numbers is small by chance: that of one by 1000 in one of 1250 cases."""
_NUDGE, _STEP_F32, _STEP_F64 = 2.0**-34, 2.0**-23, 2.0**-52
_MOVES = 5  # the median of so many is a twentieth of what it should be in one of 1500 cases
MOST_AT_ONCE = 1 << 20
"""Elements of a call, whose copies are then in memory together."""
_DEVIATION = 0.5  # of a step: each input moves by none or by one


def moved(problem: Problem, call: Call, *, by_a_step: bool, seed: int = 1) -> Call:
    """The call with its float inputs moved towards zero, where they stay in most domains: all by far less than an f32
    step, or half of them by one step. `seed`: of the choice."""
    import numpy as np

    random = np.random.default_rng(seed)

    def move(argument: Argument, array: Array) -> Array:
        if argument.dtype.kind == "int":
            return array
        wide = array.astype(np.float64)
        one = _STEP_F64 if argument.dtype.bytes == 8 else _STEP_F32
        amount = random.integers(0, 2, wide.shape) * one if by_a_step else random.random(wide.shape) * _NUDGE
        return wide * (1 - amount)

    return replace(call, inputs={a.name: move(a, call.inputs[a.name]) for a in problem.inputs})


def moved_scales(sandbox: Sandbox, problem: Problem, call: Call) -> Mapping[str, float]:
    """The scale of outputs of a few elements, from how far they move; it runs the reference six times.

    The median of the moves is taken: a step function that one of them sends over its edge has moved by no rounding.
    Raises SandboxError.
    """
    few = [o for o in problem.outputs if o.dtype.kind == "float" and prod(call.case.shape_of(o)) < FEW]
    floats = [argument for argument in problem.inputs if argument.dtype.kind == "float"]
    if not few or not floats:
        return {}
    step = _STEP_F64 if all(argument.dtype.bytes == 8 for argument in floats) else _STEP_F32
    calls = [call, *(moved(problem, call, by_a_step=True, seed=n) for n in range(_MOVES))]
    at_once = len(calls) if sum(array.size for array in call.inputs.values()) <= MOST_AT_ONCE else 1
    try:
        parts = (calls[n : n + at_once] for n in range(0, len(calls), at_once))
        ran = [each for part in parts for each in expected_outputs(sandbox, problem, part).outputs]
    except ProblemFileError:  # moved inputs may leave the domain of a function
        return {}
    return {output.name: _scale([each[output.name] for each in ran], step) for output in few}


def _scale(outputs: list[Array], step: float) -> float:
    import numpy as np

    from amdkernel_mcp.checking.judging.scale import rms

    first, *others = outputs
    finite = np.isfinite(first)
    moves = [rms(other - first, finite & np.isfinite(other)) for other in others]
    return statistics.median(moves) / (step * _DEVIATION)
