"""What an index was made of: each source with its version and age, and what could not be reached when it was built."""

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.quoting import visible
from amdkernel_mcp.search.versions import MONTHS, readable

_DAY = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_MONTH = re.compile(rf"\b({'|'.join(MONTHS)}) (\d{{4}})\b")
_STAMP = re.compile(r"\+\+(\d{4})(\d{2})(\d{2})\d{6}")  # of a Debian snapshot, which is shown as its month
_DAYS_A_MONTH = 30.4
_MANY_DAYS = 60
_MOST_REASONS = 5
_EXTRA = "pip install 'amdkernel-mcp[embeddings]'"
_LEXICAL = f"; by words alone: {_EXTRA}, then amdkernel docs build, finds more in plain words"


@dataclass(frozen=True)
class Documented:
    """`sources`: name, version as one reads it, and age where the version has a date, in days.

    `embedded`: whether the index has vectors of its sections.
    """

    built: str
    sources: tuple[tuple[str, str, int | None], ...]
    not_reached: tuple[str, ...]
    embedded: bool = True

    @property
    def text(self) -> str:
        """All of it in one line."""
        listed = (f"{name} {version}{_aged(age)}".rstrip() for name, version, age in self.sources)
        shown = self.not_reached[:_MOST_REASONS]
        more = f"; and {len(self.not_reached) - len(shown)} more" if len(self.not_reached) > len(shown) else ""
        missing = f"; not reached: {'; '.join(shown)}{more}" if shown else ""
        built = f" (built {self.built})" if self.built else ""
        return f"{', '.join(listed)}{built}{missing}{'' if self.embedded else _LEXICAL}"


def documented(index: Path, today: date) -> Documented:
    """The sources of an index. Raises DocumentationError where it cannot be read."""
    try:
        with closing(sqlite3.connect(f"{index.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            rows = connection.execute("SELECT name, version FROM sources ORDER BY name").fetchall()
            embedded = connection.execute("SELECT 1 FROM section_vectors LIMIT 1").fetchone() is not None
            stored = connection.execute("SELECT value FROM meta WHERE key = 'recipe'").fetchone()
    except sqlite3.Error as error:
        raise DocumentationError(f"the index {index} cannot be read: {error}") from None
    try:
        recipe = json.loads(stored[0]) if stored else {}
    except ValueError:
        recipe = {}
    sources = tuple((name, visible(readable(version or "")), _age(version or "", today)) for name, version in rows)
    return Documented(recipe.get("built", ""), sources, tuple(map(visible, recipe.get("not_reached", ()))), embedded)


def _age(version: str, today: date) -> int | None:
    """Days since the date that a version has; a month without a day counts from its first."""
    day, month = _DAY.search(version) or _STAMP.search(version), _MONTH.search(readable(version))
    try:
        if day:
            return (today - date(*map(int, day.groups()))).days
        if month:
            return (today - date(int(month[2]), MONTHS.index(month[1]) + 1, 1)).days
    except ValueError:  # 2026-13-40
        pass
    return None


def _aged(days: int | None) -> str:
    if days is None:
        return ""
    return f", {days} days old" if days < _MANY_DAYS else f", {round(days / _DAYS_A_MONTH)} months old"
