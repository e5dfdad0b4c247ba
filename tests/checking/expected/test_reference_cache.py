"""Expected outputs are found again for the same inputs, and for no others."""

from pathlib import Path

import numpy as np
import pytest

from amdkernel_mcp.checking.cases.call import Call
from amdkernel_mcp.checking.cases.inputs import make_inputs
from amdkernel_mcp.checking.expected.reference_cache import ReferenceCache
from amdkernel_mcp.problems.problem_file import load_problem

PROBLEM = load_problem("vector_add")
CASE = PROBLEM.cases[0]
CALL = Call(CASE, 7, make_inputs(PROBLEM, CASE, seed=7))
OUTPUTS = [{"z": np.arange(4096.0)}]


@pytest.fixture
def cache(tmp_path: Path) -> ReferenceCache:
    kept = ReferenceCache(tmp_path / "reference")
    assert kept.put(PROBLEM, [CALL], OUTPUTS) is None
    return kept


def test_the_same_inputs_find_the_outputs_again(cache: ReferenceCache) -> None:
    found = cache.get(PROBLEM, [Call(CASE, 7, make_inputs(PROBLEM, CASE, seed=7))])
    assert found is not None
    assert np.array_equal(found[0]["z"], OUTPUTS[0]["z"])


def test_the_same_seed_with_other_inputs_finds_nothing(cache: ReferenceCache) -> None:
    changed = dict(CALL.inputs) | {"x": CALL.inputs["x"] + np.float32(1)}
    assert cache.get(PROBLEM, [Call(CASE, 7, changed)]) is None


def test_a_damaged_entry_is_computed_again(cache: ReferenceCache, tmp_path: Path) -> None:
    entry = next((tmp_path / "reference").glob("*.npz"))
    entry.write_bytes(entry.read_bytes()[:-1] + b"x")
    assert cache.get(PROBLEM, [CALL]) is None
