"""What is said of one output: wrong elements, a bias, a loss of precision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from amdkernel_mcp.checking.judging.bias import Bias
from amdkernel_mcp.checking.judging.lost_precision import Loss
from amdkernel_mcp.checking.judging.tolerance import Comparison, Tolerance
from amdkernel_mcp.counted import counted
from amdkernel_mcp.problems.problem import Argument
from amdkernel_mcp.results.kernels import Worst

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]


def loss_sentence(argument: Argument, loss: Loss, element: Worst) -> str:
    """Which magnitudes lost their precision, with an example and what to look for."""
    what = "are 0" if loss.zeros else "have fewer than 12 right bits, while larger ones have more"
    cause = (
        "small values are lost: look for a conversion that flushes them, a threshold, or a sum in a narrow type"
        if loss.zeros
        else "they look computed in a narrower type than f32"
    )
    return (
        f"{loss.lost} of {elements(loss.elements)} of {argument.name} with magnitudes from {loss.low:.3g} to"
        f" {loss.high:.3g} {what}, such as {at(argument, element.index)}: {said(element.got)}, expected"
        f" {said(element.expected)}; {cause}"
    )


def bias_sentence(argument: Argument, bias: Bias, tolerance: Tolerance) -> str:
    """That errors point one way, and how far."""
    unit = f"steps of {argument.dtype.name}" if bias.in_steps else "of the tolerance"
    if bias.towards_zero:
        direction = "towards zero" if bias.mean < 0 else "away from zero"
    else:
        direction = "too low" if bias.mean < 0 else "too high"
    cause = "truncation instead of rounding to nearest, or a missing term" if bias.in_steps else "a missing term"
    return (
        f"{argument.name} is biased: each error is within the tolerance, but over {elements(bias.elements)} they"
        f" average {abs(bias.mean):.2g} {unit} {direction}, more than {tolerance.max_bias:g}; look for {cause}"
    )


def values_sentence(argument: Argument, comparison: Comparison, worst: Worst, unwritten: int) -> str:
    """How many elements are wrong, with the worst and the first one. `unwritten`: how many of them nothing stored."""
    count = f"{comparison.violations} of {elements(comparison.elements)} of {argument.name}"
    one = comparison.violations == 1
    if unwritten == comparison.violations:
        return f"{count} {'was' if one else 'were'} never written; the first is {at(argument, comparison.first)}"
    left = f" ({unwritten} of them {'was' if unwritten == 1 else 'were'} never written)" if unwritten else ""
    text = f"{count} {'is' if one else 'are'} wrong{left}; worst {at(argument, worst.index)} is {said(worst.got)}"
    text += f", expected {said(worst.expected)}"
    if worst.got == "nan" and argument.dtype.bytes == 1 and abs(float(worst.expected or 0)) > argument.dtype.largest:
        text += f"; {argument.dtype.name} holds at most {argument.dtype.largest:g}: clamp before the conversion"
    return text if comparison.first == tuple(worst.index) else f"{text}; first {at(argument, comparison.first)}"


def at(argument: Argument, index: Sequence[int] | None) -> str:
    """An element by its name."""
    return f"{argument.name}[{', '.join(map(str, index or ()))}]"


def elements(count: int) -> str:
    """So many elements."""
    return counted(count, "element")


def said(value: float | int | str | None) -> str:
    """A value in few digits."""
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def plain(value: Any) -> float | int | str:
    """An element as JSON can hold it."""
    if isinstance(value, np.integer):
        return int(value)
    number = float(value)
    return number if math.isfinite(number) else str(number)


def element_of(argument: Argument, index: tuple[int, ...], got: Array, expected: Array) -> Worst:
    """An element of an output with what was expected."""
    return Worst(argument=argument.name, index=list(index), got=plain(got[index]), expected=plain(expected[index]))
