import numpy as np
import pytest
from problem_text import TOML, changed, write_problem

from amdkernel_mcp.checking.cases.call import Call
from amdkernel_mcp.checking.cases.inputs import make_inputs
from amdkernel_mcp.checking.expected import reference as expectations
from amdkernel_mcp.checking.expected.reference import expected_outputs, expected_part
from amdkernel_mcp.checking.judging.scale import scales
from amdkernel_mcp.errors import ProblemFileError
from amdkernel_mcp.problems.problem_file import load_problem
from tests.one_in import one_in

pytestmark = pytest.mark.sandbox

BODY = "import numpy as np\n\n\ndef reference(x, *, rows, cols):\n"


@pytest.fixture
def expect(sandbox, tmp_path):
    def run(reference, toml=TOML, *, cache_dir=None, timeout_s=60.0):
        problem = load_problem(write_problem(tmp_path / "softmax", toml, reference))
        calls = [Call(case, 0, make_inputs(problem, case, seed=0)) for case in problem.cases]
        return calls, expected_outputs(sandbox, problem, calls, cache_dir=cache_dir, timeout_s=timeout_s).outputs

    return run


def test_the_reference_gets_exactly_the_kernels_values_in_float64(expect):
    calls, results = expect(BODY + "    assert x.dtype == np.float64\n    return {'y': x * rows + cols}\n")
    for call, result in zip(calls, results, strict=True):
        wanted = call.inputs["x"].astype(np.float64) * call.case.values["rows"] + call.case.values["cols"]
        assert np.array_equal(result["y"], wanted)


@pytest.mark.parametrize(
    ("body", "line", "said"),
    one_in(
        5,
        [
            ("    y = x\n    return {'y': z}\n", 6, "NameError: name 'z' is not defined"),
            ("    return x\n", 4, "it returned ndarray, not a dict"),
            ("    return {'z': x}\n", 4, "'z', which is not an output"),
            ("    return {}\n", 4, "`y` is missing"),
            ("    return {'y': x[0]}\n", 4, "has the shape [10] instead of [4, 10]"),
            ("    return {'y': x * np.nan}\n", 4, "`y` is NaN at [0, 0]"),
            ("    return {'y': x + 1j}\n", 4, "which cannot be compared"),
            ("    return {'y': [[1], [1, 2]]}\n", 4, "`y` is not an array"),
            ("    import pandas\n    return {'y': x}\n", 5, "imports pandas, which the sandbox does not have"),
            ("    raise SystemExit(3)\n", 5, "SystemExit: 3"),
            ("    import os\n    os._exit(3)\n", 4, "ended the interpreter"),
            ("    raise ValueError('a lone \\udcff')\n", 5, "ValueError: a lone \\udcff"),
            ("    for _ in range(2000): print('x' * 100_000)\n", 4, "printed more text than the sandbox returns"),
        ],
        others=pytest.mark.thorough,
    ),
)
def test_a_reference_that_fails_is_told_with_file_and_line(expect, tmp_path, body, line, said):
    with pytest.raises(ProblemFileError) as caught:
        expect(BODY + body)
    assert said in caught.value.message
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "softmax" / "reference.py"), line)


@pytest.mark.thorough
def test_a_reference_that_does_not_end_is_stopped(expect):
    with pytest.raises(ProblemFileError, match="more than 2 s"):
        expect(BODY + "    while True: pass\n", timeout_s=2.0)


def test_a_scalar_that_the_reference_does_not_name_is_not_passed(expect):
    _, results = expect("def reference(x):\n    return {'y': x}\n")
    assert results[0]["y"].shape == (4, 10)


def test_an_inout_array_that_is_not_returned_stays_as_it_was(expect):
    toml = changed('role = "in"', 'role = "inout"')
    calls, results = expect(BODY + "    x *= 2\n    return {'y': x}\n", toml)
    assert np.array_equal(results[0]["x"], calls[0].inputs["x"])


@pytest.mark.parametrize(
    ("value", "said"),
    one_in(
        9,
        [("2.5", "is not an integer"), ("-1", "does not fit into u8"), ("np.inf", "does not fit into u8")],
        others=pytest.mark.thorough,
    ),
)
def test_what_an_integer_output_cannot_hold_is_an_error_of_the_problem(expect, value, said):
    toml = changed('name = "y"\ndtype = "f32"', 'name = "y"\ndtype = "u8"')
    body = f"    y = np.zeros((rows, cols))\n    y[2, 3] = {value}\n    return {{'y': y}}\n"
    with pytest.raises(ProblemFileError, match=rf"at \[2, 3\], which {said}"):
        expect(BODY + body, toml)


