"""Expected outputs that were computed before, for the same reference and the same inputs.

All calls of a check are one entry: seeds belong to a candidate, so its calls are met together or not at all. An entry
is named by what the arrays hold and not by their seeds: another version may fill them otherwise.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.cache_folder import CacheFolder, seal, unseal
from amdkernel_mcp.checking.cases.call import Call
from amdkernel_mcp.problems.problem import Problem

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

MAX_TOTAL_BYTES = 1 << 30
MAX_AGE_S = 3 * 86400.0  # a candidate is checked again soon or not at all
_FORMAT = 6  # of an entry: raise it when the same reference would give something else


class ReferenceCache:
    """A folder of outputs, pruned by size and age. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._cache = CacheFolder(folder, max_total_bytes=MAX_TOTAL_BYTES, max_age_s=MAX_AGE_S)

    def prune(self) -> int:
        """Remove what is too old or too much. Returns how many bytes were removed."""
        return self._cache.prune()

    def get(
        self, problem: Problem, calls: Sequence[Call], wanted: Mapping[str, Array] | None = None
    ) -> list[dict[str, Array]] | None:
        """For each call every output by name; None where there is no entry that is whole.

        `wanted`: the flat indices of the elements of a part; then the scale of each is there as well, `NAME.scale`.
        """
        import numpy as np

        names = _names(problem, wanted)
        name = _name(problem, calls, wanted)
        sealed = self._cache.read(name)
        content = unseal(sealed) if sealed is not None else None
        if content is None:
            self._cache.remove(name)
            return None
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = (archive[f"arr_{number}"] for number in range(len(calls) * len(names)))
            return [{each: next(arrays) for each in names} for _ in calls]

    def put(
        self,
        problem: Problem,
        calls: Sequence[Call],
        outputs: Sequence[Mapping[str, Array]],
        wanted: Mapping[str, Array] | None = None,
    ) -> str | None:
        """Keep the outputs. Returns why they could not be kept, None where they were. `wanted`: as of `get`."""
        import numpy as np

        arrays = [each[name] for each in outputs for name in _names(problem, wanted)]
        if sum(array.nbytes for array in arrays) > MAX_TOTAL_BYTES:
            return "the outputs are larger than the cache"
        stream = io.BytesIO()
        np.savez(stream, *arrays)
        return self._cache.write(_name(problem, calls, wanted), seal(stream.getvalue()))


def _names(problem: Problem, wanted: Mapping[str, Array] | None) -> list[str]:
    suffixes = ("",) if wanted is None else ("", ".scale")
    return [output.name + suffix for output in problem.outputs for suffix in suffixes]


def _name(problem: Problem, calls: Sequence[Call], wanted: Mapping[str, Array] | None) -> str:
    called = [[sorted(call.case.values.items()), sorted(call.inputs)] for call in calls]
    digest = hashlib.sha256(json.dumps([_FORMAT, problem.digest, called, sorted(wanted or ())]).encode())
    for arrays in (*(call.inputs for call in calls), wanted or {}):
        for _, array in sorted(arrays.items()):
            digest.update(array.tobytes())
    return f"{digest.hexdigest()}.npz"
