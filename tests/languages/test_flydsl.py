"""FlyDSL kernels through the verbs, on the emulator; the layer with FlyDSL is installed once per machine."""

from collections.abc import Iterator

import pytest

from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.engine.verbs.profile import Profile
from amdkernel_mcp.errors import ToolchainError
from amdkernel_mcp.execution.setup.build import setup_triton
from amdkernel_mcp.results.kernels import CheckResult
from tests.languages.flydsl_kernels import SOFTMAX, VECTOR_ADD

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.thorough, pytest.mark.usefixtures("sandbox")]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    try:
        setup_triton(load_settings(), print)
    except ToolchainError as error:
        if "pip could not fetch" in error.message:
            pytest.skip(error.message)
        raise
    folder = tmp_path_factory.mktemp("flydsl")
    engine = Engine(load_settings({"data_dir": folder / "data", "cache_dir": folder / "cache"}))
    yield engine
    engine.close()


def check(engine: Engine, problem: str, source: str, arch: str = "gfx942") -> CheckResult:
    options = CheckOptions(seed_count=1, schedules=1)
    return engine.do(Check(problem=problem, source=source, target=f"emulator:{arch}", options=options))


def test_kernels_are_correct_and_profiled_with_the_launch_of_their_host_function(engine: Engine) -> None:
    for problem, source, arch in [
        ("vector_add", VECTOR_ADD, "gfx942"),
        ("row_softmax", SOFTMAX, "gfx942"),
        ("vector_add", VECTOR_ADD, "gfx950"),
        ("vector_add", VECTOR_ADD, "gfx1201"),
    ]:
        answer = check(engine, problem, source, arch)
        assert answer.verdict == "correct", (arch, answer.reason, answer.findings)
    profile = engine.do(Profile(problem="vector_add", source=VECTOR_ADD, target="emulator:gfx942"))
    [kernel] = profile.kernels
    assert 11 in {hot.line for hot in kernel.hot_lines}, "the line of the addition"


def test_a_mistake_has_its_line_in_the_file(engine: Engine) -> None:
    bound = VECTOR_ADD.replace("if at < n:", "if at < n + 300:")
    beyond = check(engine, "vector_add", bound)
    line = bound.splitlines().index("        z[at] = x[at] + y[at]") + 1
    assert ("out_of_bounds", line) in [(each.kind, each.line) for each in beyond.findings], beyond.findings
    raced = SOFTMAX.replace("        fx.gpu.barrier()\n", "", 1)
    assert "race" in [each.kind for each in check(engine, "row_softmax", raced).findings]
    unknown = check(engine, "vector_add", VECTOR_ADD.replace("+ y[at]", "+ w[at]"))
    assert unknown.verdict == "invalid"
    assert [(each.line, "name 'w' is not defined" in each.message) for each in unknown.diagnostics] == [(line, True)]
    launch = "    add(x, y, z, n, BLOCK).launch(grid=((n + BLOCK - 1) // BLOCK,), block=(BLOCK,))"
    twice = VECTOR_ADD.replace(launch, f"{launch}\n{launch}")
    assert "launches 2 times" in check(engine, "vector_add", twice).diagnostics[0].message
