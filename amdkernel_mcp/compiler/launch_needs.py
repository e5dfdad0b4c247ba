"""What a compiler that launches by itself decided about its kernels' launches, as `sandbox/languages` writes it.

It is JSON under the key `.amdkernel` of the metadata, which runtimes skip. Untrusted: what is odd counts as absent.
"""

import json
from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

KEY = ".amdkernel"
_Positions = Annotated[tuple[Annotated[int, Field(ge=0, le=999)], ...], Field(max_length=1000)]


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
    constants: Annotated[dict[Annotated[str, Field(max_length=128)], int], Field(max_length=32)] = {}
    """What the plan computes for each case, and this code was compiled for."""


def read_launch_needs(entry: Mapping[str, object]) -> LaunchNeeds | None:
    """The needs in a kernel's metadata; None where there are none."""
    text = entry.get(KEY)
    if not isinstance(text, str) or len(text) > 10_000:
        return None
    try:
        return LaunchNeeds.model_validate(json.loads(text))
    except (ValueError, RecursionError, ValidationError):
        return None
