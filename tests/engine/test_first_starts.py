"""What may hang is tried on the emulator before a GPU whose reset takes down others; the emulator stands for that GPU.

What the driver's files say of the GPU is given. Compiles, the trial and the notes are the real ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine import first_starts
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.first_starts import FirstStarts, started_kernel, started_program
from amdkernel_mcp.engine.prepared_kernel import PreparedKernel
from amdkernel_mcp.engine.verbs.check_program import CheckProgram
from amdkernel_mcp.engine.verbs.run import Run, _ending
from amdkernel_mcp.engine.verbs.verb import Means
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.execution.runner.program import TIMED_OUT, ProgramRun
from amdkernel_mcp.execution.runner.program_files import Program, sent_program
from amdkernel_mcp.execution.sandbox import Completed, Sandbox
from amdkernel_mcp.findings.hangs import SLOW
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.leases.gpu_health import QuarantinedError
from amdkernel_mcp.leases.leased_sandbox import LeasedSandbox
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.results.kernels import CheckResult, Finding, FindingKind
from amdkernel_mcp.runner_protocol.report import CaseReport, RunnerReport
from amdkernel_mcp.work import Work

GPU = Target("gpu1:0", "gpu", "gfx942", "MI300X", "gpu1", 0, id="1a2b")
OF_SLURM = Target("slurm:gfx942", "gpu", "gfx942", "MI300X", "slurm")
EMULATOR = Target("emulator:gfx942", "emulator", "gfx942", "MI300X")
ALONE = "gpu_busy_percent 0\nmem_info_vram_used 1\nunique_id 1a2b\ndriver 6.16\ngpu_id 7\nprocesses listed\n"
OF_A_HIVE = ALONE + "hive 8\n"
NAIVE = (folder("examples") / "vector_add/kernels/naive.hip").read_text()
LOOPS = """// amdkernel: launch add grid=[1] block=[64]
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    for (int i = threadIdx.x; i < n; i += STEP) z[i] = x[i] + y[i];
}
"""


def looping(step: str) -> str:
    return LOOPS.replace("STEP", step)


class BesideGpu:
    """The sandbox, with what a driver's files would say of its GPU."""

    def __init__(self, sandbox: Sandbox, state: str) -> None:
        self._sandbox, self._state = sandbox, state
        self.isolation, self.image_id = sandbox.isolation, sandbox.image_id
        self.kinds: list[str] = []

    def run(self, kind: Any, command: Sequence[str], files: Mapping[str, bytes], **how: Any) -> Completed:
        self.kinds.append(kind)
        if kind == "look":
            return Completed(0, {}, self._state, False, False, False, 0.0)
        return self._sandbox.run(kind, command, files, **how)


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amdkernel_mcp.execution.sandboxes.Sandboxes.render_node", lambda *_: "/dev/dri/renderD128")


