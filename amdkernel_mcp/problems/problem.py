"""A problem: what a kernel must compute."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Literal

from amdkernel_mcp.expressions import Expression
from amdkernel_mcp.problems.dtypes import DType

Role = Literal["in", "out", "inout", "scalar"]
Number = int | float


InitKind = Literal[
    "normal", "uniform", "zeros", "ones", "arange", "integers", "large", "denormal", "spikes", "nans", "infs",
    "sorted", "permutation", "offsets",
]  # fmt: skip


@dataclass(frozen=True)
class Init:
    """How an input array is filled; the parameters are expressions (whole numbers) or numbers.

    They mean: of `normal` mean and deviation; of `spikes` their share and size; of `nans` and `infs` their share; of
    `large` the largest magnitude; of `offsets` the last value; else the lowest value and the exclusive upper bound.
    """

    kind: InitKind
    text: str
    low: Expression | float | None = None
    high: Expression | float | None = None


ALIGNMENT = 256
"""Bytes: of what hipMalloc returns, so of every array of which the problem says nothing else."""


@dataclass(frozen=True)
class Argument:
    """One parameter of the kernel: an array, or a scalar where `shape` is None."""

    name: str
    dtype: DType
    shape: tuple[Expression, ...] | None
    role: Role
    init: Init | None  # of in and inout arrays
    line: int | None
    non_finite: bool = False  # may hold NaN and infinity: generated inputs, and the NaN of outputs
    align: int = ALIGNMENT  # bytes; the array may begin at any multiple


@dataclass(frozen=True)
class Case:
    """One set of sizes and scalars."""

    name: str
    values: Mapping[str, Number]
    held_out: bool
    line: int | None
    drawn: bool = False

    def shape_of(self, argument: Argument) -> tuple[int, ...]:
        """The shape of an array argument in this case. Raises ExpressionError."""
        return tuple(dimension.value(self.values) for dimension in argument.shape or ())


@dataclass(frozen=True)
class Range:
    """What `[ranges]` says about one scalar: the values with which a kernel must work. Both ends are multiples."""

    low: int
    high: int
    multiple: int = 1


@dataclass(frozen=True)
class OutputTolerance:
    """What `[tolerance.NAME]` says about one output. None: not given."""

    rtol: float | None = None
    atol: float | None = None  # replaces the term that follows the output's magnitude
    steps: int | None = None  # representable values of the dtype
    matched_ratio: float | None = None
    max_error: float | None = None  # of elements that `matched_ratio` forgives: times (|ref| + scale)
    max_bias: float | None = None  # mean error, in steps of the dtype (f32 and f64: in tolerances)


@dataclass(frozen=True)
class Problem:
    """A problem folder that was read and found complete."""

    name: str
    title: str
    description: str
    folder: str
    arguments: tuple[Argument, ...]  # in the order of the kernel's parameters
    cases: tuple[Case, ...]
    rtol: float | None  # None: the default of each output's dtype
    declaration: str  # the text of problem.toml
    reference: str  # the text of reference.py
    reference_file: str
    reference_line: int  # of `def reference`
    tolerances: Mapping[str, OutputTolerance] = field(default_factory=dict)  # by the name of an output
    ranges: Mapping[str, Range] = field(default_factory=dict)  # by the name of a scalar; empty: no case is drawn
    generates: bool = False  # reference.py defines `generate`
    needs_torch: bool = False  # reference.py imports torch
    profile_cases: tuple[Case, ...] = ()  # as large as a GPU needs them: timed and profiled, not checked
    author: str | None = None  # the other user who shares it; None: the caller's own, or bundled

    @property
    def arrays(self) -> tuple[Argument, ...]:
        """All arguments that are arrays."""
        return tuple(argument for argument in self.arguments if argument.role != "scalar")

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """The arrays that hold data before the kernel runs."""
        return tuple(argument for argument in self.arguments if argument.role in ("in", "inout"))

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """The arrays that are compared afterwards."""
        return tuple(argument for argument in self.arguments if argument.role in ("out", "inout"))

    @property
    def scalars(self) -> tuple[Argument, ...]:
        """The arguments that are passed by value."""
        return tuple(argument for argument in self.arguments if argument.role == "scalar")

    def argument(self, name: str) -> Argument | None:
        """The argument called `name`."""
        return next((argument for argument in self.arguments if argument.name == name), None)

    @cached_property
    def digest(self) -> str:
        """A hash of all that the expected data depend on, seeds and case values apart."""
        parts = [
            [argument.name, argument.dtype.name, argument.role, argument.init.text if argument.init else ""]
            + [dimension.text for dimension in argument.shape or ()]
            + ["non_finite"] * argument.non_finite
            + [f"align {argument.align}"] * (argument.align != ALIGNMENT)
            for argument in self.arguments
        ]
        return hashlib.sha256(json.dumps([parts, self.reference]).encode()).hexdigest()

    @cached_property
    def parts(self) -> Mapping[str, str]:
        """A hash of each part of the problem that a verdict depends on, by the word for it."""
        arguments = [
            [a.name, a.dtype.name, a.role, a.init.text if a.init else "", [d.text for d in a.shape or ()], a.non_finite]
            + [a.align] * (a.align != ALIGNMENT)
            for a in self.arguments
        ]
        cases = [[list(case.values.items()), case.held_out] for case in self.cases]
        tolerances = {name: asdict(each) for name, each in sorted(self.tolerances.items())}
        content = {
            "arguments": arguments,
            "cases": cases,
            "ranges": {name: asdict(each) for name, each in sorted(self.ranges.items())},
            "tolerance": [self.rtol, tolerances],
            "reference": self.reference,
        }
        return {name: hashlib.sha256(json.dumps(each).encode()).hexdigest() for name, each in content.items()}

    @cached_property
    def hash(self) -> str:
        """`sha256:…` of all that a verdict depends on; title, description and folder are left out."""
        return "sha256:" + hashlib.sha256(json.dumps(sorted(self.parts.items())).encode()).hexdigest()
