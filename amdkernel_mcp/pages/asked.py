"""Which attempts a page was asked for, from its address: a link shows another user the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

_NAMES = ("problem", "target", "verdict", "user", "before")
_LONGEST = 200


@dataclass(frozen=True)
class Asked:
    """Filters; None: all. `user`: as people write it. `before`: older than this attempt."""

    problem: str | None = None
    target: str | None = None
    verdict: str | None = None
    user: str | None = None
    before: str | None = None

    @staticmethod
    def of(query: Mapping[str, str]) -> Asked:
        """What the address says; empty fields of a form filter nothing."""
        return Asked(**{name: query[name][:_LONGEST] for name in _NAMES if query.get(name)})

    @property
    def owner(self) -> str | None:
        """The user as records name them."""
        return None if self.user is None else self.user if self.user == "local" else f"user:{self.user}"

    @property
    def is_any(self) -> bool:
        """Whether something is left out."""
        return any((self.problem, self.target, self.verdict, self.user))

    def link(self, before: str) -> str:
        """The same, older."""
        given = {name: getattr(self, name) for name in _NAMES if getattr(self, name)}
        return f"/?{urlencode(given | {'before': before})}#h-attempts"
