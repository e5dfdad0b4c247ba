"""The `// amdkernel:` lines of a candidate: what is launched, on which grid, with which flags.

Described in docs/kernels.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from amdkernel_mcp.expressions import Expression
from amdkernel_mcp.problems.dtypes import DType
from amdkernel_mcp.problems.problem import Number
from amdkernel_mcp.results.kernels import Finding

_INTEGER = re.compile(r"-?[0-9]{1,18}")  # within 64 bits


@dataclass(frozen=True)
class Launch:
    """One kernel launch: sizes are expressions over the scalars, `grid` counts blocks."""

    kernel: str
    grid: tuple[Expression, ...]  # empty where the source has it
    block: tuple[Expression, ...]  # empty where the compiler decides
    lds: Expression  # dynamic, bytes
    args: tuple[str | Expression, ...] | None  # names, or integer expressions; None: the problem's arguments
    line: int
    types: tuple[str, ...] | None = None  # of the arguments, in a language whose source has none


@dataclass(frozen=True)
class Workspace:
    """A scratch array for one run of all launches, filled with a pattern before."""

    name: str
    dtype: DType
    shape: tuple[Expression, ...]
    line: int


@dataclass(frozen=True)
class LaunchPlan:
    """The content of the `// amdkernel:` lines. `mistakes` is empty when the candidate can be launched."""

    launches: tuple[Launch, ...] = ()
    workspaces: tuple[Workspace, ...] = ()
    build: tuple[str, ...] = ()
    build_line: int | None = None
    tune: Mapping[str, tuple[str, ...]] | None = None  # name to the values that a sweep may try
    computed: tuple[tuple[str, Expression], ...] = ()  # constants with a value of their own in each case
    mistakes: tuple[Finding, ...] = ()

    def flags(self, tuning: Mapping[str, str] | None = None) -> tuple[str, ...]:
        """The compiler flags: those of `build`, and for each tunable name `tuning`'s value, else what `build` defines,
        else the first value to try."""
        chosen = (
            {name: values[0] for name, values in (self.tune or {}).items()} | _defines(self.build) | dict(tuning or {})
        )
        kept = tuple(flag for flag in self.build if _name_defined(flag) not in (self.tune or {}))
        return kept + tuple(f"-D{name}={chosen[name]}" for name in self.tune or {})

    def constants(self, tuning: Mapping[str, str] | None = None) -> dict[str, int]:
        """The integers that `-D` flags define; launch expressions may use them."""
        defined = _defines(self.flags(tuning))
        return {name: int(value) for name, value in defined.items() if _INTEGER.fullmatch(value)}

    def values(self, scalars: Mapping[str, Number]) -> dict[str, Number]:
        """What launch expressions may use in a case with these scalars. Raises ExpressionError."""
        known: dict[str, Number] = {**self.constants(), **scalars}
        return known | {name: each.value(known) for name, each in self.computed}


def _name_defined(flag: str) -> str:
    return flag[2:].split("=")[0] if flag.startswith("-D") else ""


def _defines(flags: tuple[str, ...]) -> dict[str, str]:
    pairs = (flag[2:].partition("=") for flag in flags if flag.startswith("-D"))
    return {name: value if equals else "1" for name, equals, value in pairs}
