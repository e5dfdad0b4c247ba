"""What float32 arithmetic costs each element of an output: the scale of terms that cancel inside a formula.

scale.py sees outputs and moved_inputs.py moves inputs. Neither sees `p * (g - sum(p * g))` or `log(1 + tiny)`, where
what cancels is made on the way. Here the reference itself runs with operations that round as float32 does, up or down
by chance (sandbox/runner/rounded_arrays.py), and each element is allowed what these runs are off.

An integer output that the formula rounds, such as int8 codes or the index of the largest element, has no scale. Where
the runs, with rounding errors of up to eight steps, give another value for an element, that value is right as well.

It is asked only where an output is outside the tolerance by no more than could be allowed. That is at most 1/256 of
the RMS of the output over all inputs of the check: a kernel that leaves out a term is further off in some element.
Nothing depends on the machine: all chance is seeded, and a few roundings of float64 do not matter next to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.checking.expected.reference import rounded_outputs
from amdkernel_mcp.checking.moved_inputs import MOST_AT_ONCE, moved_scales
from amdkernel_mcp.errors import ProblemFileError
from amdkernel_mcp.problems.dtypes import DTYPES

if TYPE_CHECKING:
    import numpy as np

    from amdkernel_mcp.checking.cases.call import Call
    from amdkernel_mcp.checking.judging.judge_report import Conditioning
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.problems.problem import Problem

    Array = np.ndarray[Any, np.dtype[Any]]

RUNS = 6
"""The second largest move counts: one run may send a step function over its edge, and few elements stand still in
five of six by chance."""
_STEP = 2.0**-23
_DEVIATION = 0.5  # of a step: what one rounding up or down by chance moves a number by
_RTOL = DTYPES["f32"].rtol or 0.0  # narrower outputs are computed in float32 as well
_MOST = 2.0**-8  # of the RMS over all inputs of the check
INTEGER_RUNS, INTEGER_STEPS = 16, 8
"""What is two steps from the edge between two integers crosses it in 3 of 8 such runs: in none of 16 once in 1800."""


def conditioning_of(sandbox: Sandbox, problem: Problem, expected: Sequence[Mapping[str, Array]]) -> Conditioning:
    """The function that finds the least scale of the elements of a call. `expected`: of all calls of the check."""
    most = cache(lambda: most_allowed(problem, expected))

    def least_scales(
        call: Call, outputs: Mapping[str, Array], errors: Mapping[str, float]
    ) -> Mapping[str, float | Array]:
        import numpy as np

        scales: dict[str, float | Array] = dict(moved_scales(sandbox, problem, call))
        integers = {output.name for output in problem.outputs if output.dtype.kind == "int"} & set(errors)
        floats = set(errors) - integers
        reachable = all(errors[name] <= most().get(name, 0.0) for name in floats - set(scales))
        for name, own in (
            rounding_scales(sandbox, problem, call, outputs, most()).items() if floats and reachable else ()
        ):
            scales[name] = np.maximum(scales.get(name, 0.0), own)
        return {**scales, **rounded_integers(sandbox, problem, call, integers)}

    return least_scales


def most_allowed(problem: Problem, expected: Sequence[Mapping[str, Array]]) -> dict[str, float]:
    """How far rounding may put an element of each float output off, where it has a tolerance that is relative."""
    import numpy as np

    from amdkernel_mcp.checking.judging.judge import tolerance_of
    from amdkernel_mcp.checking.judging.scale import rms

    most = {}
    for output in problem.outputs:
        tolerance = tolerance_of(problem, output)
        if output.dtype.kind == "float" and tolerance.rtol and tolerance.atol is None:
            values = [outputs[output.name].reshape(-1) for outputs in expected]
            sizes = [rms(each, np.isfinite(each)) for each in values]
            counts = [np.count_nonzero(np.isfinite(each)) for each in values]
            largest = max(sizes, default=0.0)
            if largest > 0:
                squares = sum(n * (size / largest) ** 2 for n, size in zip(counts, sizes, strict=True))
                most[output.name] = _MOST * largest * float(np.sqrt(squares / sum(counts)))
    return most


def rounded_integers(sandbox: Sandbox, problem: Problem, call: Call, names: Collection[str]) -> dict[str, Array]:
    """For integer outputs what the reference gives when its operations round, of shape (runs, *shape of the output).

    Empty where the problem asks for equality (`rtol = 0`), where no input is a float, and where the reference cannot be
    run so. Raises SandboxError.
    """
    import numpy as np

    from amdkernel_mcp.checking.judging.judge import tolerance_of

    rounded = [o.name for o in problem.outputs if o.name in names and tolerance_of(problem, o).rtol is None]
    if not rounded or all(argument.dtype.kind == "int" for argument in problem.inputs):
        return {}
    at_once = INTEGER_RUNS if sum(array.size for array in call.inputs.values()) <= MOST_AT_ONCE else 1
    ran: list[dict[str, Array]] = []
    for begin in range(0, INTEGER_RUNS, at_once):
        try:
            ran += rounded_outputs(sandbox, problem, call, range(begin, begin + at_once), steps=INTEGER_STEPS)
        except ProblemFileError:
            return {}
    return {name: np.stack([outputs[name] for outputs in ran]) for name in rounded}


def rounding_scales(
    sandbox: Sandbox, problem: Problem, call: Call, expected: Mapping[str, Array], most: Mapping[str, float]
) -> dict[str, Array]:
    """The scale of each element of the outputs in `most`, from what rounding does to the reference.

    `expected`: the outputs of `call`. Empty where the reference cannot be run so. Raises SandboxError.
    """
    import numpy as np

    from amdkernel_mcp.checking.judging.judge import tolerance_of

    first = {name: np.zeros(expected[name].shape) for name in most}
    second = {name: np.zeros(expected[name].shape) for name in most}
    at_once = RUNS if sum(array.size for array in call.inputs.values()) <= MOST_AT_ONCE else 1
    for begin in range(0, RUNS, at_once):
        try:
            ran = rounded_outputs(sandbox, problem, call, range(begin, begin + at_once))
        except ProblemFileError:
            return {}
        for outputs in ran:
            for name in most:
                with np.errstate(invalid="ignore"):
                    move = np.abs(outputs[name] - expected[name])
                move = np.where(np.isfinite(move), move, 0.0)
                second[name] = np.maximum(second[name], np.minimum(first[name], move))
                first[name] = np.maximum(first[name], move)
    scales = {}
    for output in problem.outputs:
        if output.name in most:
            rtol = tolerance_of(problem, output).rtol or _RTOL
            allowed = min(rtol, _RTOL) * second[output.name] / (_STEP * _DEVIATION)
            scales[output.name] = np.minimum(allowed, most[output.name]) / rtol
    return scales
