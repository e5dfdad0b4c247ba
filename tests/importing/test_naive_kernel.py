"""Kernels from lists of operations, which come from an untrusted process."""

import json
from itertools import pairwise

import pytest
from test_untrusted_answers import ANSWER

from amdkernel_mcp.importing.draft import draft
from amdkernel_mcp.importing.inspect_module import ModuleFile
from amdkernel_mcp.importing.inspection import Inspection, read_inspection
from amdkernel_mcp.importing.naive_kernel import naive_kernel
from amdkernel_mcp.importing.skeleton import skeleton
from amdkernel_mcp.problems.problem_file import load_problem


def step(op, *args, name="t0", **keywords):
    return {"op": op, "name": name, "dtype": "f32", "shape": ["n"], "args": list(args), "keywords": keywords}


@pytest.fixture
def drafted(tmp_path):
    def make(*steps, result="t0"):
        found = read_inspection(json.dumps(ANSWER | {"graph": list(steps), "results": [result]}).encode())
        assert isinstance(found, Inspection)
        texts = draft(ModuleFile("import torch\n", "m.py"), found, normal=False)
        (tmp_path / "problem.toml").write_text(texts.declaration)
        (tmp_path / "reference.py").write_text(texts.reference)
        problem = load_problem(tmp_path)
        return problem, *naive_kernel(problem, found)

    return make


def test_single_elements_are_computed_in_one_launch(drafted):
    problem, text, _ = drafted(
        step("mul.Tensor", {"ref": "x"}, {"number": "2.0"}),
        step("prims.exp.default", {"ref": "t0"}, name="t1"),
        result="t1",
    )
    assert problem.needs_torch
    assert text.count("__global__") == 1
    assert "exp(" in text
    assert "* (float)(2.0)" in text


def test_a_value_that_two_steps_read_is_stored(drafted):
    _, text, _ = drafted(
        step("prims.exp.default", {"ref": "x"}),
        step("add.Tensor", {"ref": "t0"}, {"ref": "t0"}, name="t1"),
        result="t1",
    )
    assert "// amdkernel: workspace t0 dtype=f32 shape=[n]" in text


def test_a_part_of_a_split_is_read_where_it_begins(drafted):
    cut = step("split_with_sizes.default", {"ref": "x"}, {"items": [{"size": "3"}, {"size": "n - 3"}]}, {"size": "0"})
    parts = cut | {"dtype": "none", "shape": []}
    _, text, _ = drafted(parts, step("getitem", {"ref": "t0"}, {"size": "1"}, name="t1"), result="t1")
    assert "x[(0 + (3) + c0_)]" in text


def test_what_is_empty_for_the_smallest_size_can_still_be_launched(drafted):
    shorter = step("prims.exp.default", {"ref": "x"}) | {"shape": ["n - 1"]}
    _, text, _ = drafted(shorter, step("sum.default", {"ref": "t0"}, name="t1"), result="t1")
    assert "workspace t0 dtype=f32 shape=[max(1, n - 1)]" in text
    assert "grid=[max(1, ceil_div((n - 1), 256))]" in text


def test_expressions_do_not_grow_without_end(drafted):
    names = ["x", *(f"t{n}" for n in range(200))]
    steps = [step("prims.abs.default", {"ref": one}, name=other) for one, other in pairwise(names)]
    _, text, _ = drafted(*steps, result="t199")
    assert len(text) < 200_000


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (step("special.unknown", {"ref": "x"}), "no naive kernel is known for special.unknown"),
        (step("mul.Tensor", {"ref": "nosuch"}, {"size": "2"}), "nosuch was not made"),
        (step("prims.broadcast_in_dim.default", {"ref": "x"}), "not what they should be"),
        (step("cumsum.default", {"ref": "x"}, {"size": "n"}), "an axis or a count depends on a size"),
        (step("getitem", {"ref": "x"}, {"size": "0"}), "x is not a step"),
    ],
)
def test_what_is_not_known_gives_a_skeleton_and_the_reason(drafted, wrong, why):
    problem, text, said = drafted(wrong)
    assert text is None
    assert why in said
    assert "grid=[ceil_div(n, 256)]" in skeleton(problem)
