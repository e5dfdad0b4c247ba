"""What a thread trace or PC samples say about the instructions of a kernel, as every reader of them returns it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Method = Literal["thread trace", "host-trap samples", "stochastic samples"]

UNNAMED = "(kernel not named)"


@dataclass(frozen=True, slots=True)
class Cost:
    """Sums over waves. Cycles and hits are a thread trace's, the others those of samples; `lanes`: active ones."""

    hits: int = 0
    latency: int = 0
    stall: int = 0
    idle: int = 0
    samples: int = 0
    stalled: int = 0
    lanes: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: "Cost") -> "Cost":
        reasons = dict(self.reasons)
        for reason, count in other.reasons.items():
            reasons[reason] = reasons.get(reason, 0) + count
        return Cost(
            self.hits + other.hits, self.latency + other.latency, self.stall + other.stall, self.idle + other.idle,
            self.samples + other.samples, self.stalled + other.stalled, self.lanes + other.lanes, reasons,
        )  # fmt: skip

    @property
    def weight(self) -> int:
        """What shares are shares of: samples, or the cycles of a trace. Idle cycles come before the instruction."""
        return self.samples or self.latency + self.idle


@dataclass(frozen=True, slots=True)
class Place:
    """An instruction of a kernel. `source`: `file:line`, inlined ones ` -> `-separated; empty without debug symbols.

    `code_object` and `address` are None where the format has none: then equal instructions of a line are one.
    """

    text: str
    source: str = ""
    code_object: int | None = None
    address: int | None = None


@dataclass(frozen=True)
class KernelCode:
    """The costs of one kernel by instruction, in the order of the file; `mangled` where its file has that name too."""

    kernel: str
    method: Method
    costs: Mapping[Place, Cost]
    mangled: str = ""

    @property
    def total(self) -> Cost:
        """The sum over all instructions."""
        return add_up(self.costs.values())


def add_up(costs: Iterable[Cost]) -> Cost:
    """The sum of the costs."""
    numbers = [0] * 7
    reasons: dict[str, int] = {}
    for cost in costs:
        each = (cost.hits, cost.latency, cost.stall, cost.idle, cost.samples, cost.stalled, cost.lanes)
        numbers = [a + b for a, b in zip(numbers, each, strict=True)]
        for reason, count in cost.reasons.items():
            reasons[reason] = reasons.get(reason, 0) + count
    hits, latency, stall, idle, samples, stalled, lanes = numbers
    return Cost(hits, latency, stall, idle, samples, stalled, lanes, reasons)


def join_code(parts: Iterable[KernelCode]) -> tuple[KernelCode, ...]:
    """One entry per kernel and method: the sums over dispatches and files."""
    first: dict[tuple[str, Method], KernelCode] = {}
    sums: dict[tuple[str, Method], dict[Place, Cost]] = {}
    for part in parts:
        key = (part.kernel, part.method)
        first.setdefault(key, part)
        costs = sums.setdefault(key, {})
        for place, cost in part.costs.items():
            costs[place] = costs[place] + cost if place in costs else cost
    return tuple(replace(part, costs=sums[key]) for key, part in first.items())