def test_a_sum_may_come_as_a_plain_number(expect):
    toml = changed('name = "y"\ndtype = "f32"\nshape = ["rows", "cols"]', 'name = "y"\ndtype = "f32"\nshape = [1]')
    _, results = expect(BODY + "    return {'y': float(x.sum())}\n", toml)
    assert results[0]["y"].shape == (1,)


def test_what_was_computed_is_remembered_until_the_reference_changes(expect, tmp_path):
    noisy = BODY + "    return {'y': np.random.rand(rows, cols)}\n"
    first, again, other = (
        expect(text, cache_dir=tmp_path)[1][0]["y"] for text in (noisy, noisy, noisy + "# changed\n")
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


FORGERIES = {
    "an answer that nests": ("b'[' * 1_000_000", "b''", "overwrote its own answer"),
    "an answer of NaN": ("b'NaN'", "b''", "overwrote its own answer"),
    "an error of a wrong type": (
        """b'{"error": 7, "call": 0, "seconds": []}'""",
        "b''",
        "overwrote its own answer",
    ),
    "no array": ("""b'{"error": null, "call": 0, "seconds": []}'""", "b'rubbish'", "`y` cannot be read"),
}


@pytest.mark.parametrize(("answer", "array", "said"), FORGERIES.values(), ids=FORGERIES)
def test_a_reference_that_forges_its_answer_is_an_error_of_the_problem(expect, answer, array, said):
    body = f"""
    import os, pathlib
    out = pathlib.Path(os.environ["OUT"])
    (out / "0" / "y.npy").parent.mkdir(exist_ok=True)
    (out / "0" / "y.npy").write_bytes({array})
    (out / "answer.json").write_bytes({answer})
    os._exit(0)
"""
    with pytest.raises(ProblemFileError, match=said):
        expect(BODY + body)


def test_a_cache_that_cannot_be_written_costs_no_answer(sandbox, tmp_path):
    (tmp_path / "file").write_text("")
    problem = load_problem(write_problem(tmp_path / "softmax"))
    calls = [Call(problem.cases[0], 0, make_inputs(problem, problem.cases[0], seed=0))]
    expected = expected_outputs(sandbox, problem, calls, cache_dir=tmp_path / "file")
    assert expected.outputs[0]["y"].shape == (4, 10)
    assert "Not a directory" in expected.not_cached


def test_a_part_of_the_outputs_is_that_of_the_whole_with_the_scales_of_the_whole(expect, sandbox, tmp_path):
    """Rows of very different sizes: the part alone would have another scale."""
    body = BODY + "    return {'y': x * 10.0 ** (4 * np.arange(rows)[:, None] - 6)}\n"
    calls, results = expect(body)
    problem = load_problem(tmp_path / "softmax")
    whole = results[0]["y"]
    wanted = np.array([0, 3, whole.size - 1])
    for _ in range(2):  # then from the cache
        part = expected_part(sandbox, problem, calls[0], {"y": wanted}, {"y": 1e-5}, cache_dir=tmp_path)["y"]
        assert np.array_equal(part.values, whole.reshape(-1)[wanted])
        assert np.array_equal(part.scale, scales(whole, rtol=1e-5, epsilon=2.0**-23).reshape(-1)[wanted])


def test_calls_whose_outputs_are_large_together_are_run_in_groups(expect, monkeypatch):
    whole = expect(BODY + "    return {'y': x + 1}\n")[1]
    sizes = [outputs["y"].size for outputs in whole]
    monkeypatch.setattr(expectations, "MOST_ELEMENTS", max(sizes))
    ran = []
    run = expectations._run

    def noted(*given):
        ran.append(len(given[2]))
        return run(*given)

    monkeypatch.setattr(expectations, "_run", noted)
    in_groups = expect(BODY + "    return {'y': x + 1}\n")[1]
    assert len(ran) > 1
    assert all(np.array_equal(a["y"], b["y"]) for a, b in zip(whole, in_groups, strict=True))
    monkeypatch.setattr(expectations, "MOST_ELEMENTS", max(sizes) - 1)
    with pytest.raises(ProblemFileError, match=r"more than the \d+ that are compared at once"):
        expect(BODY + "    return {'y': x + 1}\n")
