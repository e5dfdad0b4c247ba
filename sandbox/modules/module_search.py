"""Finds sizes with which a module is small enough to be emulated, and which of its sizes are free."""

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from module_fit import Sample, fit, holds, value
from module_probe import Look, NotImported, look
from module_sizes import Position, Size, find_sizes

MOST_ELEMENTS = 48 << 10
MOST_FLOPS = 6_000_000
_STRETCH = 8  # times as much is taken where nothing smaller runs
_SCALED_FROM = 16  # smaller numbers are kernel sizes, strides, groups
_LEAST = 4
_HUGE = 1 << 24  # elements that a machine without the meta device may hold
_MULTIPLES = (1, 2, 3, 4, 6, 8, 12, 16, 32)
_LOWS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32)
_SLOW_S = 0.4  # of one look: then free sizes are not searched
_MOST_FREE = 8
_FARTHEST = 64  # times its value: so far a range goes for the sake of the author's tests
_COMBINATIONS = 16

Values = dict[Position, int]


@dataclass
class Group:
    """Numbers of the text that have one value and change together."""

    name: str
    positions: list[Position]
    value: int
    original: int
    multiple: int = 1
    low: int = 1
    high: int = 1
    samples: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Found:
    """A module small enough: its look, the free sizes, and what all its whole numbers are in terms of these."""

    base: Look
    groups: list[Group]
    free: list[Group]
    formulas: list[str]
    ranges: bool
    held_out: dict[str, int]
    tests: list[dict[str, int]]  # of the module's author, those that are small
    device: str

    def values(self, sizes: Mapping[str, int] | None = None) -> Values:
        """The number at every position, with other values for some sizes."""
        chosen = sizes or {}
        return {at: chosen.get(each.name, each.value) for each in self.groups for at in each.positions}


