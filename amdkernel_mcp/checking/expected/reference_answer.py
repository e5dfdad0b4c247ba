"""Reads what a reference left in its sandbox. It can write anything there, so nothing is believed before it is checked:
only plain arrays of numbers are read, and never more bytes than came back."""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

MAX_ANSWER_BYTES = 1 << 20
_MOST_CALLS = 100_000
# As np.save writes it; `sandbox/runner/run_reference.py` saves floats as f8 and integers as they are.
_PREFIX = re.compile(rb"\x93NUMPY([\x01\x02])\x00")
_HEADER = re.compile(
    r"\{'descr': '([<>|=](?:f[248]|[iu][1248]))', 'fortran_order': (True|False),"
    r" 'shape': \(((?:\d{1,15}, ?)*(?:\d{1,15})?)\), \} *\n"
)
_LONGEST_HEADER = 1024


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ReferenceFailure(_Answer):
    """Why the reference did not come to its end."""

    kind: Literal["result", "module", "exception"]
    message: Annotated[str, Field(max_length=4096)]
    line: Annotated[int, Field(ge=0, lt=1 << 31)] | None


class ReferenceAnswer(_Answer):
    """What sandbox/runner/run_reference.py writes."""

    error: ReferenceFailure | None
    call: Annotated[int, Field(ge=0, lt=_MOST_CALLS)] | None
    seconds: Annotated[list[Annotated[float, Field(ge=0, allow_inf_nan=False)]], Field(max_length=_MOST_CALLS)]


def read_answer(content: bytes) -> ReferenceAnswer:
    """The answer. Raises ValueError for one that our script did not write."""
    if len(content) > MAX_ANSWER_BYTES:
        raise ValueError("the answer is too long")
    return ReferenceAnswer.model_validate_json(content)


def read_npy(content: bytes) -> Array:
    """The array of numbers in a .npy file. Raises ValueError with the reason; takes no memory but the content's."""
    import numpy as np

    prefix = _PREFIX.match(content)
    if not prefix:
        raise ValueError("it is not a .npy file")
    start = 10 if prefix[1] == b"\x01" else 12
    length = int.from_bytes(content[8:start], "little")
    if length > _LONGEST_HEADER:
        raise ValueError("its header is too long")
    header = _HEADER.fullmatch(content[start : start + length].decode("latin-1"))
    if not header:
        raise ValueError("its header does not describe an array of numbers")
    dtype = np.dtype(header[1])
    shape = tuple(int(size) for size in header[3].split(",") if size.strip())
    data = memoryview(content)[start + length :]
    if len(shape) > 32 or prod(shape) * dtype.itemsize != len(data):
        raise ValueError("its size is not that of its shape")
    order: Literal["C", "F"] = "F" if header[2] == "True" else "C"
    return np.frombuffer(data, dtype).reshape(shape, order=order)
