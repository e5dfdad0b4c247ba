"""What is said about problems, through the sandbox: useless ones are refused, honest ones never."""

import pytest

from amdkernel_mcp.checking.problem_probe import examine_problem, known_findings
from amdkernel_mcp.errors import ProblemFileError
from amdkernel_mcp.problems.problem_file import bundled_problems, load_problem
from tests.one_in import one_in

pytestmark = pytest.mark.sandbox


def argument(name, dtype, shape=None, role=None, init=None):
    lines = [f'name = "{name}"', f'dtype = "{dtype}"']
    lines += [f"shape = {shape}"] if shape else []
    lines += [f'role = "{role}"'] if role else []
    lines += [f'init = "{init}"'] if init else []
    return "[[arguments]]\n" + "\n".join(lines) + "\n"


N = argument("n", "i32") + "[[cases]]\nn = 1000\n[[cases]]\nn = 77\n"
ROWS = argument("r", "i32") + argument("c", "i32") + "[[cases]]\nr = 16\nc = 200\n[[cases]]\nr = 5\nc = 33\n"


def unary(dtype="f32", init="normal", out="", out_shape='["n"]'):
    return argument("x", dtype, '["n"]', "in", init) + argument("y", out or dtype, out_shape, "out") + N


def rows(dtype="f32", out="", shape='["r", "c"]', init="normal"):
    return argument("x", dtype, '["r", "c"]', "in", init) + argument("y", out or dtype, shape, "out") + ROWS


def matrices(dtype, out):
    return (
        argument("a", dtype, '["m", "k"]', "in") + argument("b", dtype, '["k", "n"]', "in")
        + argument("c", out, '["m", "n"]', "out") + argument("m", "i32") + argument("n", "i32") + argument("k", "i32")
        + "[[cases]]\nm = 33\nn = 65\nk = 100\n[[cases]]\nm = 5\nn = 7\nk = 9\n"
    )  # fmt: skip


@pytest.fixture
def problem_of(tmp_path):
    def make(toml, reference, parameters="x, **_", more=""):
        (tmp_path / "problem.toml").write_text(toml)
        body = "".join(f"    {line}\n" for line in reference.splitlines())
        (tmp_path / "reference.py").write_text(f"import numpy as np\n\n\n{more}def reference({parameters}):\n{body}")
        return load_problem(tmp_path)

    return make


HONEST = {
    "a copy": (unary() + "[tolerance]\nrtol = 0\n", "return {'y': x}", ["copies x to y"]),
    "relu": (unary("f16"), "return {'y': np.maximum(x, 0)}", []),
    "a sum": (unary(init="uniform", out_shape="[1]"), "return {'y': x.sum()}", []),
    "a scan": (unary(), "return {'y': np.cumsum(x)}", []),
    "argmax": (rows(out="i32", shape='["r"]'), "return {'y': x.argmax(axis=1)}", []),
    "softmax": (rows(), "e = np.exp(x - x.max(1, keepdims=True))\nreturn {'y': e / e.sum(1, keepdims=True)}", []),
    "a scaled-down softmax in bf16": (
        rows("bf16"), "e = np.exp(x - x.max(1, keepdims=True))\nreturn {'y': e / e.sum(1, keepdims=True)}", [],
    ),
    "layernorm": (
        rows("f16"), "return {'y': (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)}", [],
    ),
    "a sort": (rows(), "return {'y': np.sort(x, axis=1)}", []),
    "quantise": (
        unary(out="i8") + "[tolerance.y]\nsteps = 1\n", "return {'y': np.clip(np.round(x * 20), -128, 127)}", [],
    ),
    "a histogram": (
        unary("i32", "integers(0, 16)", "i32", "[16]"), "return {'y': np.bincount(x, minlength=16)}", [],
    ),
    "signs": (unary(), "return {'y': np.sign(x)}", []),
    "arcsin, whose domain ends at the bounds": (unary(init="uniform(-1, 1)"), "return {'y': np.arcsin(x)}", []),
    "a mask": (unary(out="u8"), "return {'y': x > 0}", []),
    "ranks of a sorted array": (unary("i32", "sorted(0, n * 4)"), "return {'y': x // 3}", []),
    "an inverse of a permutation": (unary("i32", "permutation"), "return {'y': np.argsort(x)}", []),
    "an fp8 matrix product": (matrices("float8_e4m3fnuz", "f32"), "return {'c': a @ b}", []),
    "a matrix product": (matrices("f16", "f16"), "return {'c': a @ b}", []),
    "one of two outputs is nearly always zero": (
        argument("e", "i32", "[2]", "out") + unary(), "return {'y': x * x, 'e': np.zeros(2)}", ["writes 0 to e"],
    ),
    "an update in place": (
        argument("x", "f32", '["n"]', "inout") + N, "return {'x': x * 2}", [],
    ),
    "a single number that hardly moves": (
        unary(out_shape="[1]") + "[tolerance]\nrtol = 0.1\n",
        "return {'y': np.array([1 + x.mean() * 1e-3])}", ["to y passes every case"],
    ),
    "clearing NaN": (unary(init="nans"), "return {'y': np.nan_to_num(x)}", []),
    "passing NaN on": (unary(init="nans"), "return {'y': x * 2}", []),
}  # fmt: skip
GATE = ("a copy", "argmax", "layernorm", "quantise", "arcsin, whose domain ends at the bounds", "passing NaN on")


