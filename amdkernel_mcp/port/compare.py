"""Whether two runs of a program say the same: exit codes, text and files; times left out, floats within a tolerance."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest

TOLERANCE = 1e-3
"""Of printed floats, relative; sums of floats in another order differ by less."""
_SMALL = 1e-6
_TIME = re.compile(
    r"(?i)\btimes?\b|elapsed|\bsec(?:ond)?s?\b|\b[mun]?s(?:ec)?\b|[0-9][mun]s\b|\bFLOP|FLOPS?\b|\b[KMGT]i?B/s|bandwidth"
    r"|throughput|speed-?up|latency|perf(?:ormance)?\b|\bclock|duration|took|\bfps\b|cycles|occupancy|takes"
)
_DEVICE = re.compile(
    r"(?i)\bgfx\w+|radeon|instinct|\bdevice\b.*:|compute cap|warp ?size|multiprocessor|\bSMs?\b|0x[0-9a-f]{8,}"
    r"|\blaunch\w*\b.*\b(?:num_?blocks|blocks?|grid|threads)\b|\bgrid ?(?:dim|size)\b"  # sized by it
    r"|\bnum(?:ber of)?[ _]?blocks\b"
)
_RESULT = re.compile(r"(?i)\d|\bpass|\berrors?\b|\bok\b|success|correct|match|verified|valid")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_BAD = re.compile(
    r"(?i)\bfail(?:ed|ure|s)?\b|\bwrong\b|mismatch|incorrect|\berrors?\b|not (?:match|equal|correct)|does not match"
)
_NO_ERROR = re.compile(
    r"(?i)\bno (?:errors?|mismatch|failures?)|\b0 (?:errors?|mismatch\w*|wrong|failed|failures?)"
    r"|(?:errors?|mismatch\w*|wrong|failed|failures?)\s*[:=]\s*[-+]?0*\.?0*(?:e[-+]?\d+)?\s*%?(?:$|[^\d.])"
    r"|error[^\n]*?\d\.?\d*e-"
)
_SHOWN = 100


@dataclass(frozen=True)
class Said:
    """What one run left: its exit code, stdout and files. cut: it said more than is kept."""

    code: int
    text: str
    files: Mapping[str, bytes]
    cut: bool = False

    @property
    def looks_wrong(self) -> bool:
        """Whether the program's own check failed."""
        lines = [line for line in self.text.splitlines() if _BAD.search(line) and not _NO_ERROR.search(line)]
        return self.code != 0 or bool(lines)

    @property
    def results(self) -> int:
        """How many lines and files say something of a result: no time, no name of a device."""
        lines = [line for _, line in _lines(self.text) if _RESULT.search(line) and not _TIME.search(line)]
        return len(lines) + len(self.files)


def difference(narrow: Said, wide: Said, *, any_order: bool = False) -> str | None:
    """The first thing that is not the same, as a sentence; None where all is.

    any_order: kernels print, and their lines come in the order of their workgroups, which is none.
    """
    if narrow.code != wide.code:
        return f"the exit code is {wide.code} on waves of 64 and {narrow.code} on waves of 32"
    ours_all, theirs_all = _lines(narrow.text), _lines(wide.text)
    if narrow.cut or wide.cut:  # not at the same line, and perhaps within one
        kept = max(0, min(len(ours_all), len(theirs_all)) - 1)
        ours_all, theirs_all = ours_all[:kept], theirs_all[:kept]
    if any_order and Counter(line for _, line in ours_all) == Counter(line for _, line in theirs_all):
        ours_all = theirs_all = []
    for (number, ours), (other, theirs) in zip_longest(ours_all, theirs_all, fillvalue=(0, "")):
        if not same_line(ours, theirs):
            shown = [text.strip()[:_SHOWN] for text in (theirs, ours)]
            return f"line {other or number} of its output: {shown[0]!r} on waves of 64, {shown[1]!r} on waves of 32"
    for name in sorted(narrow.files.keys() | wide.files.keys()):
        one, two = narrow.files.get(name), wide.files.get(name)
        if one is None or two is None:
            return f"the file {name} is written on waves of {64 if one is None else 32} alone"
        if one != two and (place := _first_difference(one, two)) is not None:
            return f"the file {name} differs, first at byte {place}"
    return None


def _lines(text: str) -> list[tuple[int, str]]:
    """Lines about results, with their numbers."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not _DEVICE.search(line):
            found.append((number, line))
    return found


def same_line(one: str, two: str) -> bool:
    """Whether two lines say the same: words alike, integers equal, floats close; the numbers of a time do not count."""
    if one == two:
        return True
    if _NUMBER.sub("#", one).split() != _NUMBER.sub("#", two).split():
        return False
    if _TIME.search(one):
        return True
    return all(map(_close, _NUMBER.findall(one), _NUMBER.findall(two)))


def _close(one: str, two: str) -> bool:
    if one == two:
        return True
    if not ("." in one + two or "e" in (one + two).lower()):
        return False
    return math.isclose(float(one), float(two), rel_tol=TOLERANCE, abs_tol=_SMALL)


def _first_difference(one: bytes, two: bytes) -> int | None:
    """Where two files differ by more than floats in another order, if they do. Text is compared by lines."""
    try:
        texts = one.decode(), two.decode()
    except UnicodeDecodeError:
        return next((n for n, pair in enumerate(zip_longest(one, two)) if pair[0] != pair[1]), None)
    at = 0
    for ours, theirs in zip_longest(*(text.splitlines(keepends=True) for text in texts), fillvalue=""):
        if not same_line(ours, theirs):
            return at
        at += len(ours)
    return None
