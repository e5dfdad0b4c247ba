"""Our own programs, one for each class of HIP programs: built by the sandbox's hipcc, run by `amdkernel run`."""

import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from amdkernel_mcp.execution.hosts import EMULATED
from amdkernel_mcp.execution.sandbox import Sandbox
from tests.cli.run_command import amdkernel_run
from tests.one_in import one_in

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

FOLDER = Path(__file__).parent / "programs"
PROGRAMS = sorted(file.stem for file in FOLDER.glob("*.hip"))
BUFFERED = "printf_buffered"
DEVICES = {"devices": "2"}
FLAGS = {"openmp": "-fopenmp", BUFFERED: "-mprintf-kind=buffered -DBUFFERED"}
IN_GATE = "gfx1201"
PROGRAMS_IN_GATE = ("assertion", "printf")
OTHER_PROGRAMS = [program for program in (*PROGRAMS, BUFFERED) if program not in PROGRAMS_IN_GATE]
OTHER_ARCHS = [
    pytest.param(arch, marks=() if arch == IN_GATE else pytest.mark.thorough)
    for arch in sorted(set(EMULATED) - {"gfx942"})
]

# HIP 7 has hipRTC in a library of its own; programs that do not use it do not get to need it.
BUILD = """
hipcc -O1 --offload-arch=gfx942 -Wno-unused-result -pthread -o "$OUT/{name}" {program}.hip {flags} \\
  -Wl,--push-state,--as-needed -lhiprtc -Wl,--pop-state
"""
BUILD_GRID_SYNC = "hipcc -O1 --offload-arch={arch} -Wno-unused-result -pthread -o $OUT/grid_sync grid_sync.hip"

Ended = subprocess.CompletedProcess[str]


def sources() -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in FOLDER.iterdir()}


@pytest.fixture(scope="module")
def ended_run(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Ended]:
    """How a program ended; each is built and runs once."""
    folder = tmp_path_factory.mktemp("programs")

    @cache
    def ended(name: str) -> Ended:
        program = "printf" if name == BUFFERED else name
        build = BUILD.format(name=name, program=program, flags=FLAGS.get(name, ""))
        done = sandbox.run("compile", ["sh", "-c", build], sources(), timeout_s=200)
        assert done.exit_code == 0, done.stderr
        (folder / name).write_bytes(done.files[name])
        return amdkernel_run(folder / name, "--devices", DEVICES.get(name, "1"))

    return ended


@pytest.mark.timeout(1500)
@pytest.mark.parametrize(
    "program",
    [
        *PROGRAMS_IN_GATE,
        *one_in(2, (pytest.param(each, marks=pytest.mark.thorough) for each in OTHER_PROGRAMS)),
    ],
)
def test_a_program_runs_to_its_own_pass(ended_run: Callable[[str], Ended], program: str) -> None:
    ended = ended_run(program)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.endswith("PASS\n"), ended.stdout + ended.stderr
    assert "version information" not in ended.stderr, "the loader knows the versions of all symbols"


@pytest.mark.thorough
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("arch", OTHER_ARCHS)
def test_a_grid_synchronises_in_each_archs_own_way(sandbox: Sandbox, tmp_path: Path, arch: str) -> None:
    done = sandbox.run("compile", ["sh", "-c", BUILD_GRID_SYNC.format(arch=arch)], sources(), timeout_s=200)
    assert done.exit_code == 0, done.stderr
    (tmp_path / "grid_sync").write_bytes(done.files["grid_sync"])
    ended = amdkernel_run(tmp_path / "grid_sync", "--target", f"emulator:{arch}")
    assert (ended.returncode, ended.stdout) == (0, "PASS\n"), ended.stdout + ended.stderr


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("program", ["printf", pytest.param(BUFFERED, marks=pytest.mark.thorough)])
def test_printf_of_kernels_comes_out_as_that_of_the_host(ended_run: Callable[[str], Ended], program: str) -> None:
    lines = ended_run(program).stdout.splitlines()
    assert lines[:3] == [
        f"lane {lane} of a wave: {1.5 * lane:5.2f} ff {'abc'[lane]} %|{lane:<6}|000042|+7" for lane in range(3)
    ]
    assert lines[3:6] == [
        "-5000000000 18446744073709551615 -3 7 a text that is longer than one packet of eight words can be 0x1234",
        "    1|2   |3.1",
        "no argument",
    ]


@pytest.mark.timeout(1500)
def test_a_failed_assertion_reports_what_and_where(ended_run: Callable[[str], Ended]) -> None:
    ended = ended_run("assertion")
    assert 'assertion.hip:7: void check(int): Device-side assertion `n < 5 && "too many"\' failed.' in ended.stderr
    assert "trap in kernel check(int), workgroup (0, 0, 0), wave 0" in ended.stderr
    assert ended.stderr.count("assertion.hip:7:") == 200, "every thread of all four waves prints its own line"


@pytest.mark.thorough
@pytest.mark.timeout(1500)
def test_a_process_may_end_while_a_kernel_does_not(ended_run: Callable[[str], Ended]) -> None:
    ended = ended_run("unfinished")
    assert "printed before the end" in ended.stdout
    assert "the process ends, but 1 items of work in its streams have not finished" in ended.stderr


@pytest.mark.thorough
@pytest.mark.timeout(1500)
def test_an_unsupported_call_is_named_once(ended_run: Callable[[str], Ended]) -> None:
    stderr = ended_run("unsupported_calls").stderr
    assert stderr.count("hipMallocArray is not supported: textures, surfaces and arrays need image instructions") == 1
    assert "hipIpcGetEventHandle is not supported" in stderr
    assert "store of 4 bytes of global memory at offset 2097152 of allocation 1, which has 400 bytes" in stderr


@pytest.mark.thorough
@pytest.mark.timeout(1500)
def test_a_pointer_that_no_kernel_may_follow_is_reported_as_what_it_is(ended_run: Callable[[str], Ended]) -> None:
    places = [line for line in ended_run("foreign_pointers").stderr.splitlines() if " at address " in line]
    assert ["of the host" in line for line in places] == [True, True, True, False, False]
    assert places[3].endswith("at address 0x0, a null pointer or close to one")
    assert places[4].endswith("at address 0x100000000000, far from every allocation")
