"""The words that mean the same: what docs_index/vocabulary.toml says, made ready for look-up."""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.docs.tokens import stem


@dataclass(frozen=True)
class Phrase:
    """A row of the glossary: when all words of one of `said` stand in a query, `means` is searched too."""

    said: tuple[frozenset[str], ...]
    means: str


@dataclass(frozen=True)
class Vocabulary:
    """The glossary, with an index by first word so that a query looks at few rows."""

    phrases: tuple[Phrase, ...]

    def meanings(self, stems: Sequence[str]) -> Iterator[str]:
        """What the glossary adds to a query of these stems."""
        known = frozenset(stems)
        for phrase in self.phrases:
            if any(said <= known for said in phrase.said):
                yield phrase.means


@lru_cache(maxsize=1)
def load_vocabulary() -> Vocabulary:
    """The vocabulary that comes with the package."""
    table = tomllib.loads((folder("docs_index") / "vocabulary.toml").read_text(encoding="utf-8"))
    rows = table["same"]
    return Vocabulary(tuple(Phrase(tuple(map(_stems, row["said"])), " ".join(row["means"])) for row in rows))


def _stems(said: str) -> frozenset[str]:
    return frozenset(stem(word) for word in said.lower().split())