class Search:
    """One search. `wanted`: values that the user asked for, by name; `tests`: those that the author tests."""

    def __init__(
        self, text: str, mode: str, wanted: Mapping[str, int], tests: Sequence[Mapping[str, int]] = ()
    ) -> None:
        self._tests = tests
        self._text = text
        self._mode = mode
        self._device = "meta"
        self._sizes = find_sizes(text)
        self.groups = [Group(each.name, [each.position], each.value, each.value) for each in self._sizes]
        unknown = set(wanted) - {each.name for each in self._sizes}
        if unknown:
            names = ", ".join(each.name for each in self._sizes)
            raise NotImported("shape", f"the file has no size called {min(unknown)}; it has {names or 'none'}")
        for each in self.groups:
            each.value = wanted.get(each.name, each.value)
        self._wanted = frozenset(wanted)

    def run(self) -> Found:
        """Scale the sizes down, then find which are free. Raises NotImported."""
        base = self._first_look()
        base = self._scale(base)
        free, formulas = self._free(base)
        ranged = bool(free) and self._find_ranges(base, free, formulas)
        held_out = self._held_out(base, free, formulas) if free else {}
        tests = self._small_tests(base, free, formulas) if ranged else []
        return Found(base, self.groups, free, formulas, ranged, held_out, tests, self._device)

    def _values(self, changed: Mapping[str, int]) -> Values:
        return {at: changed.get(each.name, each.value) for each in self.groups for at in each.positions}

    def _look(self, changed: Mapping[str, int] | None = None) -> Look | None:
        """None where the module does not run with these sizes."""
        try:
            return look(self._text, self._values(changed or {}), self._mode, self._device)
        except NotImported:
            raise
        except Exception:
            return None

    def _first_look(self) -> Look:
        try:
            return look(self._text, self._values({}), self._mode, self._device)
        except NotImported:
            raise
        except Exception as error:
            first = error
        # Code that needs values, such as tensor.item(), runs on the CPU only: with sizes that cannot hurt.
        self._device = "cpu"
        for most in (64, 32, 16):
            changed = {each.name: most for each in self.groups if each.value > most and each.name not in self._wanted}
            found = self._look(changed)
            if found is not None:
                for each in self.groups:
                    each.value = changed.get(each.name, each.value)
                return found
        raise first

    def _scale(self, base: Look) -> Look:
        while _cost(base) > 1:
            smaller = self._one_step(base) or self._two_steps(base)
            if smaller is None and _cost(base) <= _STRETCH:
                return base
            if smaller is None:
                raise NotImported(
                    "size",
                    f"its smallest size that runs has {base.elements:,} elements and {base.flops:,} operations",
                )
            base = smaller
        return base

    def _one_step(self, base: Look) -> Look | None:
        """The module with one size halved: the largest that can be and that helps."""
        for group in sorted(self.groups, key=lambda each: -each.value):
            if group.value < 2 * _LEAST or group.name in self._wanted:
                continue
            half = group.value // 2
            found = self._look({group.name: half})
            if group.value < _SCALED_FROM and (found is None or found.input_sizes() == base.input_sizes()):
                continue  # a kernel size, a stride, a number of groups
            if found is not None and _cost(found) < _cost(base):
                group.value = half
                return found
            same = [each for each in self.groups if each.value == group.value and each is not group]
            found = self._look({each.name: half for each in (group, *same)}) if same else None
            if found is not None and _cost(found) < _cost(base):
                group.value = half
                for each in same:
                    group.positions += each.positions
                    self.groups.remove(each)
                return found
        return None

    def _two_steps(self, base: Look) -> Look | None:
        """The module with two sizes halved that only change together, such as a norm's and its input's."""
        large = [each for each in self.groups if each.value >= _SCALED_FROM and each.name not in self._wanted]
        for one, other in combinations(sorted(large, key=lambda each: -each.value), 2):
            changed = {one.name: one.value // 2, other.name: other.value // 2}
            found = self._look(changed)
            if found is not None and _cost(found) < _cost(base):
                one.value, other.value = changed[one.name], changed[other.name]
                return found
        return None

    # ---- free sizes ----

    def _free(self, base: Look) -> tuple[list[Group], list[str]]:
        numbers = base.numbers()
        fixed = [str(number) for number in numbers]
        began = time.monotonic()
        self._look()
        if time.monotonic() - began > _SLOW_S:
            return [], fixed
        looks: list[tuple[str, int, Look]] = []
        free: list[Group] = []
        for group in self.groups:
            seen = self._vary(group, base)
            if seen and len(free) < _MOST_FREE:
                free.append(group)
                looks += [(group.name, at, each) for at, each in seen.items()]
        while free:
            names = {each.name: each.value for each in free}
            samples = [(names, numbers)] + [
                ({**names, name: at}, each.numbers()) for name, at, each in looks if name in names
            ]
            formulas = [fit([(sizes, row[n]) for sizes, row in samples], names) for n in range(len(numbers))]
            lost = {
                name
                for n, formula in enumerate(formulas)
                if formula is None
                for sizes, row in samples
                for name in names
                if sizes[name] != names[name] and row[n] != numbers[n]
            }
            if not lost:
                return free, [str(each) for each in formulas]
            free = [each for each in free if each.name not in lost]
        return [], fixed

    def _vary(self, group: Group, base: Look) -> dict[int, Look]:
        """What the module is with other values of one size; empty where the size is not free."""
        numbers = base.numbers()
        for multiple in _MULTIPLES:
            if group.value % multiple:
                continue
            near = self._same_form({group.name: group.value + multiple}, base)
            if near is None:
                continue
            same_inputs = near.input_sizes() == base.input_sizes()
            if near.numbers() == numbers or (same_inputs and group.original < _SCALED_FROM):
                return {}
            group.multiple = multiple
            steps = (*range(-4, 9), group.value // multiple, 2 * group.value // multiple)
            wanted = {group.value + multiple * step for step in steps} | {low * multiple for low in _LOWS}
            looks = {
                at: self._same_form({group.name: at}, base) for at in sorted(wanted) if at > 0 and at != group.value
            }
            group.samples = sorted(at for at, each in looks.items() if each)
            return {at: each for at, each in looks.items() if each}
        return {}

    def _same_form(self, changed: Mapping[str, int], base: Look) -> Look | None:
        if self._device == "cpu" and any(at > _HUGE for at in changed.values()):
            return None
        found = self._look(changed)
        return found if found is not None and found.form() == base.form() else None

    def _find_ranges(self, base: Look, free: Sequence[Group], formulas: Sequence[str]) -> bool:
        """Set the ends of every range; False where the sizes cannot be chosen independently of each other."""
        for group in free:
            below = [at for at in group.samples if at < group.value]
            lows = [at for at in below if at // group.multiple in _LOWS]
            group.low = lows[0] if lows else group.value
            tested = [test.get(group.name, 0) for test in self._tests]
            group.high = max(4 * group.value, *(at for at in (0, *tested) if at <= _FARTHEST * group.value))
        chance = random.Random(0)
        for _ in range(4):
            if not self._agrees(base, {each.name: each.low for each in free}, formulas):
                for each in free:
                    each.low = min(each.value, 2 * each.low)
                continue
            tries = [
                {
                    each.name: each.multiple * chance.randint(each.low // each.multiple, each.high // each.multiple)
                    for each in free
                }
                for _ in range(_COMBINATIONS)
            ]
            return all(self._agrees(base, sizes, formulas) for sizes in tries)
        return False

    def _agrees(self, base: Look, sizes: Mapping[str, int], formulas: Sequence[str]) -> bool:
        if self._device == "cpu":
            sizes = {name: min(at, 64) for name, at in sizes.items()}
        found = self._same_form(sizes, base)
        if found is None:
            return False
        samples: list[list[Sample]] = [[(sizes, number)] for number in found.numbers()]
        return all(holds(formula, sample) for formula, sample in zip(formulas, samples, strict=True))

    def _held_out(self, base: Look, free: Sequence[Group], formulas: Sequence[str]) -> dict[str, int]:
        """Other sizes, smaller and odd where they can be; empty where none were found."""
        for share in (0.7, 0.85, 1.1):
            sizes = {}
            for each in free:
                factor = max(1, round(share * each.value / each.multiple))
                factor -= factor % 2 == 0 and factor > 2
                sizes[each.name] = max(factor * each.multiple, each.low)
            if sizes != {each.name: each.value for each in free} and self._agrees(base, sizes, formulas):
                return sizes
        return {}

    def _small_tests(self, base: Look, free: Sequence[Group], formulas: Sequence[str]) -> list[dict[str, int]]:
        """Tests within the ranges whose other sizes are those of the problem."""
        names = {each.name: each for each in free}
        kept = []
        for test in self._tests:
            sizes = {name: at for name, at in test.items() if name in names}
            fixed = all(test.get(each.name, each.value) == each.value for each in self.groups if each.name not in names)
            inside = all(names[n].low <= at <= names[n].high and at % names[n].multiple == 0 for n, at in sizes.items())
            if fixed and inside and set(sizes) == set(names) and self._agrees(base, sizes, formulas):
                found = self._look(sizes)
                if found is not None and _cost(found) <= _STRETCH:
                    kept.append(sizes)
        return kept


def _cost(found: Look) -> float:
    return max(found.elements / MOST_ELEMENTS, found.flops / MOST_FLOPS)


__all__ = ["Found", "Group", "Search", "Size", "value"]
