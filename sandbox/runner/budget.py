"""What the runs of a case may cost on the emulator, counted in instructions of waves.

No clock is read here: how much is checked, and when a kernel counts as one that never ends, must be the same on a busy
machine. A count of instructions does not exist on a GPU, where seconds limit a case (run_job.py).
"""

from collections.abc import Sequence

_PLAIN = "races=0,races_every=0,schedule_seed=0"
_ORDERS = 4  # times `close_look`: up to here other orders are tried; each takes about as long as a plain run
_TWICE = 0.5  # of `close_look`: up to here races are looked for in a second order, too
_GROWTH, _LEAST = 64, 200_000_000  # of a run in another order, relative to the plain one: waits take longer there


class Budget:
    """The emulator's options for each repeat of a case, decided from what its plain repeat executed.

    plans: the options of each repeat where the budget allows all. close_look: up to so many instructions races are
    looked for in all workgroups, beyond in a sample. limit: of a plain repeat. sample: chooses the workgroups of the
    sample, a number that no kernel can know.

    `executed` is always the count of the whole process so far.
    """

    def __init__(self, plans: Sequence[str], *, close_look: int, limit: int, sample: int) -> None:
        self._plans = plans
        self._close_look = close_look
        self._sample = sample
        self._plain_limit = self._limit = limit
        self._began = 0
        self._plain: int | None = None

    def begin(self, repeat: int, executed: int) -> str:
        """The options of repeat 0, 1 and so on, in order."""
        if repeat == 1:
            self._plain = executed - self._began
        self._began = executed
        if repeat == 0 or self._plain is None:
            self._limit = self._plain_limit
        else:
            self._limit = max(_LEAST, _GROWTH * self._plain)
        plan = self._plans[repeat] if repeat < len(self._plans) else ""
        return f"{_PLAIN},{plan},{self._reduced(repeat)}"

    def begin_plain(self, executed: int) -> str:
        """The options of one more run in the plain order."""
        self._began, self._limit = executed, self._plain_limit
        return _PLAIN

    def launch(self, executed: int) -> str:
        """The options of the next launch: what is left of the limit."""
        return f"step_limit={max(1, self._limit - (executed - self._began))}"

    def _reduced(self, repeat: int) -> str:
        """What is left out of the plan of a repeat, because the case is large."""
        plain = self._plain or 0
        if repeat == 0:
            return ""
        if repeat == 1:
            if plain <= self._close_look:
                return ""
            return f"races_every={-(-2 * plain // self._close_look)},races_seed={self._sample}"
        if plain > _ORDERS * self._close_look:
            return _PLAIN
        return "races=0" if plain > _TWICE * self._close_look else ""
