"""Finds formulas: a whole number that was seen for many choices of sizes, as an expression in the sizes' names.

The forms are products of (a * size + b) // c, and sums with whole coefficients. A formula must hold in every sample.
"""

from collections.abc import Mapping, Sequence
from math import gcd

Sizes = Mapping[str, int]
Sample = tuple[Sizes, int]
_LARGEST_DIVISOR = 32


def fit(samples: Sequence[Sample], base: Sizes) -> str | None:
    """The expression for the numbers of all samples; None where no form fits. The first sample is of `base`."""
    first = samples[0][1]
    if all(number == first for _, number in samples):
        return str(first)
    along = {name: _along(samples, base, name) for name in base}
    depends = [name for name, line in along.items() if any(number != first for _, number in line)]
    if not depends:
        return None
    for form in (_product, _sum):
        found = form(depends, along, base, first)
        if found is not None and holds(found, samples):
            return found
    return None


def holds(expression: str, samples: Sequence[Sample]) -> bool:
    """Whether the expression gives the number of every sample."""
    return all(value(expression, sizes) == number for sizes, number in samples)


def value(expression: str, sizes: Sizes) -> int:
    """What the expression gives for these sizes."""
    return int(eval(expression, {"__builtins__": {}}, dict(sizes)))  # our own text, see `fit`


def _along(samples: Sequence[Sample], base: Sizes, name: str) -> list[tuple[int, int]]:
    """The samples in which only this size differs from the base: (size, number), in order."""
    rest = {other: size for other, size in base.items() if other != name}
    line = {
        sizes[name]: number for sizes, number in samples if all(sizes[other] == size for other, size in rest.items())
    }
    return sorted(line.items())


def _product(depends: Sequence[str], along: Mapping[str, list[tuple[int, int]]], base: Sizes, first: int) -> str | None:
    factors, at_base = [], 1
    for name in depends:
        common = gcd(*(number for _, number in along[name]))
        if common == 0:
            return None
        if len(depends) == 1 and (alone := _divided(name, along[name])):
            return alone
        factor = _power(name, [(size, number // common) for size, number in along[name]])
        if factor is None:
            return None
        factors.append(factor)
        at_base *= value(factor, base)
    if at_base == 0 or first % at_base:
        return None
    scale = first // at_base
    product = " * ".join(factors)
    return product if scale == 1 else f"{scale} * {product}"


def _power(name: str, line: Sequence[tuple[int, int]]) -> str | None:
    """A formula through all points of the line, or its square or cube: of two sides that are one size."""
    for power in (1, 2, 3):
        roots = [(size, round(number ** (1 / power))) for size, number in line]
        if any(root**power != number for (_, root), (_, number) in zip(roots, line, strict=True)):
            continue
        if (root := _divided(name, roots)) is not None:
            return " * ".join([f"({root})" if " " in root else root] * power)
    return None


def _sum(depends: Sequence[str], along: Mapping[str, list[tuple[int, int]]], base: Sizes, first: int) -> str | None:
    parts, rest = [], first
    for name in depends:
        (size, number), *more = along[name]
        slopes = {(other - number) / (at - size) for at, other in more}
        if len(slopes) != 1 or not (slope := slopes.pop()).is_integer() or slope < 1:
            return None
        parts.append(_times(int(slope), name))
        rest -= int(slope) * base[name]
    return _plus(" + ".join(parts), rest)


def _divided(name: str, line: Sequence[tuple[int, int]]) -> str | None:
    """(a * name + b) // c through all points of the line."""
    known = dict(line)
    for divisor in range(1, _LARGEST_DIVISOR + 1):
        steps = [known[size + divisor] - number for size, number in line if size + divisor in known]
        if len(steps) < 2 or len(set(steps)) != 1:  # one pair of samples would fit nearly any divisor
            continue
        slope = steps[0]
        if slope < 1:
            return None
        size, number = line[-1]
        for remainder in range(divisor):
            offset = divisor * number - slope * size + remainder
            if all((slope * at + offset) // divisor == seen for at, seen in line):
                return _readable(name, slope, offset, divisor)
    return None


def _readable(name: str, slope: int, offset: int, divisor: int) -> str:
    if divisor == 1:
        return _plus(_times(slope, name), offset)
    if slope == divisor:
        return _plus(name, offset // divisor)
    if slope % divisor == 0:
        return _plus(_times(slope // divisor, name), offset // divisor)
    inner = _plus(_times(slope, name), offset)
    return f"({inner}) // {divisor}" if " " in inner else f"{inner} // {divisor}"


def _times(factor: int, name: str) -> str:
    return name if factor == 1 else f"{factor} * {name}"


def _plus(text: str, number: int) -> str:
    return text if number == 0 else f"{text} {'+' if number > 0 else '-'} {abs(number)}"
