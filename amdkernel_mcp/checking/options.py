"""How thoroughly a kernel is checked."""

from dataclasses import dataclass

from amdkernel_mcp.errors import InputError

SCHEDULES = 2
MAX_SCHEDULES = 32
MAX_ORDER = 2**32 - 1
CASE_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class CheckOptions:
    """The options of one check, passed from the command line and the tools down to the plan of the runs."""

    seeds: tuple[int, ...] = (0, 1, 2)
    schedules: int | None = None
    """Orders of waves and workgroups besides the plain one, on the emulator; None: SCHEDULES. A number also lets slower
    cases run in them."""
    order: int | None = None
    """The seed of the one order to replay instead."""
    case_timeout_s: float = CASE_TIMEOUT_S

    def __post_init__(self) -> None:
        if not 0 <= (self.schedules or 0) <= MAX_SCHEDULES:
            raise InputError(f"the number of schedules is 0 to {MAX_SCHEDULES}")
        if self.order is not None and not 1 <= self.order <= MAX_ORDER:
            raise InputError(f"the seed of an order is 1 to {MAX_ORDER}")

    @property
    def repeats(self) -> int:
        """Runs of the first seed of each case."""
        if self.order is not None:
            return 3
        return 2 + (SCHEDULES if self.schedules is None else self.schedules)

    @property
    def patient(self) -> bool:
        """Whether the caller asked for orders, so that a slow case may take its time."""
        return bool(self.schedules or self.order)
