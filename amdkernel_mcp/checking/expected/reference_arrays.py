"""Arrays that reference.py made, checked like any other input: it is untrusted code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdkernel_mcp.checking.expected.reference_answer import read_npy
from amdkernel_mcp.errors import ProblemFileError
from amdkernel_mcp.problems.problem import Argument, Case, Problem

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]


def checked_array(
    problem: Problem,
    argument: Argument,
    case: Case,
    content: bytes,
    *,
    nan: str | None,
    shape: tuple[int, ...] | None = None,
) -> Array:
    """The array of a .npy file as float64, or as the argument's integer type. Raises ProblemFileError.

    `nan`: why a NaN cannot be used, as the end of a sentence; None where NaN is allowed. `shape`: where it is not that
    of the argument in this case.
    """
    import numpy as np

    try:
        array = read_npy(content)
    except ValueError as error:
        raise bad_array(problem, case, f"`{argument.name}` cannot be read: {error}") from None
    shape = case.shape_of(argument) if shape is None else shape
    if array.size == 1 and shape == (1,) * len(shape):
        array = array.reshape(shape)  # a sum may come as a plain number
    if array.shape != shape:
        raise bad_array(problem, case, f"`{argument.name}` has the shape {list(array.shape)} instead of {list(shape)}")
    if nan is not None and np.isnan(array).any():
        index = _index(np.isnan(array))
        raise bad_array(problem, case, f"`{argument.name}` is NaN at {index}: {nan}")
    if argument.dtype.kind == "float":
        return np.asarray(array, dtype=np.float64)
    return _whole(problem, argument, case, array)


def checked_scale(problem: Problem, case: Case, content: bytes, shape: tuple[int, ...]) -> Array:
    """The scales that our script left. Raises ProblemFileError where the reference put something else there."""
    import numpy as np

    try:
        array = read_npy(content)
    except ValueError:
        array = np.zeros(0)
    if array.dtype != np.float64 or array.shape != shape or not (np.isfinite(array) & (array >= 0)).all():
        raise bad_array(problem, case, "reference.py overwrote what is left next to its outputs")
    return array


def bad_array(problem: Problem, case: Case, message: str) -> ProblemFileError:
    """The error of a problem whose reference.py made something that cannot be used."""
    return ProblemFileError(f"{message}, in case {case.name}", file=problem.reference_file, line=problem.reference_line)


def _whole(problem: Problem, argument: Argument, case: Case, array: Array) -> Array:
    import numpy as np

    dtype = argument.dtype
    with np.errstate(invalid="ignore"):
        broken = array != np.floor(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)
        outside = (array < dtype.smallest) | (array > dtype.largest)
    for wrong, why in ((broken, "is not an integer"), (outside, f"does not fit into {dtype.name}")):
        if wrong.any():
            index = _index(wrong)
            value = array[tuple(index)]
            raise bad_array(problem, case, f"`{argument.name}` is {value} at {index}, which {why}")
    return array.astype(dtype.numpy)


def _index(mask: Array) -> list[int]:
    import numpy as np

    return [int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape)]
