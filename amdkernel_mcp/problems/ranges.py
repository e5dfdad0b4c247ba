"""The `[ranges]` of a problem: the values that a check may draw for its scalars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amdkernel_mcp.problems.problem import Argument, Case, Range
from amdkernel_mcp.problems.size_limits import why_case_refused

_LARGEST = 2**62


class RangeError(Exception):
    """A range that cannot be used; the message is a sentence, `key` is the scalar."""

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


def parse_ranges(table: Mapping[str, Any], cases: Sequence[Case], arguments: Sequence[Argument]) -> dict[str, Range]:
    """The ranges in `table`. Raises RangeError."""
    ranges = {key: _range(key, value, cases, arguments) for key, value in table.items()}
    if ranges:
        smallest = {**cases[0].values, **{name: each.low for name, each in ranges.items()}}
        listed = ", ".join(f"{name}={each.low}" for name, each in ranges.items())
        if reason := why_case_refused(Case("", smallest, held_out=True, line=None), arguments):
            raise RangeError(f"with the smallest values of `ranges` ({listed}), {reason}", next(iter(ranges)))
    return ranges


def _range(key: str, value: Any, cases: Sequence[Case], arguments: Sequence[Argument]) -> Range:
    if not all(key in case.values for case in cases):
        raise RangeError(f"the cases have no value for `{key}`", key)
    given = {"min": value[0], "max": value[1]} if isinstance(value, list) and len(value) == 2 else value
    if not isinstance(given, dict) or not {"min", "max"} <= set(given) <= {"min", "max", "multiple"}:
        raise RangeError(f"`{key}` must be [min, max] or {{ min = …, max = …, multiple = … }}", key)
    for name, number in given.items():
        if not isinstance(number, int) or isinstance(number, bool) or abs(number) > _LARGEST:
            raise RangeError(f"`{name}` of `{key}` must be a whole number", key)
    argument = next((each for each in arguments if each.name == key), None)
    if argument and argument.dtype.kind != "int":
        raise RangeError(f"`{key}` is {argument.dtype.name}; only whole numbers have ranges", key)
    multiple = given.get("multiple", 1)
    if multiple < 1:
        raise RangeError(f"`multiple` of `{key}` must be at least 1", key)
    low, high = -(-given["min"] // multiple) * multiple, given["max"] // multiple * multiple
    if low > high:
        raise RangeError(f"the range of `{key}` is empty", key)
    if argument and not argument.dtype.smallest <= low <= high <= argument.dtype.largest:
        raise RangeError(f"the range of `{key}` does not fit into {argument.dtype.name}", key)
    for case in cases:
        if not low <= case.values[key] <= high or case.values[key] % multiple:
            raise RangeError(f"the case {case.name} is outside the range of `{key}`", key)
    return Range(low, high, multiple)
