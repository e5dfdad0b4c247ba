"""How thoroughly a kernel is checked."""

from dataclasses import dataclass

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.runner_protocol.job import CASE_INSTRUCTIONS

SEEDS = 5
SCHEDULES = 2
SCHEDULES_OF_SHARED = 10  # where workgroups meet in memory: atomics, flags
MAX_SCHEDULES = 32
MAX_ORDER = 2**32 - 1
CASE_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class CheckOptions:
    """The options of one check, passed from the command line and the tools down to the plan of the runs."""

    seeds: tuple[int, ...] | None = None
    """Given seeds; None: those of the key."""
    seed_count: int = SEEDS
    """How many seeds of the key each case runs with."""
    seed_key: str | None = None
    """The revealed key of an earlier check, to replay its inputs and shapes."""
    schedules: int | None = None
    """Orders of waves and workgroups besides the plain one, on the emulator; None: SCHEDULES, or SCHEDULES_OF_SHARED
    where the code has atomics or polls flags. A number also lets slower cases run in them."""
    order: int | None = None
    """The seed of the one order to replay instead."""
    case_timeout_s: float = CASE_TIMEOUT_S
    """Of each case on a GPU."""
    case_instructions: int = CASE_INSTRUCTIONS
    """Of each repeat of a case on the emulator, where seconds decide nothing."""

    hang: bool = False
    """Start it on a GPU even if it did not end before and a reset of that GPU would take down the work of others."""

    def __post_init__(self) -> None:
        if not 0 <= (self.schedules or 0) <= MAX_SCHEDULES:
            raise InputError(f"the number of schedules is 0 to {MAX_SCHEDULES}")
        if self.order is not None and not 1 <= self.order <= MAX_ORDER:
            raise InputError(f"the seed of an order is 1 to {MAX_ORDER}")

    def repeats(self, *, shares: bool = False) -> int:
        """Runs of the first seed of each case. `shares`: workgroups meet in memory."""
        if self.order is not None:
            return 3
        orders = SCHEDULES_OF_SHARED if shares else SCHEDULES
        return 2 + (orders if self.schedules is None else self.schedules)

    @property
    def patient(self) -> bool:
        """Whether the caller asked for orders, so that a large case is checked as closely as the smallest."""
        return bool(self.schedules or self.order)
