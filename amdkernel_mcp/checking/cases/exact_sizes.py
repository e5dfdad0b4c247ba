"""Sizes for which alone a kernel does something else: `n == 5000`, `n >> 6 == 5`, `m == 2 * n`, `blockIdx.x == 1000`.

A choice without a branch always runs, so nothing shows that its other side was never chosen. Where the source compares
with such a number, a case has the size that the comparison asks for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

_LEAST, _LARGEST = 2, 1 << 28
_MOST = 64  # sizes that one source may ask for
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_EQUALS = re.compile(r"\b(\w+)\s*[!=]=\s*(\d{1,9})\b|\b(\d{1,9})\s*[!=]=\s*(\w+)\b")
_SHIFTED = re.compile(r"\b(\w+)\s*>>\s*(\d{1,2})\s*\)?\s*==\s*(\d{1,8})\b")
_DIVIDED = re.compile(r"\b(\w+)\s*/\s*(\d{1,8})\s*\)?\s*==\s*(\d{1,8})\b")
_TIMES = re.compile(
    r"\b(\w+)\s*==\s*(\d{1,4})\s*\*\s*(\w+)\b|\b(\w+)\s*==\s*(\w+)\s*\*\s*(\d{1,4})\b"
    r"|\b(\d{1,4})\s*\*\s*(\w+)\s*==\s*(\w+)\b|\b(\w+)\s*\*\s*(\d{1,4})\s*==\s*(\w+)\b"
)
_WORKGROUP = re.compile(r"blockIdx\s*\.\s*[xyz]\s*(?:==|>=?)\s*(\d{2,7})\b")
_BLOCKS = (64, 128, 256, 512, 1024)
_BASE = 48  # the smaller one of two sizes of a ratio


def exact_sizes(source: str, names: Collection[str], constants: Collection[int]) -> list[dict[str, int]]:
    """What sizes `names` of a case may have so that the source's comparisons hold, the largest first.

    `constants`: of the source; those that are usual sizes of workgroups say which size has a workgroup's number.
    """
    text = _COMMENT.sub(" ", source)
    found = {tuple(sorted(sizes.items())): sizes for sizes in _all(text, names, constants)}
    kept = [sizes for sizes in found.values() if all(_LEAST <= value <= _LARGEST for value in sizes.values())]
    return sorted(kept, key=lambda sizes: (-len(sizes), -max(sizes.values())))[:_MOST]


def _all(text: str, names: Collection[str], constants: Collection[int]) -> Iterator[dict[str, int]]:
    for match in _TIMES.finditer(text):
        words = [word for word in match.groups() if word]
        (factor,), (one, other) = ([w for w in words if w.isdecimal() == number] for number in (True, False))
        large, small = (other, one) if match[8] or match[12] else (one, other)
        if {large, small} <= {*names} and large != small:
            yield {large: int(factor) * _BASE, small: _BASE}
    for match in _EQUALS.finditer(text):
        if (name := match[1] or match[4]) in names:
            yield {name: int(match[2] or match[3])}
    for match in _SHIFTED.finditer(text):
        if match[1] in names:
            yield {match[1]: int(match[3]) << min(int(match[2]), 31)}
    for match in _DIVIDED.finditer(text):
        if match[1] in names:
            yield {match[1]: int(match[2]) * int(match[3])}
    for match in _WORKGROUP.finditer(text):
        for block in set(constants) & {*_BLOCKS}:
            for name in names:
                yield {name: (int(match[1]) + 1) * block}