THOROUGH = [pytest.param(name, marks=pytest.mark.thorough) for name in HONEST if name not in GATE]


@pytest.mark.parametrize("name", one_in(9, [*GATE, *one_in(3, THOROUGH)], others=pytest.mark.thorough))
def test_an_honest_problem_is_not_refused_and_no_more_is_said_than_is_true(sandbox, problem_of, name):
    toml, reference, said = HONEST[name]
    names = "a, b, **_" if "'c'" in reference else "x, **_"
    warnings = examine_problem(sandbox, problem_of(toml, reference, names))
    assert len(warnings) == len(said), warnings
    assert all(part in warning for part, warning in zip(said, warnings, strict=True)), warnings


@pytest.mark.thorough
@pytest.mark.parametrize("name", one_in(4, bundled_problems()))
def test_no_bundled_problem_has_a_finding_but_the_copies(sandbox, name):
    assert examine_problem(sandbox, load_problem(name)) == ()


REFUSED = {
    "only zeros": (unary(), "return {'y': x * 0}", "only writes 0 to y passes every case"),
    "a constant within the tolerance": (
        rows(shape='["r"]') + "[tolerance]\nrtol = 0.5\n", "return {'y': 1 + x.mean(1) * 1e-3}", "only writes 0.99",
    ),
    "an absolute tolerance that takes anything": (
        unary() + "[tolerance.y]\natol = 1e6\n", "return {'y': x}", "only writes 0 to y passes",
    ),
    "always the same number": (
        unary("i32", "integers(0, 99)", "i32", "[1]"), "return {'y': np.array([(x > 100).any()])}", "0 to y",
    ),
    "nothing to do": (argument("x", "f32", '["n"]', "inout") + N, "return {'x': x}", "does nothing passes"),
    "random numbers": (unary(), "return {'y': x * np.random.rand()}", "gives another y for the same inputs"),
    "a counter": (unary("i32", "integers(0, 5)"), "C.append(0)\nreturn {'y': x + len(C)}", "gives another y"),
}  # fmt: skip


@pytest.mark.parametrize(("toml", "reference", "said"), REFUSED.values(), ids=REFUSED)
def test_a_problem_that_proves_nothing_is_refused(sandbox, problem_of, toml, reference, said):
    problem = problem_of(toml, reference, more="C = []\n\n\n")
    with pytest.raises(ProblemFileError) as caught:
        examine_problem(sandbox, problem)
    assert said in caught.value.message
    assert (caught.value.file, caught.value.line) == (problem.reference_file, problem.reference_line)


