"""The input arrays of a case, the same for the same seed and variant on every machine.

The seeds of a case run through the variants, so that each is met for certain: two plain ones, one in which `normal`
without parameters is shifted by -3 (kernels which start a maximum at 0 are found out), one with spikes (kernels which
leave out elements are), and one whose extremes are at its ends.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from amdkernel_mcp.problems.problem import Argument, Case, Problem

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

Variant = Literal["plain", "shifted", "spiked", "ends"]
VARIANTS: tuple[Variant, ...] = ("plain", "plain", "shifted", "spiked", "ends")
_SHIFT = -3.0


def variant_of(turn: int) -> Variant:
    """The variant of the seed with this number among those of its case."""
    return VARIANTS[turn % len(VARIANTS)]


def make_inputs(
    problem: Problem,
    case: Case,
    *,
    seed: int,
    turn: int = 0,
    generated: Mapping[str, Array] | None = None,
) -> dict[str, Array]:
    """Every `in` and `inout` array of `case`, in its dtype; `generated` are those that the problem's `generate` made.

    `turn`: the number of the seed among those of its case; it chooses the variant.
    """
    variant = variant_of(turn)
    made = generated or {}
    return {
        argument.name: made[argument.name] if argument.name in made else _fill(argument, case, seed, variant)
        for argument in problem.inputs
    }


def _fill(argument: Argument, case: Case, seed: int, variant: Variant) -> Array:
    import numpy as np

    from amdkernel_mcp.checking.cases.distributions import bounds, draw
    from amdkernel_mcp.checking.cases.spikes import SPIKED, add_spikes, set_ends

    shape, init, dtype = case.shape_of(argument), argument.init, argument.dtype
    if init is None:
        raise ValueError(f"{argument.name} is not an input")  # problem_file.py gives every input an init
    # a stream for each array: adding an argument leaves the data of the others alone
    random = np.random.Generator(np.random.PCG64([seed, zlib.crc32(argument.name.encode())]))
    data = draw(init, case, shape, dtype, random)
    if variant == "shifted" and init.text.strip() == "normal":
        data = -np.abs(data + _SHIFT)  # none is positive, not even one of many
    if variant == "spiked" and init.kind in SPIKED:
        data = add_spikes(data, init, *bounds(init, case), random)
    if variant == "ends" and init.kind in SPIKED:
        data = set_ends(data, init, *bounds(init, case))
    if dtype.kind == "float" and init.kind != "infs":
        data = np.clip(data, dtype.smallest, dtype.largest)  # fp8 has no infinity to round to
    return np.ascontiguousarray(data.astype(dtype.numpy))


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
