"""The difference of two kernel files as a unified diff, bounded in time and length."""

import difflib

MOST_LINES = 3000
"""Of a changed stretch. Comparing takes the square of it in the worst case."""
MOST_CHARS = 60_000
_CONTEXT = 3


def unified(before: str, after: str, names: tuple[str, str]) -> str:
    """A unified diff; where too much changed, a sentence instead."""
    old, new = before.splitlines(), after.splitlines()
    first = _shared(old, new)
    last = _shared(old[first:][::-1], new[first:][::-1])
    if max(len(old), len(new)) - first - last > MOST_LINES:
        return f"{names[0]} and {names[1]} differ in more than {MOST_LINES} lines from line {first + 1} on"
    start, ends = max(0, first - _CONTEXT), [len(each) - max(0, last - _CONTEXT) for each in (old, new)]
    lines = [*difflib.unified_diff(old[start : ends[0]], new[start : ends[1]], *names, lineterm="", n=_CONTEXT)]
    text = "\n".join(_moved(line, start) for line in lines)
    return text if len(text) <= MOST_CHARS else f"{text[:MOST_CHARS]}\n… {len(text) - MOST_CHARS} more characters"


def _shared(one: list[str], other: list[str]) -> int:
    """How many lines both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _moved(line: str, by: int) -> str:
    """A line of a diff whose first `by` lines were left out: the numbers of `@@ -1,2 +1,3 @@` move."""
    if not by or not line.startswith("@@ "):
        return line
    _, old, new, _ = line.split(" ")

    def add(span: str) -> str:
        number, comma, count = span[1:].partition(",")
        return f"{span[0]}{int(number) + by}{comma}{count}"

    return f"@@ {add(old)} {add(new)} @@"
