"""One look at Slurm's queue for all sessions of a process.

Each session wants to know where its job stands. squeue answers for all of them, and a controller is asked about once
within FRESH_S, however many wait: its remote calls are what makes a busy cluster slow.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from amdkernel_mcp.slurm.commands import SlurmError, SlurmJob

FRESH_S = 1.0
"""For which a listing serves others than the session that asked for it."""


@dataclass(frozen=True)
class Listing:
    """`begun_s`: when Slurm was asked. `is_new`: for the one session that asked."""

    begun_s: float
    jobs: Sequence[SlurmJob]
    is_new: bool


class SharedListing:
    """Thread-safe. While one session asks, the others wait for its answer."""

    def __init__(self, list_jobs: Callable[[], Sequence[SlurmJob]], clock: Callable[[], float]) -> None:
        self._list_jobs = list_jobs
        self._clock = clock
        self._asking = threading.Lock()
        self._begun_s: float | None = None
        self._answer: Sequence[SlurmJob] | SlurmError = ()

    def since(self, moment_s: float) -> Listing:
        """The jobs as Slurm lists them when asked after `moment_s`, by this clock: what the caller did before is seen.

        Raises NoAnswerError, SlurmError; an error is shared like an answer, so that many sessions do not wait one after
        the other for a controller that is away.
        """
        called_s = self._clock()
        with self._asking:
            oldest_s = max(moment_s, called_s - FRESH_S)
            is_new = self._begun_s is None or self._begun_s <= oldest_s
            if is_new:
                self._begun_s = self._clock()
                try:
                    self._answer = self._list_jobs()
                except SlurmError as error:
                    self._answer = error
            if isinstance(self._answer, SlurmError):
                raise type(self._answer)(self._answer.message, hint=self._answer.hint)  # each thread its own
            assert self._begun_s is not None
            return Listing(self._begun_s, self._answer, is_new)
