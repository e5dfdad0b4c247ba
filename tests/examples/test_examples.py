"""Every kernel of examples/ on the emulator: the good ones are correct, each broken one is found out."""

import tomllib
from pathlib import Path

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.checking.check import check
from amdkernel_mcp.compiler.compile import Compiler
from amdkernel_mcp.execution.hosts import EMULATED
from amdkernel_mcp.execution.targets import find_target
from amdkernel_mcp.launch.lines import read_launch_plan
from amdkernel_mcp.problems.problem_file import bundled_problems, load_problem
from amdkernel_mcp.server.delivery.truncate import LIMIT_BYTES, size, truncate
from tests.one_in import one_in

EXPECTED = tomllib.loads((Path(__file__).parent / "expected.toml").read_text())
KERNELS = [(problem, kernel) for problem, kernels in EXPECTED.items() for kernel in kernels]
CORRECT = [(problem, kernel) for problem, kernel in KERNELS if EXPECTED[problem][kernel][0] == "correct"]
OTHER_ARCHS = sorted(set(EMULATED) - {"gfx942"})


def verdicts():
    """Each kernel of each problem; `make test` takes some good and some broken ones that are quick."""
    in_gate = {("vector_add", "naive"), ("row_softmax", "better"), ("gemm_f16", "better"), ("histogram", "better")}
    in_gate |= {("row_softmax", "broken_tail"), ("gemm_f16", "broken_layout"), ("histogram", "broken_race")}
    rest = [pair for pair in KERNELS if pair not in in_gate]
    yield from (pytest.param(*pair, id="-".join(pair)) for pair in KERNELS if pair in in_gate)
    yield from one_in(2, (pytest.param(*pair, id="-".join(pair), marks=pytest.mark.thorough) for pair in rest))


def pairs_of_other_archs():
    """Each good kernel on each other GPU: one in `make test`, a GPU for each kernel in the full gate."""
    better = [pair for pair in CORRECT if pair[1] == "better"]
    in_gate = {(OTHER_ARCHS[0], *better[0])}
    turns = {(OTHER_ARCHS[turn % len(OTHER_ARCHS)], *pair) for turn, pair in enumerate(CORRECT)}
    for one in ((arch, *pair) for arch in OTHER_ARCHS for pair in CORRECT):
        marks = [] if one in in_gate else [pytest.mark.thorough]
        yield pytest.param(*one, marks=marks if one in in_gate | turns else [*marks, pytest.mark.soak])


@pytest.fixture
def check_example(sandbox, settings):
    def run(problem, kernel, arch="gfx942"):
        loaded = load_problem(problem)
        file = folder("examples") / problem / "kernels" / f"{kernel}.hip"
        source = file.read_text()
        plan = read_launch_plan(source, loaded)
        target = find_target(f"emulator:{arch}", settings)
        compiled = Compiler(sandbox, settings.cache_dir).compile(
            source, arch=target.arch, flags=plan.flags(), file_name=file.name
        )
        return check(
            sandbox=sandbox, compiled=compiled, problem=loaded, plan=plan, target=target, cache_dir=settings.cache_dir
        )

    return run


def test_the_table_names_every_kernel():
    there = {(p, file.stem) for p in bundled_problems() for file in (folder("examples") / p / "kernels").glob("*.hip")}
    assert there == set(KERNELS)


@pytest.mark.parametrize("problem", bundled_problems())
def test_each_problem_has_a_naive_a_better_and_a_broken_kernel(problem):
    names = set(EXPECTED[problem])
    assert {"naive", "better"} < names
    assert any(name.startswith("broken_") for name in names)


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize(("problem", "kernel"), list(verdicts()))
def test_each_kernel_gets_its_verdict(check_example, problem, kernel, tmp_path):
    verdict, *about = EXPECTED[problem][kernel]
    result = check_example(problem, kernel)
    assert result.verdict == verdict, f"{result.reason}\n{result.findings}"
    sent = truncate(result, tmp_path)
    assert size(sent) <= LIMIT_BYTES
    assert [(each.kind, each.line) for each in sent.findings[:1]] == [(f.kind, f.line) for f in result.findings[:1]]
    if verdict == "correct":
        assert not result.findings
        assert result.evidence == "emulated"
        assert not result.coverage.not_run, result.reason
        return
    kinds, words = about
    assert {finding.kind for finding in result.findings} & set(kinds.split("|")), result.findings
    assert words in result.reason


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize(("arch", "problem", "kernel"), list(pairs_of_other_archs()))
def test_a_good_kernel_is_good_on_every_emulated_gpu(check_example, arch, problem, kernel):
    result = check_example(problem, kernel, arch)
    assert result.verdict == "correct", f"{result.reason}\n{result.findings}"
    assert result.target == f"emulator:{arch}"
