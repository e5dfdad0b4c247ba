"""What a compiler that launches by itself decided about its kernels' launches, as `sandbox/languages` writes it.

It is JSON under the key `.amdkernel` of a kernel's metadata, or for all kernels in a section of that name; runtimes
skip both. Untrusted: what is odd counts as absent.
"""

import json
from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

KEY = ".amdkernel"
_Positions = Annotated[tuple[Annotated[int, Field(ge=0, le=999)], ...], Field(max_length=1000)]


class Passed(BaseModel):
    """What one parameter of the kernel gets: an argument of the plan, sizes of an array, or an integer made of both."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    argument: Annotated[int, Field(ge=0, le=999)] | None = None
    """Position in the plan."""
    shape: Annotated[tuple[Annotated[int, Field(ge=0, le=7)], ...], Field(max_length=8)] = ()
    """Dimensions of the array `argument` whose sizes are passed, in 32 bits each; then those whose strides are, in 64
    bits each: together one parameter in the place of the array's address."""
    strides: Annotated[tuple[Annotated[int, Field(ge=0, le=7)], ...], Field(max_length=8)] = ()
    formula: Annotated[str, Field(max_length=500)] | None = None
    """An integer, as a launch plan has it, over the arguments by their position, a0, and the sizes of arrays, a0_1."""


class LaunchNeeds(BaseModel):
    """How a kernel must be launched. Positions are those of the plan's arguments, from 0."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kernel: Annotated[str, Field(max_length=512)]
    """What the source calls it: several codes of one kernel differ in `multiples_of_16`."""
    block: Annotated[int, Field(ge=1, le=1024)]
    """Work-items of a workgroup, in one dimension."""
    lds: Annotated[int, Field(ge=0, le=1 << 20)]
    """Bytes of dynamic LDS."""
    null_pointers: Annotated[int, Field(ge=0, le=8)]
    """Parameters behind those of the source, which get null pointers."""
    compiled_in: _Positions
    """Arguments without a parameter: the compiler used their values."""
    multiples_of_16: _Positions
    """Arguments whose values must be multiples of 16."""
    block_shape: Annotated[tuple[Annotated[int, Field(ge=1, le=1024)], ...], Field(max_length=3)] = ()
    """Of a workgroup with more than one dimension."""
    grid: Annotated[tuple[Annotated[str, Field(max_length=500)], ...], Field(max_length=3)] = ()
    """Formulas, where the source has the grid and the plan need not."""
    parameters: Annotated[tuple[Passed, ...], Field(max_length=1000)] | None = None
    """What each parameter gets; None: the arguments of the plan in their order."""
    constants: Annotated[dict[Annotated[str, Field(max_length=128)], int], Field(max_length=32)] = {}
    """What the plan computes for each case, and this code was compiled for."""


def read_launch_needs(entry: Mapping[str, object]) -> LaunchNeeds | None:
    """The needs in a kernel's metadata; None where there are none."""
    return parse_launch_needs(entry.get(KEY))


def parse_launch_needs(text: object) -> LaunchNeeds | None:
    """The needs in a text; None where there are none."""
    if not isinstance(text, str) or len(text) > 10_000:
        return None
    try:
        return LaunchNeeds.model_validate(json.loads(text))
    except (ValueError, RecursionError, ValidationError):
        return None


def needs_of_all(section: bytes) -> dict[str, LaunchNeeds]:
    """The needs in a section `.amdkernel`, by the symbol of the kernel."""
    try:
        found = json.loads(section[:1_000_000].decode())
    except (ValueError, RecursionError):
        return {}
    texts = found.items() if isinstance(found, dict) else ()
    return {symbol: needs for symbol, text in texts if (needs := parse_launch_needs(text)) is not None}
