"""What the answers to a query are limited to, or should be about."""

import re
from dataclasses import dataclass
from typing import Self

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.search.index.families import families_in
from amdkernel_mcp.search.index.index import Index

_SHOWN_CHARS = 100


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

    def check(self, index: Index) -> None:
        """Raises DocumentationError for a source that the index does not have, an unknown GPU and an odd version."""
        for name in self.sources:
            if name not in index.versions:
                known = ", ".join(index.versions)
                raise DocumentationError(f"no source is called {name[:_SHOWN_CHARS]!r}", hint=f"there are: {known}")
        if self.arch and not families_in(self.arch):
            known = "gfx90a, gfx942, gfx950, gfx1100, gfx1201, or a product such as MI300X"
            raise DocumentationError(
                f"no architecture is called {self.arch[:_SHOWN_CHARS]!r}", hint=f"there are: {known}"
            )
        if self.rocm_version and not re.fullmatch(r"\d{1,2}\.\d{1,2}(\.\d{1,5})?", self.rocm_version):
            shown = self.rocm_version[:_SHOWN_CHARS]
            raise DocumentationError(f"{shown!r} is not a version of ROCm", hint="write it as `7.0` or `7.0.2`")


ANYTHING = SearchFilters()
