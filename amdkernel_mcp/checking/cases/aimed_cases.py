"""Cases that are aimed at code which a kernel keeps for some sizes alone: multiples of its own constants and beyond.

A tile size, `n % 1024 == 0` or `n >= 65536` is a number in the code object or in the source. Sizes that were
drawn by chance are hardly ever multiples of it, and the profile case, which is one, is too large for a check.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from amdkernel_mcp.checking.cases.drawn_cases import bytes_of_case, drawn_case, fitted
from amdkernel_mcp.checking.cases.seeds import SeedKey
from amdkernel_mcp.compiler.disassembly import parse_disassembly
from amdkernel_mcp.problems.problem import Case, Problem
from amdkernel_mcp.problems.size_limits import why_case_refused

_LARGEST = 1 << 24  # of the constants: a larger one is a float, or a size that no check can have
_MOST_BYTES = 4 << 20
_MOST_BYTES_BEYOND = 64 << 20  # where an index may be cut off at a constant
_FREE_WORK = 1 << 20  # of the product of all sizes: so small a case is always drawn
_PART = 8  # of the work of the largest listed case, one
_PART_OF_PROFILED = 16
_TIMES = (2, 3)
_RESIDUES = 2  # of which a case is drawn
_EXACT = 4  # cases of sizes that the source asks for
_PAIR = 2  # the sizes that stay small are even
_TIMES_LISTED = 8
_INSTRUCTIONS = 2_000_000  # of a plain run
_COMPARES = re.compile(
    r"s_cmpk?_|v_cmpx?_|[sv]_mov|s_movk|[sv]_mul_(?:i32|lo)|v_mul_u32|v_mad|s_addk|[sv]_sub|[sv]_add"
)
_MASKS = re.compile(r"[sv]_and_b|s_bfe|v_bfe")
_SHIFTS = re.compile(r"[sv]_(?:lshr|ashr|lshl)")
_NUMBER = re.compile(r"(?<![\w.])(0x[0-9a-fA-F]+|\d+)[uUlL]*(?![\w.])")
_SHIFTED = re.compile(r"\b1[uUlL]*\s*<<\s*(\d{1,2})\b")
_PRODUCT = re.compile(r"\b(\d{1,6})\s*\*\s*(\d{1,6})\b")
_REMAINDER = re.compile(r"%\s*\(?\s*(\w+)")
_RESIDUE = re.compile(r"%\s*(\d{1,6})\s*\)?\s*==\s*(\d{1,6})\b")
_MASKED = re.compile(r"&\s*(0x[0-9a-fA-F]+|\d{1,8})[uUlL]*\s*\)?\s*==\s*(\d{1,8})\b")
_NAMED = re.compile(r"\b(\w+)\s*(?:=\s*|\s+)(\d{1,8})\b")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def constants_of(source: str, disassembly: str) -> frozenset[int]:
    """The whole numbers from 2 that the code compares with, divides by or masks with, in the source or as compiled."""
    return frozenset(each for each in (*_in_source(source), *_in_code(disassembly)) if 2 <= each <= _LARGEST)


def divisors_of(source: str) -> frozenset[int]:
    """What the source takes remainders by, by number or by a name that it gives one, but powers of two."""
    text = _COMMENT.sub(" ", source)
    named = {match[1]: int(match[2]) for match in _NAMED.finditer(text)}
    words = [match[1] for match in _REMAINDER.finditer(text)]
    found = {int(word) if word.isdecimal() else named.get(word, 0) for word in words}
    return frozenset(each for each in found if 2 < each <= _LARGEST and each & (each - 1))


def residues_of(source: str) -> frozenset[tuple[int, int]]:
    """Divisor and remainder of each comparison of a remainder with another number than 0, such as `n % 7 == 3`."""
    text = _COMMENT.sub(" ", source)
    found = {(int(match[1]), int(match[2])) for match in _RESIDUE.finditer(text)}
    masks = {(int(match[1], 0) + 1, int(match[2])) for match in _MASKED.finditer(text)}
    found |= {(divisor, rest) for divisor, rest in masks if divisor & (divisor - 1) == 0}
    return frozenset(pair for pair in found if 0 < pair[1] < pair[0])


def _in_source(source: str) -> Iterator[int]:
    text = _COMMENT.sub(" ", source)
    yield from (int(match[1], 0) if "x" in match[1] else int(match[1]) for match in _NUMBER.finditer(text))
    yield from (1 << int(match[1]) for match in _SHIFTED.finditer(text))
    yield from (int(match[1]) * int(match[2]) for match in _PRODUCT.finditer(text))


def _in_code(disassembly: str) -> Iterator[int]:
    for each in parse_disassembly(disassembly):
        numbers = [int(word, 0) for word in re.findall(r"(?<=[ ,])(?:0x[0-9a-fA-F]+|\d+)(?=,|$| )", each.text)]
        if _COMPARES.match(each.text):
            yield from (near for number in numbers for near in (number, number + 1))
        elif _MASKS.match(each.text):
            yield from (number + 1 for number in numbers if number & (number + 1) == 0)
        elif _SHIFTS.match(each.text):
            yield from (1 << number for number in numbers if number < 24)


def aim_cases(
    problem: Problem,
    key: SeedKey,
    constants: frozenset[int],
    divisors: frozenset[int],
    known: Sequence[Case],
    residues: frozenset[tuple[int, int]] = frozenset(),
) -> tuple[Case, ...]:
    """One case of little work whose sizes are multiples of constants, where no drawn case of `known` is like that.

    Another one of multiples of `divisors`, if there are any; one for each of up to two of `residues` whose sizes leave
    that remainder. Listed cases do not count: a kernel may know them.
    """
    if not problem.ranges:
        return ()
    largest = max(_work(problem, case) for case in problem.cases)
    profiled = max((_work(problem, case) for case in problem.profile_cases), default=0) / _PART_OF_PROFILED
    most = max(min(largest, max(_FREE_WORK, largest / _PART)), min(profiled, _FREE_WORK / _PART))
    chance = random.Random(key.derive("aims"))
    found: list[Case] = []
    for steps in (_smooth(constants), divisors):
        case = _aim(problem, chance, sorted(steps, reverse=True), constants, _within(problem, most))
        if case and _is_new(problem, case, constants | divisors, (*known, *found)):
            found.append(case)
    for divisor, rest in sorted(residues)[:_RESIDUES]:
        case = _aim(problem, chance, (divisor,), constants, _within(problem, most))
        sizes = (
            {name: _leaving(problem, name, divisor, rest, case.values[name]) for name in problem.ranges} if case else {}
        )
        if sizes and (case := _fits(problem, chance, sizes, lambda _: True)):
            found.append(case)
    return tuple(found)


def _leaving(problem: Problem, name: str, divisor: int, rest: int, least: float) -> int:
    """The first size from `least` that leaves the remainder `rest`; the last one where the range ends before."""
    allowed = problem.ranges[name]
    value = int(least) // divisor * divisor + rest
    value -= divisor * max(0, -(-(value - allowed.high) // divisor))
    return fitted(allowed, value)


def aim_further(
    problem: Problem,
    key: SeedKey,
    constants: frozenset[int],
    known: Sequence[Case],
    instructions: Sequence[int],
    *,
    unrun: bool,
    exact: Sequence[Mapping[str, int]] = (),
) -> tuple[Case, ...]:
    """Larger cases: where code ran in no case of `known` (`unrun`), or a size went beyond a constant in none.

    `exact`: sizes that the source asks for (`exact_sizes.py`); those that are quick are tried as well.

    `instructions`: that a plain run of each case of `known` executed. It is assumed that they grow with each size at
    most in proportion, so that none of the cases takes long.
    """
    reached = {name: max(case.values[name] for case in known) for name in problem.ranges}
    beyond = {
        name: [each for each in constants if reached[name] <= each < allowed.high]
        for name, allowed in problem.ranges.items()
    }
    if not any(beyond.values()) and not (problem.ranges and (unrun or exact)):
        return ()

    def is_quick(case: Case) -> bool:
        estimates = [
            count * math.prod(max(1.0, case.values[name] / max(1, other.values[name])) for name in problem.ranges)
            for other, count in zip(known, instructions, strict=True)
            if count  # a case that launched nothing says nothing
        ]
        return min(estimates, default=math.inf) <= max(_INSTRUCTIONS, *instructions)

    chance = random.Random(key.derive("further aims"))
    smooth = sorted(_smooth(constants), reverse=True)
    cases = [_aim(problem, chance, smooth, constants, is_quick)]
    if unrun:
        cases.append(_aim(problem, chance, sorted(_uneven(constants), reverse=True), constants, is_quick))
        cases.append(_equal(problem, chance, is_quick))
        for name in problem.ranges:
            cases += [
                _long(problem, chance, name, is_quick),
                _aim(problem, chance, (_PAIR,), constants, is_quick, (name,)),
            ]
    else:
        for name, own in beyond.items():
            # Far beyond where that is quick: what is left out just beyond may be too little to show.
            goals = frozenset(goal for each in own for goal in (each + 1, 2 * each))
            cases += [
                _aim(problem, chance, steps, goals, is_quick, (name,), _MOST_BYTES_BEYOND)
                for steps in (smooth, (_PAIR,))
            ]
        cases = [case for case in cases if case and _goes_beyond(case, beyond)]
    cases += _exact(problem, chance, exact, is_quick)
    seen = [dict(case.values) for case in known]
    found: list[Case] = []
    for case in cases:
        if case and dict(case.values) not in seen:
            seen.append(dict(case.values))
            found.append(case)
    return tuple(found)


def _goes_beyond(case: Case, beyond: Mapping[str, Sequence[int]]) -> bool:
    return any(case.values[name] > each for name, own in beyond.items() for each in own)


def _within(problem: Problem, most: float) -> Callable[[Case], bool]:
    return lambda case: _work(problem, case) <= most


def _long(problem: Problem, chance: random.Random, name: str, is_quick: Callable[[Case], bool]) -> Case | None:
    """One size large and odd, the others small: loops over what is left of a tile."""
    small = {
        other: fitted(each, each.low + each.multiple * chance.randrange(8)) for other, each in problem.ranges.items()
    }
    value = _TIMES_LISTED * max(case.values[name] for case in problem.cases)
    while value > problem.ranges[name].low:
        sizes = {**small, name: fitted(problem.ranges[name], int(value), odd=True)}
        if case := _fits(problem, chance, sizes, is_quick):
            return case
        value /= 2
    return None


def _exact(
    problem: Problem, chance: random.Random, wanted: Sequence[Mapping[str, int]], is_quick: Callable[[Case], bool]
) -> list[Case]:
    """The first of these sizes that the ranges hold and that are quick, the others small."""
    found: list[Case] = []
    for sizes in wanted:
        if len(found) == _EXACT or any(fitted(problem.ranges[name], value) != value for name, value in sizes.items()):
            continue
        small = {
            name: fitted(each, each.low + each.multiple * chance.randrange(8)) for name, each in problem.ranges.items()
        }
        if case := _fits(problem, chance, {**small, **sizes}, is_quick, _MOST_BYTES_BEYOND):
            found.append(case)
    return found


def _equal(problem: Problem, chance: random.Random, is_quick: Callable[[Case], bool]) -> Case | None:
    """All sizes the same, as large as is quick: square matrices."""
    value = _TIMES_LISTED * max(case.values[name] for case in problem.cases for name in problem.ranges)
    while len(problem.ranges) > 1 and value > 1:
        sizes = {name: fitted(allowed, int(value)) for name, allowed in problem.ranges.items()}
        if len({*sizes.values()}) == 1 and (case := _fits(problem, chance, sizes, is_quick)):
            return case
        value /= 2
    return None


def _fits(
    problem: Problem,
    chance: random.Random,
    sizes: Mapping[str, int],
    is_quick: Callable[[Case], bool],
    most_bytes: int = _MOST_BYTES,
) -> Case | None:
    """The case with these sizes; None where it is too large, or cannot be."""
    case = drawn_case({**chance.choice(problem.cases).values, **sizes})
    fits = why_case_refused(case, problem.arguments) is None and bytes_of_case(problem, case) <= most_bytes
    return case if fits and is_quick(case) else None


def _smooth(constants: frozenset[int]) -> set[int]:
    """Powers of two."""
    return {each & -each for each in constants if each & -each > 1}


def _uneven(constants: frozenset[int]) -> set[int]:
    return {each for each in constants if each & (each - 1)}


def _is_new(problem: Problem, case: Case, constants: frozenset[int], known: Sequence[Case]) -> bool:
    """Whether no drawn case has sizes that are all multiples of as much, and beyond as much."""
    kept = [each for each in constants if _all_multiples(problem, case, each)]
    passed = [(each, name) for each in constants for name in problem.ranges if case.values[name] >= each]
    return not any(
        other.drawn
        and all(_all_multiples(problem, other, each) for each in kept)
        and all(other.values[name] >= each for each, name in passed)
        for other in known
    )


def _all_multiples(problem: Problem, case: Case, constant: int) -> bool:
    return all(case.values[name] % constant == 0 for name in problem.ranges)


def _aim(
    problem: Problem,
    chance: random.Random,
    steps: Sequence[int],
    constants: frozenset[int],
    is_quick: Callable[[Case], bool],
    grows: Sequence[str] = (),
    most_bytes: int = _MOST_BYTES,
) -> Case | None:
    """All sizes multiples of the largest step that fits; then one after the other goes beyond the largest constant.

    grows: the sizes that do; by default all, in any order.
    """
    for step in steps:
        sizes = {name: _multiple_of(problem, name, step, step) for name in problem.ranges}
        case = _fits(problem, chance, sizes, is_quick, most_bytes)
        if case is None:
            continue
        names = list(grows or problem.ranges)
        chance.shuffle(names)
        for name in names:
            goals = (*constants, *(times * sizes[name] for times in _TIMES))
            for goal in sorted((goal for goal in goals if goal > sizes[name]), reverse=True):
                grown = {**sizes, name: _multiple_of(problem, name, step, goal)}
                if larger := _fits(problem, chance, grown, is_quick, most_bytes):
                    sizes, case = grown, larger
                    break
        return case
    return None


def _multiple_of(problem: Problem, name: str, step: int, least: int) -> int:
    """The first multiple of `step` from `least` in the range of a scalar; where there is none, the largest one."""
    allowed = problem.ranges[name]
    step = math.lcm(step, allowed.multiple)
    value = -(-max(least, allowed.low) // step) * step
    value = min(value, allowed.high // step * step)
    return value if value >= allowed.low else allowed.high


def _work(problem: Problem, case: Case) -> float:
    return math.prod(max(1, case.values[name]) for name in problem.ranges)
