"""Inputs so small that an epsilon of the reference decides: `1 / sqrt(mean(x * x) + 1e-5)` of numbers near 0.003.

With inputs near 1 an epsilon is below every tolerance, and a kernel that leaves it out or has another one is right. So
the inputs of a case are also scaled to the root of each epsilon, where it stands next to a square, and to itself. Only
arrays around 0 are: their `init` could have given smaller numbers, so a kernel must work with them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod, sqrt
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.checking.cases.call import Call
from amdkernel_mcp.problems.problem import Argument, Case, Problem

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

LEAST, MOST = 1e-13, 1e-2
"""Of what may be an epsilon."""
MOST_EPSILONS = 2
MOST_ELEMENTS = 1 << 20
"""Of the arrays of a case that runs with such inputs: they show as well in the small ones."""
_LEAST_SIZE = 1e-8  # its squares and cubes are normal numbers of f32
_DISTINCT = 256  # of the smallest number of a dtype: what is left of smaller ones is only a few values
_NUMBER = re.compile(r"(?<![\w.])(\d+\.?\d*[eE]-\d+|\.\d+[eE]-\d+|0?\.0\d+)(?![\w.])")
_OF_TORCH = (
    (re.compile(r"layer_?norm|group_?norm|batch_?norm|instance_?norm", re.IGNORECASE), 1e-5),
    (re.compile(r"\bnormalize\s*\("), 1e-12),
    (re.compile(r"cosine_similarity|CosineSimilarity"), 1e-8),
)
"""Functions of PyTorch and the epsilon that each has by default. Source: PyTorch's documentation of each."""


def epsilons(problem: Problem, case: Case) -> tuple[float, ...]:
    """What may be an epsilon: a float scalar of the case, a number of the reference, a default of PyTorch's."""
    given = [
        float(case.values[argument.name])
        for argument in problem.scalars
        if argument.dtype.kind == "float" and argument.name in case.values
    ]
    written = [float(match[1]) for match in _NUMBER.finditer(problem.reference)]
    defaults = [value for function, value in _OF_TORCH if problem.needs_torch and function.search(problem.reference)]
    return tuple(dict.fromkeys(each for each in (*given, *written, *defaults) if LEAST <= each <= MOST))[:MOST_EPSILONS]


def small_calls(problem: Problem, case: Case, calls: Sequence[Call]) -> list[Call]:
    """The first inputs of the case at the size of each epsilon and of its root; none where nothing can be scaled.

    All arrays are, and the first of them alone: of a product of two that is normalised.
    """
    if problem.generates or sum(prod(case.shape_of(argument)) for argument in problem.arrays) > MOST_ELEMENTS:
        return []
    first, made = calls[0], list[Call]()
    for eps in epsilons(problem, case):
        for size in (sqrt(eps), eps):
            small = {
                argument.name: scaled
                for argument in problem.inputs
                if (scaled := _scaled(argument, first.inputs[argument.name], size)) is not None
            }
            alone = dict(list(small.items())[:1])
            for changed in (small, alone) if len(small) > 1 and size > eps else (small,):
                if changed:
                    what = f"{' and '.join(changed)} near {size:.2g}, where {eps:g} of the reference counts"
                    made.append(Call(case, first.seed, {**first.inputs, **changed}, len(calls) + len(made), what))
    return made


def _scaled(argument: Argument, array: Array, size: float) -> Array | None:
    """None where such numbers are outside what the array's `init` gives, or too few of them are distinct."""
    import ml_dtypes
    import numpy as np

    init = argument.init
    if argument.dtype.kind != "float" or init is None or size < _LEAST_SIZE:
        return None
    low, high = init.low, init.high
    if not isinstance(low, float | int) or not isinstance(high, float | int):
        return None
    around_zero = low == 0 < high if init.kind == "normal" else init.kind == "uniform" and low < 0 < high
    smallest = float(ml_dtypes.finfo(argument.dtype.numpy).smallest_subnormal)  # type: ignore[no-untyped-call]
    if not around_zero or not _DISTINCT * smallest <= size < high:
        return None
    return np.ascontiguousarray((array.astype(np.float64) * (size / high)).astype(argument.dtype.numpy))
