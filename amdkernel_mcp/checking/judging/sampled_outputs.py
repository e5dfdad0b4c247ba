"""Which elements the workgroups of a sample wrote: the others say nothing about a kernel.

An element was written if its bytes are no longer those from before the run: the poison of an output, the data of an
`inout`. A value that equals them counts as not written, so a mistake may be missed, but nothing is called wrong.
Several workgroups may write parts of one element, as bytes of a packed word. So each part that a store of the code
could write must have changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.problems.problem import Problem

if TYPE_CHECKING:
    import numpy as np

    from amdkernel_mcp.checking.cases.call import Call

    Mask = np.ndarray[Any, np.dtype[np.bool_]]

# The bytes that outputs hold before the first run. Source: sandbox/runner/guarded_buffer.py.
POISON = 0xFF
_STORE = re.compile(r"^\t(?:global|flat|buffer)_store_(?:d16_hi_)?([a-z0-9]+)", re.M)
_BYTES = {"byte": 1, "b8": 1, "format": 1, "short": 2, "b16": 2, "dword": 4, "b32": 4}
_WIDEST = 8  # no element is wider


def narrowest_store(disassembly: str) -> int:
    """Bytes of the narrowest store to memory in the code, 8 at most."""
    return min((_BYTES.get(width, _WIDEST) for width in _STORE.findall(disassembly)), default=_WIDEST)


def written_elements(
    problem: Problem, call: Call, outputs: Mapping[str, bytes], *, store_bytes: int
) -> dict[str, Mask]:
    """For each output, of its shape, whether the element was written. `store_bytes`: of the narrowest store."""
    import numpy as np

    masks = {}
    for argument in problem.outputs:
        size = argument.dtype.bytes
        part = min(store_bytes, size)
        parts = (*call.case.shape_of(argument), size // part, part)
        after = np.frombuffer(outputs[argument.name], np.uint8)
        before = POISON if argument.role == "out" else np.frombuffer(call.inputs[argument.name].tobytes(), np.uint8)
        masks[argument.name] = np.asarray((after != before).reshape(parts).any(axis=-1).all(axis=-1))
    return masks
