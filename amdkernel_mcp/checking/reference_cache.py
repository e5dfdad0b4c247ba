"""Expected outputs that were computed before, for the same reference, case and seed."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.cache_folder import CacheFolder, seal, unseal
from amdkernel_mcp.problems.problem import Case, Problem

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

MAX_TOTAL_BYTES = 1 << 30
MAX_AGE_S = 30 * 86400.0
_FORMAT = 2  # of an entry: raise it when the same reference would give something else


class ReferenceCache:
    """A folder of outputs, pruned by size and age. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._cache = CacheFolder(folder, max_total_bytes=MAX_TOTAL_BYTES, max_age_s=MAX_AGE_S)

    def get(self, problem: Problem, case: Case, seed: int) -> dict[str, Array] | None:
        """Every output by name; None where there is no entry that is whole."""
        import numpy as np

        name = _name(problem, case, seed)
        sealed = self._cache.read(name)
        content = unseal(sealed) if sealed is not None else None
        if content is None:
            self._cache.remove(name)
            return None
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return {output.name: archive[f"arr_{number}"] for number, output in enumerate(problem.outputs)}

    def put(self, problem: Problem, case: Case, seed: int, outputs: Mapping[str, Array]) -> str | None:
        """Keep the outputs. Returns why they could not be kept, None where they were."""
        import numpy as np

        if sum(array.nbytes for array in outputs.values()) > MAX_TOTAL_BYTES:
            return "the outputs are larger than the cache"
        stream = io.BytesIO()
        np.savez(stream, *(outputs[output.name] for output in problem.outputs))
        return self._cache.write(_name(problem, case, seed), seal(stream.getvalue()))


def _name(problem: Problem, case: Case, seed: int) -> str:
    values = json.dumps(sorted(case.values.items()))
    content = f"{_FORMAT} {problem.digest} {values} {seed}"
    return f"{hashlib.sha256(content.encode()).hexdigest()}.npz"
