"""The lint of a CUDA or HIP source: what a translator of names cannot see. Pure: it reads tokens and runs nothing.

Of functions that clang read, its syntax tree decides the classes of types and values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from amdkernel_mcp.port.functions import Source
from amdkernel_mcp.port.lint_classes import CLASSES, Level
from amdkernel_mcp.port.rules_of_names import name_hits
from amdkernel_mcp.port.rules_of_types import KINDS, SeenFunction
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


def lint(text: str, seen: Sequence[SeenFunction] = ()) -> list[Hit]:
    """All hits in the order of their lines; of one class on one line one, `sure` before `look`.

    seen: functions that clang read. Its syntax tree decides the classes of types and values in them.
    """
    source = Source.of(text)
    found: dict[tuple[int, str], Hit] = {}
    lines = {each.line for each in seen}
    for kind, place, level, instead in (*wave_hits(source), *name_hits(source)):
        token = source.tokens[place]
        function = source.enclosing(place)
        if kind in KINDS and function and source.tokens[function.head].line in lines:
            continue
        _keep(found, kind, token.line, level, instead, function.name if function else "")
    for each in seen:
        for kind, line, level, instead in each.hits:
            _keep(found, kind, line, level, instead, each.name)
    return sorted(found.values(), key=lambda hit: (hit.line, hit.level != "sure", hit.kind))


def _keep(found: dict[tuple[int, str], Hit], kind: str, line: int, level: Level, instead: str, function: str) -> None:
    known = found.get((line, kind))
    if known is None or (known.level == "look" and level == "sure"):
        of = CLASSES[kind]
        docs = f"{GUIDE}#{of.section}"
        found[line, kind] = Hit(line, kind, level, of.sentence, instead or of.instead, docs, function=function)
