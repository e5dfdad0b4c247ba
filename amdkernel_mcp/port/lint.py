"""The lint of a CUDA or HIP source: what a translator of names cannot see. Pure: it reads tokens and runs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from amdkernel_mcp.port.functions import Source
from amdkernel_mcp.port.lint_classes import CLASSES, Level
from amdkernel_mcp.port.rules_of_names import name_hits
from amdkernel_mcp.port.rules_of_waves import wave_hits

GUIDE = "guide:from_cuda"


@dataclass(frozen=True)
class Hit:
    """One place. `function`: the function around it, or empty. `instead`: the way on AMD GPUs."""

    line: int
    kind: str
    level: Level
    sentence: str
    instead: str
    docs: str
    function: str = ""

    @property
    def wave(self) -> bool:
        """Whether it depends on how many lanes a wave has."""
        return CLASSES[self.kind].wave


def lint(text: str) -> list[Hit]:
    """All hits in the order of their lines; of one class on one line one, `sure` before `look`."""
    source = Source.of(text)
    found: dict[tuple[int, str], Hit] = {}
    for kind, place, level, instead in _raw(source):
        token = source.tokens[place]
        function = source.enclosing(place)
        known = found.get((token.line, kind))
        if known is None or (known.level == "look" and level == "sure"):
            of = CLASSES[kind]
            found[token.line, kind] = Hit(
                *(token.line, kind, level, of.sentence, instead or of.instead, f"{GUIDE}#{of.section}"),
                function=function.name if function else "",
            )
    return sorted(found.values(), key=lambda hit: (hit.line, hit.level != "sure", hit.kind))


def _raw(source: Source) -> Iterator[tuple[str, int, Level, str]]:
    yield from wave_hits(source)
    yield from name_hits(source)
