"""A table of the shapes that a kernel serves, as CSV.

The columns are sizes of the problem, in any case of letters, as in the tables of AITER (`M,N,K,dtype`); `dtype` chooses
the rows that are about the problem's inputs.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from amdkernel_mcp.counted import counted
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.problems.problem import Case, Number, Problem
from amdkernel_mcp.problems.size_limits import SizeLimits, why_case_refused

MOST_SHAPES = 64
MAX_BYTES = 64 << 10
TOO_LONG = f"a table of shapes may have {MAX_BYTES >> 10} KiB at most"
_DTYPES = {"bfloat16": "bf16", "float16": "f16", "fp16": "f16", "half": "f16", "float32": "f32", "fp32": "f32"}
_DTYPES |= {"float": "f32", "float64": "f64", "fp64": "f64", "double": "f64", "int8": "i8", "int32": "i32"}
_TYPE = "dtype"


@dataclass(frozen=True)
class ShapeTable:
    """The shapes in the order of the table, each once. `columns`: the sizes that it says, by the problem's names."""

    cases: tuple[Case, ...]
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()


def read_table(path: Path) -> str:
    """The text of the file. Raises InputError where it cannot be read or is too long."""
    try:
        if not path.is_file():
            raise InputError("there is no such file", file=str(path))
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror}", file=str(path)) from None
    if len(data) > MAX_BYTES:
        raise InputError(TOO_LONG, file=str(path))
    return data.decode(errors="replace")


def read_shapes(text: str, problem: Problem, limits: SizeLimits, *, file: str = "shapes") -> ShapeTable:
    """The table as cases of `problem`. Raises InputError, with the line, for what cannot be used."""
    if len(text.encode(errors="replace")) > MAX_BYTES:
        raise InputError(TOO_LONG, file=file)
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
    try:
        lines = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(map(str.strip, row))]
    except csv.Error as error:
        raise InputError(f"this is not CSV: {error}", file=file, line=reader.line_num) from None
    heading = [name.casefold() for name in lines[0][1]] if lines else []
    places = _columns(heading, problem, file)
    constant = _constant_sizes(problem, places, file)
    kept: dict[str, Case] = {}
    other_types: dict[str, int] = {}
    types = {argument.dtype.name for argument in problem.inputs}
    for number, cells in lines[1:]:
        if len(cells) != len(heading):
            raise InputError(f"the row has {len(cells)} cells, the heading {len(heading)}", file=file, line=number)
        if _TYPE in heading and (dtype := _dtype(cells[heading.index(_TYPE)])) not in types:
            other_types[dtype] = other_types.get(dtype, 0) + 1
            continue
        sizes = {name: _size(cells[at], name, file, number) for name, at in places.items()}
        case = _case(problem, {**constant, **sizes}, number)
        if reason := _why_refused(case, problem, limits):
            raise InputError(f"{case.name}: {reason}", file=file, line=number)
        kept.setdefault(case.name, case)
    notes = [
        f"{counted(count, 'row')} of dtype {dtype[:20]} left out: the inputs of {problem.name} are {', '.join(types)}"
        for dtype, count in list(other_types.items())[:8]
    ]
    if not kept:
        raise InputError("the table has no shape for this problem", file=file, hint="; ".join(notes) or None)
    if len(kept) > MOST_SHAPES:
        raise InputError(f"the table has {len(kept)} shapes; {MOST_SHAPES} are allowed", file=file)
    beyond = [case.name for case in kept.values() if _is_beyond(case, problem)]
    if beyond:
        notes.append(
            f"{counted(len(beyond), 'shape')} outside the [ranges] of {problem.name}, where a check tries nothing: "
            f"{'; '.join(beyond)[:200]}"
        )
    ignored = [name for name in heading if name not in {*map(str.casefold, places), _TYPE}]
    if ignored:
        notes.append(f"columns without a size of {problem.name}: {', '.join(ignored)[:200]}")
    return ShapeTable(tuple(kept.values()), tuple(places), tuple(notes))


def _columns(heading: Sequence[str], problem: Problem, file: str) -> dict[str, int]:
    names = list(problem.cases[0].values)
    places = {name: heading.index(name.casefold()) for name in names if name.casefold() in heading}
    twice = [name for name in {*heading} if name and heading.count(name) > 1]
    if not places or twice:
        why = f"has the column {twice[0][:40]!r} twice" if twice else "has no column of a size"
        raise InputError(f"the table {why}", file=file, line=1, hint=f"a heading such as {','.join(names)},{_TYPE}")
    return places


def _constant_sizes(problem: Problem, places: Mapping[str, int], file: str) -> dict[str, Number]:
    """Scalars without a column, which must be the same in all cases."""
    first = problem.cases[0].values
    for name, value in first.items():
        if name not in places and any(case.values.get(name) != value for case in problem.cases):
            raise InputError(f"the table has no column {name}, and the cases of {problem.name} differ in it", file=file)
    return {name: value for name, value in first.items() if name not in places}


def _size(text: str, name: str, file: str, line: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise InputError(f"{name} is {text[:40]!r}, not a whole number", file=file, line=line)
    return int(text)


def _dtype(text: str) -> str:
    name = text.casefold().removeprefix("torch.")
    return _DTYPES.get(name, name)


def _case(problem: Problem, values: Mapping[str, Number], line: int) -> Case:
    ordered = {name: values[name] for name in problem.cases[0].values}
    name = ", ".join(f"{each}={value}" for each, value in ordered.items())
    return Case(name=name, values=ordered, held_out=False, line=line)


def _is_beyond(case: Case, problem: Problem) -> bool:
    ranges = problem.ranges.items()
    return any(
        not each.low <= case.values[name] <= each.high or case.values[name] % each.multiple for name, each in ranges
    )


def _why_refused(case: Case, problem: Problem, limits: SizeLimits) -> str | None:
    """A shape whose arrays cannot be made, or whose sizes the kernel cannot be given."""
    for scalar in problem.scalars:
        value = case.values.get(scalar.name, 0)
        if not scalar.dtype.smallest <= value <= scalar.dtype.largest:
            return f"{scalar.name} does not fit into {scalar.dtype.name}"
    return why_case_refused(case, problem.arguments, limits)
