"""The words that mean the same: what docs_index/vocabulary.toml says, made ready for look-up."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from amdkernel_mcp.search.index.families import vocabulary_table
from amdkernel_mcp.search.index.tokens import stem


@dataclass(frozen=True)
class Phrase:
    """A row of the glossary: when a query has all words of one of `said`, in order, `means` is searched too."""

    said: tuple[tuple[str, ...], ...]
    means: str


@dataclass(frozen=True)
class Vocabulary:
    """The glossary."""

    phrases: tuple[Phrase, ...]

    @cached_property
    def _by_first_word(self) -> dict[str, list[tuple[int, tuple[str, ...]]]]:
        """(number of the phrase, words) of everything that is said, by its first word."""
        made: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
        for number, phrase in enumerate(self.phrases):
            for said in phrase.said:
                made.setdefault(said[0], []).append((number, said))
        return made

    def meanings(self, stems: Sequence[str]) -> Iterator[str]:
        """What the glossary adds to a query of these stems, stop words among them: `out of memory` is not `memory`."""
        place = {word: at for at, word in reversed(list(enumerate(stems)))}
        begun = (one for word in place for one in self._by_first_word.get(word, ()))
        for number in sorted({number for number, said in begun if _in_order(said, place)}):
            yield self.phrases[number].means


@lru_cache(maxsize=1)
def load_vocabulary() -> Vocabulary:
    """The vocabulary that comes with the package."""
    rows = vocabulary_table()["same"]
    return Vocabulary(tuple(Phrase(tuple(map(_stems, row["said"])), " ".join(row["means"])) for row in rows))


def _stems(said: str) -> tuple[str, ...]:
    return tuple(stem(word) for word in said.lower().split())


def _in_order(said: Sequence[str], place: Mapping[str, int]) -> bool:
    places = [place.get(word, -1) for word in said]
    return places[0] >= 0 and all(before < after for before, after in pairwise(places))
