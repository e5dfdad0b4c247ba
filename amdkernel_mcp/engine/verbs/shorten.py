"""How the answer of a verb becomes shorter, in steps: the server takes as many as it needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Keep:
    """Keep the `most` most important items of the list `field`: failures before successes, else the first.

    `a.b`: of the list b of what the answer has as a, or of each item of the list a.
    """

    field: str
    most: int


@dataclass(frozen=True)
class KeepFirst(Keep):
    """Keep the first `most` items, in a list whose order is their importance."""


@dataclass(frozen=True)
class Cut:
    """Cut every string inside `field` (of the whole answer if it is empty) to `characters`."""

    field: str
    characters: int


Step = Keep | Cut

STRINGS = (Cut("", 400), Cut("", 160))
LAST = Cut("", 80)
OF_A_CHECK: tuple[Step, ...] = (
    Keep("cases", 16),
    Keep("findings", 12),
    Keep("diagnostics", 10),
    Keep("cases", 8),
    *STRINGS,
    Keep("cases", 4),
    Keep("findings", 6),
    Keep("diagnostics", 4),
    Keep("findings", 4),
    Keep("diagnostics", 2),
    LAST,
)
