"""Which combinations are tried: all of them, or a search where there are too many.

The search is Optuna's tree-structured Parzen estimator (MIT). It learns from the times of earlier rows. It asks for
rows in batches of a fixed size, so that the same seed gives the same rows on every machine, whatever its cores.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from amdkernel_mcp.checking.cases.tuned import Tuning
from amdkernel_mcp.engine.tuning.space import Space, TuneOptions

if TYPE_CHECKING:
    import optuna

BATCH = 8
_TRIES = 8
"""Times that the search may propose a combination again before a random one is taken."""


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
    """Optuna's TPE over the lists. The default is its first observation."""

    name = "search"

    def __init__(self, space: Space, options: TuneOptions) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(seed=options.seed, n_startup_trials=max(BATCH, options.rows // 4))
        self._study = optuna.create_study(sampler=sampler)
        self._space = space
        self._distributions: Mapping[str, optuna.distributions.BaseDistribution] = {
            name: optuna.distributions.CategoricalDistribution(values) for name, values in space.lists.items()
        }
        self._random = random.Random(options.seed)
        self._left = options.rows - 1
        self._seen = {_key(space.default)}
        self._open: dict[tuple[str, ...], optuna.Trial] = {}

    def ask(self) -> Sequence[Tuning]:
        """The next batch; the last one may be smaller."""
        count = min(BATCH, self._left)
        self._left -= count
        return [self._next() for _ in range(count)]

    def tell(self, tuning: Tuning, cost: float | None) -> None:
        """A row that does not count is left out: the search cannot compare it."""
        from optuna.trial import TrialState, create_trial

        trial = self._open.pop(_key(tuning), None)
        if trial is not None:
            self._study.tell(trial, cost, state=TrialState.FAIL if cost is None else TrialState.COMPLETE)
        elif cost is not None and all(value in self._space.lists[name] for name, value in tuning.items()):
            self._study.add_trial(
                create_trial(params=dict(tuning), distributions=dict(self._distributions), value=cost)
            )

    def _next(self) -> Tuning:
        from optuna.trial import TrialState

        for _ in range(_TRIES):
            trial = self._study.ask(dict(self._distributions))
            tuning = {name: str(trial.params[name]) for name in self._space.lists}
            if _key(tuning) not in self._seen:
                self._seen.add(_key(tuning))
                self._open[_key(tuning)] = trial
                return tuning
            self._study.tell(trial, state=TrialState.FAIL)
        return self._random_one()

    def _random_one(self) -> Tuning:
        """One that was not seen: there are more combinations than rows, so that it exists."""
        while True:
            tuning = {name: self._random.choice(values) for name, values in self._space.lists.items()}
            if _key(tuning) not in self._seen:
                self._seen.add(_key(tuning))
                return tuning


def _key(tuning: Tuning) -> tuple[str, ...]:
    return tuple(tuning.values())
