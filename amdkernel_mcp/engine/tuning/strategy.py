"""Which combinations are tried: all of them, or a search where there are too many.

The search learns from the times of earlier rows. It asks for rows in batches of a fixed size, so that the same seed
gives the same rows on every machine, whatever its cores.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from math import ceil, prod
from typing import Protocol

from amdkernel_mcp.checking.cases.tuned import Tuning
from amdkernel_mcp.engine.tuning.space import Space, TuneOptions

BATCH = 8
_BEST = 0.15
"""The share of the ranked rows that counts as good; at least two rows do."""
_UNSEEN, _NEAR = 0.5, 0.25
"""Weight of a value that no row has, and of a row with a neighbouring value: lists are mostly ladders."""
_DRAWS, _VARIED = 24, 0.5
"""For one proposal; the share of them that is a good row with one other value."""

Shares = dict[str, dict[str, float]]
"""By name and value; those of a name sum to 1."""


class Strategy(Protocol):
    """Where the rows after the default come from."""

    name: str

    def ask(self) -> Sequence[Tuning]:
        """The next combinations, none of them tried before; empty at the end."""
        ...

    def tell(self, tuning: Tuning, cost: float | None) -> None:
        """What a row brought: the smaller the better; None: it has no rank."""
        ...


def strategy_of(space: Space, options: TuneOptions) -> Strategy:
    """A sweep where the space has no more than `options.rows` combinations."""
    return Sweep(space) if space.size <= options.rows else Search(space, options)


class Sweep:
    """All combinations, in the order of the lines."""

    name = "sweep"

    def __init__(self, space: Space) -> None:
        self._left = space.others()

    def ask(self) -> Sequence[Tuning]:
        """The next batch."""
        return list(islice(self._left, BATCH))

    def tell(self, tuning: Tuning, cost: float | None) -> None:
        """Nothing to learn: all are tried."""


class Search:
    """A tree-structured Parzen estimator over the lists. The default is its first observation.

    It compares how often a value occurs among the best rows and among the others, and proposes what is more frequent
    among the best. (Bergstra et al., "Algorithms for Hyper-Parameter Optimization", NIPS 2011, section 4.)
    """

    name = "search"

    def __init__(self, space: Space, options: TuneOptions) -> None:
        self._space = space
        self._random = random.Random(options.seed)
        self._left = options.rows - 1
        self._unguided = max(BATCH, options.rows // 4)
        self._seen = {_key(space.default)}
        self._ranked: list[tuple[float, Tuning]] = []
        self._unranked: list[Tuning] = []

    def ask(self) -> Sequence[Tuning]:
        """The next batch; the last one may be smaller."""
        count = min(BATCH, self._left)
        self._left -= count
        ranked = [tuning for _, tuning in sorted(self._ranked, key=lambda row: row[0])]
        good = ranked[: max(2, ceil(_BEST * len(ranked)))]
        liked, usual = self._shares(good), self._shares([*ranked[len(good) :], *self._unranked])
        asked = []
        for _ in range(count):
            guided = self._proposed(good, liked, usual) if good and len(self._seen) > self._unguided else None
            asked.append(guided or self._random_one())
            self._seen.add(_key(asked[-1]))
        return asked

    def tell(self, tuning: Tuning, cost: float | None) -> None:
        """A row without a rank counts among the worse ones: the values that made it wrong are avoided."""
        if not all(value in self._space.lists[name] for name, value in tuning.items()):
            return  # a default outside the lists
        if cost is None:
            self._unranked.append(tuning)
        else:
            self._ranked.append((cost, tuning))

    def _shares(self, rows: Sequence[Tuning]) -> Shares:
        """How often each value occurs; a value gets a part of what its neighbours in the list have."""
        shares: Shares = {}
        for name, values in self._space.lists.items():
            counts = Counter(row[name] for row in rows)
            beside = zip(["", *values], [*values[1:], ""], strict=False)
            weights = {
                value: _UNSEEN + counts[value] + _NEAR * (counts[before] + counts[after])
                for value, (before, after) in zip(values, beside, strict=True)
            }
            total = sum(weights.values())
            shares[name] = {value: weight / total for value, weight in weights.items()}
        return shares

    def _proposed(self, good: Sequence[Tuning], liked: Shares, usual: Shares) -> Tuning | None:
        """The likeliest of some draws to be good; None where all of them were tried before.

        Only sums, products and quotients decide: they are the same on every machine, unlike logarithms.
        """
        best: tuple[float, Tuning] | None = None
        for _ in range(_DRAWS):
            drawn = {name: self._random.choices(list(each), list(each.values()))[0] for name, each in liked.items()}
            if self._random.random() < _VARIED:  # a good row with another value keeps the values that go together
                name = self._random.choice(list(drawn))
                drawn = {**self._random.choice(good), name: drawn[name]}
            likely = prod(liked[name][value] / usual[name][value] for name, value in drawn.items())
            if _key(drawn) not in self._seen and (best is None or likely > best[0]):
                best = likely, drawn
        return best and best[1]

    def _random_one(self) -> Tuning:
        """One that was not seen: there are more combinations than rows, so that it exists."""
        while True:
            tuning = {name: self._random.choice(values) for name, values in self._space.lists.items()}
            if _key(tuning) not in self._seen:
                return tuning


def _key(tuning: Tuning) -> tuple[str, ...]:
    return tuple(tuning.values())