@pytest.fixture(scope="module")
def engine(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine that knows of no kernel."""
    opened = Engine(settings.model_copy(update={"cache_dir": tmp_path_factory.mktemp("cache")}))
    yield opened
    opened.close()


def on_gpu(engine: Engine, source: str, state: str) -> tuple[PreparedKernel, BesideGpu]:
    problem = load_problem("vector_add")
    prepared = engine._steps.prepare(problem, source, file_name="k.hip", target=None, work=Work())
    sandbox = BesideGpu(prepared.sandbox, state)
    return replace(prepared, target=GPU, sandbox=cast(Sandbox, sandbox)), sandbox


@pytest.mark.sandbox
@pytest.mark.usefixtures("sandbox", "node")
def test_a_kernel_with_a_loop_is_tried_once_on_the_emulator_and_one_without_is_not(engine: Engine) -> None:
    starts = engine._steps.first_starts
    plain, sandbox = on_gpu(engine, NAIVE, OF_A_HIVE)
    starts.admit(plain, Work())
    assert sandbox.kinds == [], "its code cannot but end"
    loops, sandbox = on_gpu(engine, looping("64"), ALONE)
    starts.admit(loops, Work())
    assert sandbox.kinds == ["look"]
    loops, sandbox = on_gpu(engine, looping("64"), OF_A_HIVE)
    starts.admit(loops, Work())
    assert sandbox.kinds.count("run") > 0
    before = len(sandbox.kinds)
    starts.admit(loops, Work())
    assert len(sandbox.kinds) == before, "it ended before"


@pytest.mark.sandbox
@pytest.mark.usefixtures("sandbox", "node")
def test_a_kernel_that_hangs_never_reaches_a_gpu_of_a_hive_and_a_comment_makes_it_no_other(engine: Engine) -> None:
    starts = engine._steps.first_starts
    hangs, _ = on_gpu(engine, looping("0"), OF_A_HIVE)
    with pytest.raises(InputError, match=r"did not end before \(timeout on emulator:gfx942\), and a reset of gpu1:0"):
        starts.admit(hangs, Work())
    commented, sandbox = on_gpu(engine, "\n\n// another comment\n" + looping("0 /* really */"), OF_A_HIVE)
    assert commented.compiled.result.code_object != hangs.compiled.result.code_object, "its debug data has other lines"
    with pytest.raises(InputError, match="did not end before"):
        starts.admit(commented, Work())
    assert "run" not in sandbox.kinds
    assert started_kernel(commented) == started_kernel(hangs) != started_kernel(on_gpu(engine, NAIVE, ALONE)[0])


@pytest.mark.sandbox
@pytest.mark.usefixtures("sandbox")
def test_a_kernel_for_a_gpu_that_slurm_gives_is_tried_on_this_machine(engine: Engine, tmp_path: Path) -> None:
    settings = engine._settings.model_copy(update={"cache_dir": tmp_path})
    prepared, given = on_gpu(engine, looping("64"), OF_A_HIVE)
    FirstStarts(settings, engine._sandboxes).admit(replace(prepared, target=OF_SLURM), Work())
    assert given.kinds == [], "no GPU was asked for"
    with pytest.raises(InputError, match=r"did not end before .* Slurm gives any of its GPUs"):
        engine._steps.first_starts.admit(replace(on_gpu(engine, looping("0"), ALONE)[0], target=OF_SLURM), Work())


@pytest.mark.sandbox
@pytest.mark.usefixtures("sandbox", "node")
def test_other_work_groups_are_another_start_and_a_plan_that_cannot_be_launched_is_none(engine: Engine) -> None:
    kernel, _ = on_gpu(engine, looping("64"), ALONE)
    more, _ = on_gpu(engine, looping("64").replace("grid=[1]", "grid=[2]"), ALONE)
    assert started_kernel(kernel) != started_kernel(more)
    assert started_kernel(replace(kernel, compiled=replace(kernel.compiled, code_object=None))) is None


@pytest.mark.sandbox
@pytest.mark.usefixtures("sandbox", "node")
def test_a_measured_run_that_did_not_end_is_noted_of_each_kernel_in_it(engine: Engine, tmp_path: Path) -> None:
    settings = engine._settings.model_copy(update={"cache_dir": tmp_path})
    starts = FirstStarts(settings, engine._sandboxes)
    kernels = [on_gpu(engine, source, OF_A_HIVE)[0] for source in (NAIVE, looping("64"))]
    ended, hung = (RunnerReport(None, (CaseReport(status, "", ()),)) for status in ("ok", "timeout"))
    starts.note_report(ended, *kernels)
    starts.note_report(None, *kernels)
    starts.admit(kernels[0], Work())
    starts.note_report(hung, *kernels)
    for each in kernels:
        with pytest.raises(InputError, match=r"did not end before \(timeout on gpu1:0\)"):
            starts.admit(each, Work())


class SickGpu:
    """Of a leased sandbox: it failed a kernel with a known answer after the run."""

    def __init__(self, name: str) -> None:
        self.name = name

    def quarantine(self) -> QuarantinedError:
        return QuarantinedError(self.name, self.name, "a kernel with a known answer did not end")


@pytest.mark.sandbox
@pytest.mark.usefixtures("sandbox", "node")
@pytest.mark.parametrize("step", ["64", "0"])
def test_a_gpu_that_is_found_sick_is_to_blame_for_a_kernel_that_ends_elsewhere(
    engine: Engine, tmp_path: Path, step: str
) -> None:
    starts = FirstStarts(engine._settings.model_copy(update={"cache_dir": tmp_path}), engine._sandboxes)
    kernel, sandbox = on_gpu(engine, looping(step), OF_A_HIVE)
    sick = replace(kernel, sandbox=cast(Sandbox, Sick(sandbox, SickGpu("gpu1:0"))))
    hung = RunnerReport(None, (CaseReport("timeout", "", ()),))
    if step == "0":  # the emulator says that it never ends: it may have made the GPU sick
        starts.note_report(hung, sick)
    else:
        for _ in range(2):  # two jobs that ran there at once
            with pytest.raises(QuarantinedError):
                starts.note_report(hung, sick)
            with pytest.raises(QuarantinedError):
                starts.note(sick, CheckResult(verdict="timeout", reason="no end"))
        starts.admit(kernel, Work())
        other = replace(sick, sandbox=cast(Sandbox, Sick(sandbox, SickGpu("gpu1:1"))))
        other = replace(other, target=replace(GPU, name="gpu1:1", index=1))
        starts.note_report(hung, other)  # a second GPU fell sick under it
    with pytest.raises(InputError, match="did not end before"):
        starts.admit(kernel, Work())


class Sick(LeasedSandbox):
    """A sandbox whose GPU is quarantined."""

    def __init__(self, sandbox: BesideGpu, gpu: SickGpu) -> None:
        super().__init__(cast(Sandbox, sandbox), cast(Any, gpu))


MAIN = b'#include <hip/hip_runtime.h>\nint main() { puts("it\'s /* no */ // comment"); return 0; }\n'


def program(source: bytes, *arguments: str) -> Program:
    return replace(sent_program(source.decode(), "main.hip"), arguments=arguments)


def test_a_program_is_known_without_its_comments_and_blanks() -> None:
    known = started_program(program(MAIN), "amdkernel run")
    same = b"/* new\n */\n" + MAIN.replace(b" {", b"\n{ // here it's\n\t").replace(b"\n{", b" {") + b"\n\n"
    assert started_program(program(MAIN.replace(b"; return", b";   return")), "amdkernel run") == known
    assert started_program(program(b"// new\n\n" + MAIN + b"  // end"), "amdkernel run") == known
    for other in (
        MAIN.replace(b"no */", b"yes */"),
        MAIN.replace(b"0", b"1"),
        MAIN[:-4],
        same.replace(b"main", b"mine"),
    ):
        assert started_program(program(other), "amdkernel run") != known
    assert started_program(program(MAIN, "--n", "5"), "amdkernel run") != known


@pytest.mark.parametrize("piece", [b'R"(', b"/*", b'\\"', b"'\\", b'"\\"', b"//\\\n", b'R"a(', b"* /"])
def test_no_source_takes_long_to_be_known(piece: bytes) -> None:
    text = piece * 200_000
    assert len(first_starts._plain(b"int a;" + text)) <= len(text) + 6


@pytest.mark.parametrize(
    ("code", "ended", "kinds", "verdict"),
    [
        (0, None, (), "correct"),
        (3, None, (), "correct"),  # its own business: it ended
        (TIMED_OUT, "the program was ended: it ran for more than 5 s", (), "timeout"),
        (TIMED_OUT, None, (), "correct"),
        (0, None, ("deadlock",), "deadlock"),
        (137, "the program was ended: it needed more memory than the sandbox has", (), None),
    ],
)
def test_how_a_program_ended(code: int, ended: str | None, kinds: tuple[FindingKind, ...], verdict: str | None) -> None:
    findings = [Finding(kind=kind, message="it never ends") for kind in kinds]
    answer = _ending(ProgramRun(code, ended), findings)
    assert (answer.verdict, answer.findings) == (verdict, findings)


@pytest.mark.parametrize(
    ("target", "message", "shown"),
    [
        (GPU, "the run passed its time", "timeout"),
        (EMULATOR, "k never ends: line 3", "timeout"),
        (EMULATOR, f"k was still running after 1,000,000,000 instructions: line 3{SLOW}", None),
    ],
)
def test_a_limit_that_the_emulator_reached_proves_no_hang(target: Target, message: str, shown: str | None) -> None:
    answer = CheckResult(verdict="timeout", findings=[Finding(kind="timeout", message=message)])
    assert first_starts._shown(answer, target) == shown
    assert first_starts._shown(CheckResult(verdict="timeout"), EMULATOR) is None
    assert first_starts._shown(CheckResult(verdict="correct"), EMULATOR) == "correct"


class Machine:
    """A sandbox that knows its GPU's files and runs nothing."""

    def run(self, kind: str, *_: object, **__: object) -> Completed:
        assert kind == "look", "it was started"
        return Completed(0, {}, OF_A_HIVE, False, False, False, 0.0)


@pytest.mark.usefixtures("node")
def test_a_program_that_is_not_known_to_end_asks_and_one_that_hung_is_refused(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = settings.model_copy(update={"cache_dir": tmp_path / "cache", "data_dir": tmp_path / "data"})
    engine = Engine(own)
    steps, machine = engine._steps, engine._sandboxes
    monkeypatch.setattr(machine, "of", lambda _: Machine())
    monkeypatch.setattr(steps, "target", lambda _: GPU)
    means = cast(Means, SimpleNamespace(steps=steps, sandboxes=machine, work=Work(),
                                        recorder=SimpleNamespace(warm_up=lambda: None)))  # fmt: skip
    run = Run(program=program(MAIN), on_output=lambda *_: None)
    check = CheckProgram(problem="vector_add", source=MAIN.decode())
    for asked, how in ((run, "amdkernel run --hang"), (check, "amdkernel check-program --hang")):
        with pytest.raises(InputError, match="not known whether this program ends") as error:
            asked.do(means)
        assert how in (error.value.hint or "")
    steps.first_starts.note_program(
        started_program(program(MAIN), "amdkernel run"), CheckResult(verdict="timeout"), GPU
    )
    with pytest.raises(InputError, match="this program did not end before"):
        run.do(means)
    with pytest.raises(InputError, match="--hang works without --url"):
        replace(check, hang=True).options_of_tool()
