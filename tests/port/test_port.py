"""CUDA programs on waves of 32 and of 64: the real compiler and the emulator."""

from collections.abc import Iterator

import pytest

from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.port import Port, PortOptions
from amdkernel_mcp.results.port import PortResult
from tests.host_programs.programs import RIGHT
from tests.port.programs import SAME, WAVE64, program, wrong_line

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

LATE = pytest.mark.thorough
EARLY = "a ballot in 32 bits"


@pytest.fixture(scope="module")
def engine(settings: Settings) -> Iterator[Engine]:
    opened = Engine(settings)
    yield opened
    opened.close()


def ported(engine: Engine, source: str, *, keep_warps: bool = False, verify: bool = True) -> PortResult:
    return engine.do(Port(source=source, options=PortOptions(keep_warps=keep_warps, verify=verify)))


@pytest.mark.parametrize("name", [name if name == EARLY else pytest.param(name, marks=LATE) for name in WAVE64])
def test_a_mistake_of_waves_of_64_has_its_line_and_is_none_with_warps_of_32(engine: Engine, name: str) -> None:
    source = WAVE64[name]
    plain = ported(engine, source)
    assert plain.verdict == "wave64_mistake", plain.reason
    assert wrong_line(source) in [hit.line for hit in plain.suspects]
    assert "of its output" in (plain.difference or "")
    kept = ported(engine, source, keep_warps=True)
    assert kept.verdict == "same", kept.reason
    assert kept.sources == {}


@LATE
@pytest.mark.parametrize("name", SAME)
def test_what_hip_writes_otherwise_is_kept_with_its_meaning(engine: Engine, name: str) -> None:
    kept = ported(engine, SAME[name], keep_warps=True)
    assert kept.verdict == "same", (kept.reason, kept.difference)


def test_what_does_not_compile_is_not_ported(engine: Engine) -> None:
    result = ported(engine, program('    asm("mov.u32 %0, %laneid;" : "=r"(y[i]));\n    cudaNoSuchThing(x);'))
    assert (result.verdict, result.archs, result.runs) == ("does_not_compile", [], [])
    assert "HIP has no cudaNoSuchThing" in result.by_hand
    assert any(hit.kind == "ptx" and "__lane_id" in hit.instead for hit in result.lint)


@LATE
def test_a_program_that_is_wrong_on_both_proves_nothing(engine: Engine) -> None:
    result = ported(engine, program("    y[i] = x[i];").replace("return error", 'puts("FAILED"); return error'))
    assert result.verdict == "wrong_on_both", result.reason
    assert [run.wave for run in result.runs] == [32, 64]


@LATE
def test_the_outputs_of_a_problem_decide_where_one_is_named(engine: Engine) -> None:
    lanes = RIGHT.replace("z[i] = x[i] + y[i]", "z[i] = __shfl_sync(0xffffffff, x[i], threadIdx.x & 31) + y[i]")
    source = lanes.replace("hip/hip_runtime.h", "cuda_runtime.h").replace("hip", "cuda")
    for keep_warps, verdict in ((False, "wave64_mistake"), (True, "same")):
        options = PortOptions(keep_warps=keep_warps, problem="vector_add")
        result = engine.do(Port(source=source, options=options))
        assert result.verdict == verdict, result.reason
