"""A rule from shape to variant, fitted on some shapes and judged on others. Pure.

The rule is a small decision tree over the sizes. It is fitted on the times of three quarters of the shapes. What it
costs is said of the others alone, which it has not seen.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

from amdkernel_mcp.problems.problem import Number

FEWEST_SHAPES = 4
_MOST_LEAVES = 4
_FEWEST_IN_LEAF = 2
_WORTH = log(1.02)
"""A split must save so much on the mean shape: the logarithm of a ratio of times."""
_WRONG = log(100.0)  # what a variant costs that is not correct there


@dataclass(frozen=True)
class Timed:
    """One shape: its sizes, and of each variant how many times the best one's time it takes.

    A variant that surely does not differ from the best costs nothing. None: it has no time there.
    """

    sizes: Mapping[str, Number]
    ratios: Mapping[str, float | None]


@dataclass(frozen=True)
class Leaf:
    """The variant for the shapes that meet all `conditions`: size, `<=` or `>`, and the bound."""

    variant: str
    conditions: tuple[tuple[str, str, Number], ...] = ()

    def holds(self, sizes: Mapping[str, Number]) -> bool:
        """Whether a shape is one of these."""
        return all((sizes[name] <= bound) == (sign == "<=") for name, sign, bound in self.conditions)


@dataclass(frozen=True)
class Rule:
    """The leaves; each shape meets one. `one_for_all`: the best single variant for the shapes of the fit."""

    leaves: tuple[Leaf, ...]
    one_for_all: str

    def variant(self, sizes: Mapping[str, Number]) -> str:
        """The variant for a shape."""
        return next(leaf.variant for leaf in self.leaves if leaf.holds(sizes))


def held_out(count: int, seed: int) -> frozenset[int]:
    """The numbers of the shapes that are kept from the fit: a quarter of them, drawn with the seed."""
    if count < FEWEST_SHAPES:
        return frozenset()
    return frozenset(random.Random(seed).sample(range(count), max(1, count // 4)))


def fit(shapes: Sequence[Timed]) -> Rule:
    """The rule for these shapes: splits while one saves enough, the most useful first."""
    leaves = [_Node(shapes)]
    while len(leaves) < _MOST_LEAVES:
        splits = [(node.split(), node) for node in leaves]
        found = max(((split, node) for split, node in splits if split), key=lambda pair: pair[0].saves, default=None)
        if found is None or found[0].saves < _WORTH * len(shapes):
            break
        split, node = found
        at = leaves.index(node)
        leaves[at : at + 1] = split.halves
    return Rule(tuple(Leaf(node.variant, node.conditions) for node in leaves), _Node(shapes).variant)


def loss(shapes: Sequence[Timed], rule: Rule, *, alone: bool = False) -> tuple[float, float] | None:
    """Geometric mean and worst of how many times the best variant's time the rule's choice takes; None: no time.

    alone: of the one variant for all, in place of the rule.
    """
    ratios = [shape.ratios.get(rule.one_for_all if alone else rule.variant(shape.sizes)) for shape in shapes]
    known = [ratio for ratio in ratios if ratio is not None]
    if not known or len(known) < len(ratios):
        return None
    return exp(sum(map(log, known)) / len(known)), max(known)


@dataclass(frozen=True)
class _Split:
    saves: float
    halves: list[_Node]


class _Node:
    """Shapes that have one variant so far: the one that costs least on all of them, the first of equals."""

    def __init__(self, shapes: Sequence[Timed], conditions: tuple[tuple[str, str, Number], ...] = ()) -> None:
        self.shapes, self.conditions = shapes, conditions
        costs = {name: sum(_cost(shape, name) for shape in shapes) for name in shapes[0].ratios}
        self.variant = min(costs, key=lambda name: costs[name])
        self.cost = costs[self.variant]

    def split(self) -> _Split | None:
        best: _Split | None = None
        for name in self.shapes[0].sizes:
            for bound in sorted({shape.sizes[name] for shape in self.shapes})[:-1]:
                low = [shape for shape in self.shapes if shape.sizes[name] <= bound]
                high = [shape for shape in self.shapes if shape.sizes[name] > bound]
                if min(len(low), len(high)) < _FEWEST_IN_LEAF:
                    continue
                halves = [
                    _Node(low, (*self.conditions, (name, "<=", bound))),
                    _Node(high, (*self.conditions, (name, ">", bound))),
                ]
                saves = self.cost - sum(half.cost for half in halves)
                if best is None or saves > best.saves:
                    best = _Split(saves, halves)
        return best


def _cost(shape: Timed, name: str) -> float:
    ratio = shape.ratios.get(name)
    return _WRONG if ratio is None else log(ratio)
