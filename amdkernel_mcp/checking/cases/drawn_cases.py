"""Cases whose sizes are drawn within a problem's `[ranges]`: smallest, odd, prime and large ones.

They are not known before the check, so a kernel cannot be made for a list of shapes. They are small, for each
runs as often as a listed case does: none takes more bytes or has a larger product of sizes than the largest listed
case, but for the large one, which goes beyond what is listed up to 4 MiB.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from itertools import count

from amdkernel_mcp.checking.cases.seeds import SeedKey
from amdkernel_mcp.problems.inits import bytes_of
from amdkernel_mcp.problems.problem import Case, Number, Problem, Range
from amdkernel_mcp.problems.size_limits import why_case_refused

_MOST_BYTES = 256 << 10
_MOST_BYTES_LARGE = 4 << 20
_BEYOND_LISTED = 8  # times the largest listed value: the most that a large size has
_TRIES = 16

_Sizes = dict[str, int]
_Draw = Callable[[random.Random, Mapping[str, Range], Mapping[str, int]], _Sizes]


def draw_cases(problem: Problem, key: SeedKey) -> tuple[Case, ...]:
    """The drawn cases of one check, none of them listed; fewer than four where the ranges hold no more."""
    chance = random.Random(key.derive("shapes"))
    known = [dict(case.values) for case in problem.cases]
    drawn: list[Case] = []
    for draw in (_smallest, _odd, _prime, _large):
        for _ in range(_TRIES if problem.ranges else 0):
            base = dict(chance.choice(problem.cases).values)
            case = _case(problem, base, draw(chance, problem.ranges, _largest_listed(problem)), large=draw is _large)
            if case is not None and dict(case.values) not in known:
                known.append(dict(case.values))
                drawn.append(case)
                break
    return tuple(drawn)


def _case(problem: Problem, base: Mapping[str, Number], sizes: _Sizes, *, large: bool) -> Case | None:
    """The case with these sizes, the largest of them halved until it is small enough; None: it cannot be made."""
    while True:
        case = drawn_case({**base, **sizes})
        if why_case_refused(case, problem.arguments) is None and _is_small(problem, case, sizes, large=large):
            return case
        name = max(sizes, key=lambda each: sizes[each] - problem.ranges[each].low)
        allowed = problem.ranges[name]
        if sizes[name] == allowed.low:
            return None
        sizes = {**sizes, name: fitted(allowed, (sizes[name] + allowed.low) // 2, odd=True)}


def drawn_case(values: Mapping[str, Number]) -> Case:
    """The case with these values, named by them."""
    name = ", ".join(f"{name}={value}" for name, value in values.items())
    return Case(name=name, values=values, held_out=True, line=None, drawn=True)


def _is_small(problem: Problem, case: Case, sizes: _Sizes, *, large: bool) -> bool:
    def product(values: Mapping[str, Number]) -> float:
        return math.prod(max(1, values[name]) for name in sizes)

    most_bytes = max(bytes_of_case(problem, listed) for listed in problem.cases)
    most = max(product(listed.values) for listed in problem.cases)
    if large:
        return bytes_of_case(problem, case) <= _MOST_BYTES_LARGE and product(case.values) <= _BEYOND_LISTED * most
    return bytes_of_case(problem, case) <= min(_MOST_BYTES, most_bytes) and product(case.values) <= most


def bytes_of_case(problem: Problem, case: Case) -> int:
    """Of all its arrays."""
    return sum(bytes_of(case, argument) for argument in problem.arrays)


def _largest_listed(problem: Problem) -> dict[str, int]:
    return {name: int(max(case.values[name] for case in problem.cases)) for name in problem.ranges}


def fitted(allowed: Range, value: int, *, odd: bool = False) -> int:
    """The nearest value in the range at or below `value`; an odd multiple where there is one."""
    factor = min(value, allowed.high) // allowed.multiple
    if odd and factor % 2 == 0 and (factor - 1) * allowed.multiple >= allowed.low:
        factor -= 1
    return max(allowed.low, factor * allowed.multiple)


def _between(chance: random.Random, low: int, high: int) -> int:
    """Each magnitude is as likely as the next."""
    low = max(1, low)
    return int(math.exp(chance.uniform(math.log(low), math.log(max(low, high) + 1))))


def _smallest(chance: random.Random, ranges: Mapping[str, Range], _listed: Mapping[str, int]) -> _Sizes:
    """All sizes the smallest or the next, at least one the smallest."""
    sizes = {name: fitted(each, each.low + chance.choice((0, each.multiple))) for name, each in ranges.items()}
    name = chance.choice(list(ranges))
    return {**sizes, name: ranges[name].low}


def _odd(chance: random.Random, ranges: Mapping[str, Range], listed: Mapping[str, int]) -> _Sizes:
    return {name: fitted(each, _between(chance, each.low, listed[name]), odd=True) for name, each in ranges.items()}


def _prime(chance: random.Random, ranges: Mapping[str, Range], listed: Mapping[str, int]) -> _Sizes:
    """Primes, or prime multiples."""
    sizes = {}
    for name, each in ranges.items():
        start = max(2, _between(chance, each.low, listed[name]) // each.multiple)
        prime = next(n for n in count(start) if all(n % d for d in range(2, math.isqrt(n) + 1)))
        sizes[name] = fitted(each, prime * each.multiple)
    return sizes


def _large(chance: random.Random, ranges: Mapping[str, Range], listed: Mapping[str, int]) -> _Sizes:
    """One size large, the others small: where indices overflow and loops are long."""
    name = chance.choice(list(ranges))
    sizes = {
        each: fitted(limits, limits.low + limits.multiple * chance.randrange(8)) for each, limits in ranges.items()
    }
    most = min(ranges[name].high, _BEYOND_LISTED * listed[name])
    return {**sizes, name: fitted(ranges[name], most - chance.randrange(max(1, most // 8)))}
