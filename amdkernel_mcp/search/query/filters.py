"""What the answers to a query are limited to, or should be about."""

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class SearchFilters:
    """Empty is anything.

    sources: only these. arch: a target or product (`gfx942`, `MI300X`), rocm_version: as in `6.4` or `7.0.2`; pages of
    another one are ranked lower, but not left out.
    """

    sources: tuple[str, ...] = ()
    arch: str = ""
    rocm_version: str = ""

    @classmethod
    def of(cls, source: str | None = None, arch: str | None = None, rocm_version: str | None = None) -> Self:
        """The filters of a request; `source` may name several, with commas."""
        named = (name.strip() for name in (source or "").split(","))
        return cls(tuple(name for name in named if name), arch or "", rocm_version or "")


ANYTHING = SearchFilters()