def test_a_generate_with_its_own_random_numbers_is_refused(sandbox, problem_of):
    more = "def generate(rng, *, n):\n    return {'x': np.random.rand(n)}\n\n\n"
    with pytest.raises(ProblemFileError, match="generate gives other arrays for the same seed"):
        examine_problem(sandbox, problem_of(unary(), "return {'y': x * 2}", more=more))


def test_scalars_and_seeds_that_no_case_shows_are_named(sandbox, problem_of):
    scaled = argument("alpha", "f32") + argument("beta", "f32") + argument("bias", "f32")
    cases = "".join(f"[[cases]]\nn = {n}\nalpha = 1\nbeta = 0\nbias = 0.5\n" for n in (1000, 77))
    toml = unary().partition("[[cases]]")[0] + scaled + cases
    more = "def generate(rng, *, n, **_):\n    return {'x': np.sin(np.arange(n, dtype=np.float32))}\n\n\n"
    problem = problem_of(toml, "return {'y': alpha * x + bias + beta}", "x, alpha, beta, bias, **_", more)
    said = [each for each in examine_problem(sandbox, problem) if "no case shows" in each or "every seed" in each]
    assert [each.partition(":")[0] for each in said] == [
        "no case shows what alpha does",
        "no case shows what beta does",
        "generate gives the same inputs for every seed, so a kernel may know them",
    ]


WEAK = {
    "float32 at the end": (unary(), "return {'y': np.exp(x).astype(np.float32)}", "computes y in float32"),
    "float32 on the way": (unary(), "return {'y': np.float32(x) / np.float64(3)}", "computes y in float32"),
    "half precision passes": (
        unary() + "[tolerance]\nrtol = 0.01\n", "return {'y': x / 3}", "f32 results rounded to f16",
    ),
    "a tolerance below the noise": (
        unary() + "[tolerance]\nrtol = 1e-8\n", "return {'y': x / 3}", "below its own noise",
    ),
    "a smooth output": (
        unary(init="arange") + "[tolerance]\nrtol = 0.3\n", "return {'y': x + 1e6}", "only writes",
    ),
    "shifted": (
        unary() + "[tolerance.y]\nrtol = 0.3\nmax_bias = 1\n",
        "return {'y': np.exp(np.linspace(0, 10, len(x))) + x * 1e-9}", "y shifted by one element",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if "half" in n else pytest.mark.thorough) for n in WEAK])
def test_a_weak_point_is_a_warning(sandbox, problem_of, name):
    toml, reference, said = WEAK[name]
    try:
        warnings = examine_problem(sandbox, problem_of(toml, reference))
    except ProblemFileError as refused:
        warnings = (refused.message,)
    assert any(said in warning for warning in warnings), warnings


def test_what_was_found_is_kept_until_the_problem_changes(sandbox, problem_of, tmp_path):
    copy = unary() + "[tolerance]\nrtol = 0\n"
    problem = problem_of(copy, "return {'y': x}")
    assert known_findings(problem, tmp_path) is None
    first = examine_problem(sandbox, problem, cache_dir=tmp_path)
    assert [finding.message for finding in known_findings(problem, tmp_path) or ()] == list(first)
    for changed in (copy.replace("rtol = 0", "rtol = 1e-3"), copy.replace("n = 77", "n = 78"), unary("f64")):
        assert known_findings(problem_of(changed, "return {'y': x}"), tmp_path) is None
    assert known_findings(problem_of(copy, "return {'y': +x}"), tmp_path) is None
    assert known_findings(problem_of('title = "Other"\n' + copy, "return {'y': x}"), tmp_path) is not None


def test_a_reference_that_never_ends_is_waited_for_once(sandbox, problem_of, monkeypatch):
    runs, run = [], sandbox.run

    def hurried(*given, timeout_s, **named):
        runs.append(timeout_s)
        return run(*given, timeout_s=1, **named)

    monkeypatch.setattr(sandbox, "run", hurried)
    with pytest.raises(ProblemFileError, match="took more than"):
        examine_problem(sandbox, problem_of(unary(), "while True: pass"))
    assert len(runs) == 1
