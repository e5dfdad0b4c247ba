"""Which guide of the cookbook a question asks for, by the askings that each guide lists and by its own words.

A guide is short and its askings are many, so this needs no index: it works before any documentation is built.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from amdkernel_mcp.reading.cookbook import recipes
from amdkernel_mcp.search.index.families import families_in
from amdkernel_mcp.search.index.tokens import STOP_WORDS, stem, tokens, words
from amdkernel_mcp.search.query.vocabulary import load_vocabulary

LEAST = 0.5
"""The score from which a guide is an answer: below it a question shares only common words with the guide."""
CLEAR, CLEARLY = 0.4, 1.3
"""A lower score is enough where it is so many times that of the second guide."""
POSSIBLE = 0.33
"""The score from which a guide is worth naming where nothing answers for sure."""
_ASKING, _ASKED, _SAID = 0.4, 0.3, 0.3
"""How much counts: the likest asking; the share of the question that the askings have; the share that the text has."""
_SHORTEST = 3  # letters of a word alone
_SENTENCE = 5  # words; a lower score of fewer words is chance
_OTHER_GPU = 0.6
_RELATED = 0.5  # of a word that the glossary adds
_UNKNOWN = 0.5  # of a plain word that no guide has, against the rarest of the guides
_COVERED, _SHARED = 0.5, 3
"""A guide answers only where a question has this much of one of its askings, or so many of its words."""


@dataclass(frozen=True)
class _Asked:
    """A guide's askings, and all words of its page."""

    name: str
    askings: tuple[frozenset[str], ...]
    said: frozenset[str]
    gpus: frozenset[str]


def guides_for(query: str, *, least: float = LEAST, most: int = 1) -> list[str]:
    """The names of the guides that answer a question, the best first; none where no guide does.

    least: the score of a guide that answers; POSSIBLE for those that may.
    """
    asked, related = _meant(query)
    if not asked:
        return []
    alone = tokens(query)[0] if len(query.split()) == 1 else None
    if alone and (len(alone) < _SHORTEST or alone not in _weights()):
        return []  # of a name that no guide has, the parts say nothing
    if alone and len(named := [one.name for one in _guides() if alone in tokens(one.name)]) == 1:
        return named
    if listed := [one.name for one in _guides() if asked in one.askings]:
        return listed[:most]
    gpus = families_in(query)
    scored = sorted(((_score(one, asked, related) * _fits(one, gpus), one.name) for one in _guides()), reverse=True)
    (best, first), (second, _) = scored[:2]
    if alone and best < CLEARLY * second:
        return []
    if best < least and best >= max(CLEAR, CLEARLY * second) and len(query.split()) >= _SENTENCE:
        likely = [first]
    else:
        likely = [name for score, name in scored[:most] if score >= least]
    if least < LEAST:
        return likely
    return [one.name for name in likely for one in _guides() if one.name == name and _is_asked(one, asked, related)]


def _fits(guide: _Asked, gpus: frozenset[str]) -> float:
    """A guide counts less for a GPU that none of its kernels is for."""
    return 1.0 if not gpus or gpus & guide.gpus else _OTHER_GPU


def _score(guide: _Asked, asked: frozenset[str], related: frozenset[str]) -> float:
    weights = _weights()
    rarest = max(weights.values())

    def weight(some: frozenset[str]) -> float:
        return sum(weights.get(word, rarest * (_UNKNOWN if word.isalpha() else 1)) for word in some)

    def share(of: frozenset[str]) -> float:
        """Of the question's weight; its related words make up for what it lacks."""
        return min((weight(asked & of) + _RELATED * weight(related & of)) / whole, 1.0)

    whole = weight(asked)
    best = max(share(asking) * math.sqrt(whole / weight(asking)) for asking in guide.askings)
    return _ASKING * min(best, 1.0) + _ASKED * share(frozenset().union(*guide.askings)) + _SAID * share(guide.said)


def _is_asked(guide: _Asked, asked: frozenset[str], related: frozenset[str]) -> bool:
    """Whether a question shares one asking with the guide, not a word with each of many: "a page of the documentation
    of attention" has words of several askings and asks none of them."""
    weights = _weights()

    def weight(some: frozenset[str]) -> float:
        return sum(weights[word] for word in some)

    return any(
        len(asked & asking) >= _SHARED
        or weight(asked & asking) + _RELATED * weight(asking & related) >= _COVERED * weight(asking)
        for asking in guide.askings
    )


def _meant(query: str) -> tuple[frozenset[str], frozenset[str]]:
    """The stems of a question, and those of the glossary's words for them."""
    stems: Sequence[str] = [stem(word.lower()) for word in words(query)]
    asked = _without_gpus(query)
    related = {token for meaning in load_vocabulary().meanings(stems) for token in tokens(meaning)}
    return asked, frozenset(related - asked - STOP_WORDS)


def _without_gpus(text: str) -> frozenset[str]:
    """Its tokens; a GPU says for what a kernel is, not what it does."""
    if not families_in(text):
        return frozenset(tokens(text))
    return frozenset(token for word in words(text) if not families_in(word) for token in tokens(word))


@cache
def _guides() -> tuple[_Asked, ...]:
    return tuple(
        _Asked(
            one.name,
            tuple(_without_gpus(asking) for asking in (one.title, *one.asked)),
            frozenset(tokens(f"{one.title} {one.when} {one.prose}")),
            families_in(" ".join(one.archs)),
        )
        for one in recipes().values()
    )


@cache
def _weights() -> dict[str, float]:
    """How rare a word is among the guides, from their askings and pages."""
    guides = _guides()
    held = Counter(word for guide in guides for word in guide.said.union(*guide.askings))
    return {word: math.log(1 + len(guides) / count) for word, count in held.items()}
