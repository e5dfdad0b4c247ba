"""The rows of a diagnosis by what they say: what to cure, what is in order, what was ruled out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from amdkernel_mcp.profiling.remains import REMAINS
from amdkernel_mcp.profiling.rules.answer import AT_THE_ROOF, RULED_OUT


@dataclass(frozen=True)
class RuledOut:
    """The classes of problem that a kernel does not have, each with its figures. `kernel`: its name with a colon."""

    kernel: str
    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Sorted:
    """`in_order`: rows that name no problem."""

    found: Sequence[Mapping[str, Any]]
    in_order: Sequence[Mapping[str, Any]]
    ruled_out: Sequence[RuledOut]


def sort(diagnosis: Sequence[Mapping[str, Any]]) -> Sorted:
    """The rows of a recorded diagnosis, in their order."""
    says = [(str(row.get("finding", "")), row) for row in diagnosis]
    calm = [row for what, row in says if AT_THE_ROOF in what or REMAINS in what]
    out = [row for what, row in says if RULED_OUT in what]
    return Sorted(
        [row for _, row in says if row not in calm and row not in out],
        calm,
        [ruled_out(str(row["finding"]), str(row.get("because", ""))) for row in out],
    )


def ruled_out(finding: str, because: str) -> RuledOut:
    """A row that begins with RULED_OUT, in its parts: a line for each class."""
    pairs = [line.partition(": ") for line in because.splitlines()]
    return RuledOut(finding.partition(RULED_OUT)[0], [(what, why) for what, _, why in pairs])
