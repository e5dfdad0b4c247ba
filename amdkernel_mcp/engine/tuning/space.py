"""The values that a kernel's `tune` lines offer, and the line that fixes some of them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from amdkernel_mcp.checking.cases.tuned import Tuning, default_tuning
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.launch.plan import LaunchPlan

MOST_NAMES = 16
MOST_VALUES = 256
"""Of one name."""
MOST_ROWS = 256
DEFAULT_ROWS = 64


@dataclass(frozen=True)
class TuneOptions:
    """How much is tried. A space of more than `rows` combinations is searched with this `seed`, a smaller one swept.

    case: which is timed, in place of the problem's profile case or largest. shapes: the text of a CSV table, whose
    shapes are timed one after the other.
    """

    rows: int = DEFAULT_ROWS
    seed: int = 0
    case: str | None = None
    shapes: str | None = None

    def __post_init__(self) -> None:
        if not 2 <= self.rows <= MOST_ROWS:
            raise InputError(f"the number of rows is 2 to {MOST_ROWS}")
        if self.shapes is not None and self.case is not None:
            raise InputError("a table of shapes says what is timed, so that no case can be chosen")
        if not 0 <= self.seed < 2**32:
            raise InputError("the seed of a search is 0 to 4294967295")


USUAL = TuneOptions()


@dataclass(frozen=True)
class Space:
    """All combinations. `default`: the values without a sweep, which may lie outside the lists."""

    lists: Mapping[str, tuple[str, ...]]
    default: Tuning

    @cached_property
    def size(self) -> int:
        """How many combinations there are; the default counts also where it lies outside."""
        return prod(map(len, self.lists.values())) + (not self.holds_default)

    @property
    def holds_default(self) -> bool:
        """Whether the lists contain the default values."""
        return all(self.default[name] in values for name, values in self.lists.items())

    def others(self) -> Iterator[Tuning]:
        """All but the default, in the order of the lines."""
        for values in product(*self.lists.values()):
            tuning = dict(zip(self.lists, values, strict=True))
            if tuning != self.default:
                yield tuning


def space_of(plan: LaunchPlan, *, file_name: str) -> Space:
    """The space of a plan without mistakes. Raises InputError where there is none, or one that is too large."""
    if not plan.tune:
        raise InputError(
            "the kernel has no `tune` line, so there is nothing to try",
            file=file_name,
            hint="add a line such as `// amdkernel: tune TILE=[16,32,64]` and use TILE in the code or in `launch`",
        )
    lists = {name: tuple(dict.fromkeys(values)) for name, values in plan.tune.items()}
    if len(lists) > MOST_NAMES:
        raise InputError(f"`tune` has {len(lists)} names; {MOST_NAMES} are allowed", file=file_name)
    for name, values in lists.items():
        if len(values) > MOST_VALUES:
            raise InputError(f"tune {name} has {len(values)} values; {MOST_VALUES} are allowed", file=file_name)
    return Space(lists, default_tuning(plan))


def unused_names(space: Space, source: str) -> list[str]:
    """Names that occur only in lines that give them values, so that all of their values give the same kernel."""
    import re

    rest = re.sub(r"(?m)^[ \t]*(//|#|;)[ \t]*amdkernel[ \t]*:[ \t]*(tune|build|constexpr)\b.*$", "", source)
    return [name for name in space.lists if not re.search(rf"\b{re.escape(name)}\b", rest)]
