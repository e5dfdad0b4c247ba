"""CUDA programs on waves of 32 and of 64: the real compiler and the emulator."""

from collections.abc import Iterator

import pytest

from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.port import Port, PortOptions
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.execution.targets import find_target
from amdkernel_mcp.port.answer import hits_of, suspects
from amdkernel_mcp.port.port import Wanted, port
from amdkernel_mcp.port.sources import CudaProgram
from amdkernel_mcp.port.verify import Place, run_on
from amdkernel_mcp.results.port import PortResult
from amdkernel_mcp.work import Work
from tests.host_programs.programs import RIGHT
from tests.one_in import one_in
from tests.port.programs import SAME, WAVE64, all_kernels, outputs, program, wrong_line

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

LATE = pytest.mark.thorough
EARLY = "a ballot in 32 bits"
ARCHS = ("gfx942", "gfx1100")


@pytest.fixture(scope="module")
def engine(settings: Settings) -> Iterator[Engine]:
    opened = Engine(settings)
    yield opened
    opened.close()


def ported(engine: Engine, source: str, *, keep_warps: bool = False, verify: bool = True) -> PortResult:
    return engine.do(Port(source=source, options=PortOptions(keep_warps=keep_warps, verify=verify)))


@pytest.mark.thorough
def test_a_mistake_of_waves_of_64_has_its_line_and_is_none_with_warps_of_32(engine: Engine) -> None:
    source = WAVE64[EARLY]
    plain = ported(engine, source)
    assert plain.verdict == "wave64_mistake", plain.reason
    assert wrong_line(source) in [hit.line for hit in plain.suspects]
    assert "of its output" in (plain.difference or "")
    kept = ported(engine, source, keep_warps=True)
    assert kept.verdict == "same", kept.reason
    assert kept.sources == {}


@LATE
def test_every_class_of_mistakes_of_waves_has_its_line_and_is_none_with_warps_of_32(
    settings: Settings, sandbox: Sandbox
) -> None:
    """All in one program: each kernel prints what it computes."""
    program = CudaProgram("all.cu", {"all.cu": all_kernels(WAVE64)})
    targets = [find_target(f"emulator:{arch}", settings) for arch in ARCHS]
    work = Work(say=print)
    for keep_warps in (False, True):
        made = port(sandbox, Wanted(program, keep_warps=keep_warps, archs=ARCHS), work)
        assert made.failed is None, made.failed
        wide, narrow = (outputs(run_on(made.program, Place(each, sandbox), 60, work).said.text) for each in targets)
        assert list(wide) == list(narrow) == list(WAVE64)
        same = [name for name in WAVE64 if wide[name] == narrow[name]]
        assert same == (list(WAVE64) if keep_warps else [])
    for name, source in WAVE64.items():
        found = suspects(hits_of(CudaProgram("a.cu", {"a.cu": source})), keep_warps=False)
        assert wrong_line(source) in [hit.line for hit in found], name


@LATE
@pytest.mark.parametrize("name", one_in(3, SAME))
def test_what_hip_writes_otherwise_is_kept_with_its_meaning(engine: Engine, name: str) -> None:
    kept = ported(engine, SAME[name], keep_warps=True)
    assert kept.verdict == "same", (kept.reason, kept.difference)


@pytest.mark.thorough
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
