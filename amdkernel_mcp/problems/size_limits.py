"""How much the arrays of a problem may take, found before anything is allocated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from amdkernel_mcp.expressions import LARGEST, ExpressionError
from amdkernel_mcp.problems.inits import bytes_of, why_unfit
from amdkernel_mcp.problems.problem import Argument, Case

_MIB = 1 << 20
_LEAST_BYTES = 4  # of an element


@dataclass(frozen=True)
class SizeLimits:
    """Bytes of one case's arrays, and of all cases' together; an element counts as at least 4 bytes."""

    case_bytes: int = 512 * _MIB
    problem_bytes: int = 1024 * _MIB

    @classmethod
    def of_mib(cls, case: int, problem: int) -> SizeLimits:
        """The limits given in MiB, as settings have them."""
        return cls(case * _MIB, problem * _MIB)


DEFAULT_LIMITS = SizeLimits()


def why_case_refused(case: Case, arguments: Sequence[Argument], limits: SizeLimits = DEFAULT_LIMITS) -> str | None:
    """Why the arrays of `case` cannot be made, as a sentence without the case; None where they can."""
    total = 0
    for argument in arguments:
        if argument.shape is None:
            continue
        try:
            shape = case.shape_of(argument)
            if any(size < 1 for size in shape):
                return f"`{argument.name}` has the empty shape {list(shape)}"
            size = _counted_bytes(case, argument)
            if size > limits.case_bytes:
                much = f"{size // _MIB} MiB, " if size <= LARGEST else ""
                how = _how_counted([argument]) if much else ""
                return f"`{argument.name}` takes {much}more than {limits.case_bytes // _MIB} MiB{how}"
            if reason := why_unfit(case, argument):
                return f"argument `{argument.name}`: {reason}"
        except ExpressionError as error:
            return f"argument `{argument.name}`: {error.message}"
        total += size
    if total > limits.case_bytes:
        how = _how_counted(arguments)
        return f"its arrays take {total // _MIB} MiB, more than {limits.case_bytes // _MIB} MiB{how}"
    return None


def _how_counted(arguments: Sequence[Argument]) -> str:
    """Why the sum is more than the arrays take on a GPU; empty where it is not."""
    narrow = any(each.shape is not None and each.dtype.bytes < _LEAST_BYTES for each in arguments)
    return f" (an element counts as at least {_LEAST_BYTES} bytes: it is drawn and compared as f64)" if narrow else ""


def _counted_bytes(case: Case, argument: Argument) -> int:
    """The size of an array, an element counted as at least 4 bytes: it is drawn and compared as f64."""
    return bytes_of(case, argument) * max(1, _LEAST_BYTES // argument.dtype.bytes)


def first_case_beyond(cases: Sequence[Case], arguments: Sequence[Argument], limits: SizeLimits) -> int | None:
    """The number of the case with which all arrays together pass the limit; None where they do not."""
    total = 0
    for number, case in enumerate(cases):
        total += sum(_counted_bytes(case, argument) for argument in arguments if argument.shape is not None)
        if total > limits.problem_bytes:
            return number
    return None
