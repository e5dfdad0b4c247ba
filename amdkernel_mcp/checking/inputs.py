"""The input arrays of a case, the same for the same seed on every machine.

`normal` without parameters has a second distribution: of three seeds one (2, 5, 8, …) is shifted by -3, so that
kernels which start a maximum at 0 are found out.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.expressions import Expression
from amdkernel_mcp.problems.problem import Argument, Case, Problem

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

_SHIFT = -3.0


def make_inputs(problem: Problem, case: Case, *, seed: int) -> dict[str, Array]:
    """Every `in` and `inout` array of `case`, in its dtype."""
    return {argument.name: _fill(argument, case, seed) for argument in problem.inputs}


def _fill(argument: Argument, case: Case, seed: int) -> Array:
    import numpy as np

    shape, init, dtype = case.shape_of(argument), argument.init, argument.dtype
    if init is None:
        raise ValueError(f"{argument.name} is not an input")  # problem_file.py gives every input an init
    # a stream for each array: adding an argument leaves the data of the others alone
    random = np.random.Generator(np.random.PCG64([seed, zlib.crc32(argument.name.encode())]))
    low, high = _bound(init.low, case, 0.0), _bound(init.high, case, 1.0)
    data: Array
    if init.kind == "normal":
        shift = _SHIFT if init.text.strip() == "normal" and seed % 3 == 2 else 0.0
        data = random.standard_normal(shape) * high + low + shift
    elif init.kind == "uniform":
        data = random.random(shape) * (high - low) + low
    elif init.kind == "integers":
        kind = np.uint64 if dtype.name == "u64" else np.int64
        data = random.integers(int(low), int(high), size=shape, dtype=kind)
    elif init.kind == "arange":
        again = np.uint64(min(dtype.counts_to, 1 << 63))
        data = (np.arange(np.prod(shape), dtype=np.uint64) % again).reshape(shape)
    else:
        data = np.full(shape, 1 if init.kind == "ones" else 0)
    if dtype.kind == "float":
        data = np.clip(data, dtype.smallest, dtype.largest)  # fp8 has no infinity to round to
    return np.ascontiguousarray(data.astype(dtype.numpy))


def _bound(bound: Expression | float | None, case: Case, default: float) -> float:
    if isinstance(bound, Expression):
        return bound.value(case.values)
    return default if bound is None else bound


def in_reference_form(array: Array, argument: Argument) -> Array:
    """What the reference gets: floats as float64 (exactly the kernel's values), integers as they are."""
    import numpy as np

    return array.astype(np.float64) if argument.dtype.kind == "float" else array


def scalars_for_reference(problem: Problem, case: Case) -> dict[str, int | float]:
    """The case's scalars, with the kernel's rounding: an f32 parameter of 0.1 is 0.10000000149."""
    import numpy as np

    values: dict[str, int | float] = {}
    for name, value in case.values.items():
        argument = problem.argument(name)
        if argument and argument.dtype.kind == "float":
            values[name] = float(np.array(float(value)).astype(argument.dtype.numpy).astype(np.float64))
        else:
            values[name] = value
    return values
