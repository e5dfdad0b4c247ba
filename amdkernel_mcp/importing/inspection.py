"""What sandbox/modules/inspect_module.py found out about a PyTorch module. It is untrusted: the module's own code ran
in the same process, so names, numbers and texts are checked before anything is made of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_BYTES = 4 << 20

Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
Formula = Annotated[str, Field(pattern=r"^[A-Za-z0-9_ ()+*/%-]{1,400}$")]
Shape = Annotated[list[Formula], Field(max_length=8)]
Whole = Annotated[int, Field(ge=-(1 << 62), le=1 << 62)]
Position = tuple[Annotated[int, Field(ge=1, lt=1 << 20)], Annotated[int, Field(ge=0, lt=1 << 20)]]
DType = Literal["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"]
Init = Annotated[str, Field(pattern=r"^[a-z]+(\([A-Za-z0-9_ ()+*/%,.e-]{1,400}\))?$")]
Text = Annotated[str, Field(max_length=2000)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class FreeSize(_Part):
    """A whole number of the module that may be chosen; it becomes a scalar of the kernel."""

    name: Name
    value: Whole
    low: Whole
    high: Whole
    multiple: Whole
    positions: Annotated[list[Position], Field(max_length=100)]


class ChangedSize(_Part):
    """A number that was made smaller, so that the module can be emulated."""

    name: Name
    value: Whole
    original: Whole


class Array(_Part):
    """A tensor. `init` is None where only the module's own code can make it. `path`: of a weight, in the model."""

    name: Name
    dtype: DType
    shape: Shape
    init: Init | None = None
    path: Annotated[str, Field(pattern=r"^[\w.]{1,200}$")] | None = None


class Plain(_Part):
    """An argument of forward that is not a tensor."""

    name: Name
    value: bool | Whole | Annotated[float, Field(allow_inf_nan=False)] | None


class Step(_Part):
    """One operation of the traced module; naive_kernel.py knows what the names mean."""

    op: Annotated[str, Field(pattern=r"^[\w.]{1,80}$")]
    name: Name
    dtype: DType | Literal["none"]
    shape: Shape
    args: Annotated[list[Argument], Field(max_length=20)]
    keywords: dict[Name, Argument]


class Ref(_Part):
    """The result of an earlier step, or an array of the problem."""

    ref: Name


class Size(_Part):
    """A whole number that may depend on sizes."""

    size: Formula


class Power(_Part):
    """A number that depends on sizes: a whole one to an exponent."""

    power: Formula
    exponent: Annotated[str, Field(pattern=r"^-?[0-9.]{1,8}$")]


class Items(_Part):
    """A list of arguments."""

    items: Annotated[list[Ref | Size | Number | Power | bool | None], Field(max_length=40)]


class Number(_Part):
    """A float, as text: JSON has no infinity."""

    number: Annotated[str, Field(pattern=r"^-?(inf|nan|[0-9.]+(e[+-]?[0-9]+)?)$")]


Argument = Ref | Size | Number | Power | Items | bool | Text | None


class Problem(_Part):
    """Why it cannot be imported: a code, and a sentence without its end."""

    code: Annotated[str, Field(max_length=40)]
    message: Text


class Inspection(_Part):
    """A module that can become a problem."""

    error: None
    sizes: Annotated[list[FreeSize], Field(max_length=32)]
    changed: Annotated[list[ChangedSize], Field(max_length=500)]
    fixed: Annotated[list[tuple[Position, Whole]], Field(max_length=500)]
    inputs: Annotated[list[Array | Plain], Field(max_length=40)]
    weights: Annotated[list[Array], Field(max_length=40)]
    outputs: Annotated[list[Array], Field(min_length=1, max_length=40)]
    ranges: bool
    held_out: dict[Name, Whole]
    tests: Annotated[list[dict[Name, Whole]], Field(max_length=20)] = []
    unused: Annotated[list[Annotated[int, Field(ge=0, lt=64)]], Field(max_length=40)] = []
    precision: Literal["float64", "float32"]
    rtol: Annotated[float, Field(gt=0, lt=1)] | None
    notes: Annotated[list[Text], Field(max_length=20)]
    graph: Annotated[list[Step], Field(max_length=600)] | None
    results: Annotated[list[Name], Field(max_length=40)] = []
    graph_error: Text | None = None


class Refusal(_Part):
    """A module that cannot."""

    error: Problem


def read_inspection(content: bytes) -> Inspection | Refusal:
    """The answer. Raises ValueError for one that our script did not write."""
    if len(content) > MAX_BYTES:
        raise ValueError("the answer is too long")
    try:
        return Refusal.model_validate_json(content)
    except ValueError:
        return Inspection.model_validate_json(content)


Step.model_rebuild()
