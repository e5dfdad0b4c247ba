"""Our own programs, one for each class of HIP programs: built by the sandbox's hipcc, run by `amdkernel run`."""

import subprocess
import sys
from pathlib import Path

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.execution.targets import EMULATED

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

COMMAND = str(Path(sys.executable).with_name("amdkernel"))
FOLDER = Path(__file__).parent / "programs"
PROGRAMS = sorted(file.stem for file in FOLDER.glob("*.hip"))
BUFFERED = "printf_buffered"
DEVICES = {"devices": "2"}
FLAGS = {"openmp": "-fopenmp"}
OTHER_ARCHS = sorted(set(EMULATED) - {"gfx942"})

BUILD = f"""
# HIP 7 has hipRTC in a library of its own; programs that do not use it do not get to need it.
build() {{
  hipcc -O1 --offload-arch=gfx942 -Wno-unused-result -pthread -o "$OUT/$2" "$1.hip" $3 \\
    -Wl,--push-state,--as-needed -lhiprtc -Wl,--pop-state
}}
for program in {" ".join(sorted({*PROGRAMS} - {*FLAGS}))}; do build $program $program || exit 1; done
{" && ".join(f"build {program} {program} {flags}" for program, flags in FLAGS.items())} || exit 1
build printf {BUFFERED} "-mprintf-kind=buffered -DBUFFERED"
for arch in {" ".join(OTHER_ARCHS)}; do build grid_sync grid_sync_$arch --offload-arch=$arch; done
"""


def amdkernel_run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, "run", *arguments], capture_output=True, text=True, timeout=350, check=False)


@pytest.fixture(scope="session")
def built(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all programs."""
    files = {file.name: file.read_bytes() for file in FOLDER.iterdir()}
    done = sandbox.run("compile", ["sh", "-c", BUILD], files, timeout_s=1200)
    assert done.exit_code == 0, done.stderr
    folder = tmp_path_factory.mktemp("programs")
    for name, content in done.files.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("program", [*PROGRAMS, BUFFERED])
def test_a_program_runs_to_its_own_pass(built: Path, program: str) -> None:
    ended = amdkernel_run(str(built / program), "--devices", DEVICES.get(program, "1"))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.endswith("PASS\n"), ended.stdout + ended.stderr
    assert "version information" not in ended.stderr, "the loader knows the versions of all symbols"


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("arch", OTHER_ARCHS)
def test_a_grid_synchronises_in_each_archs_own_way(built: Path, arch: str) -> None:
    ended = amdkernel_run(str(built / f"grid_sync_{arch}"), "--target", f"emulator:{arch}")
    assert (ended.returncode, ended.stdout) == (0, "PASS\n"), ended.stdout + ended.stderr


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("program", ["printf", BUFFERED])
def test_printf_of_kernels_comes_out_as_that_of_the_host(built: Path, program: str) -> None:
    lines = amdkernel_run(str(built / program)).stdout.splitlines()
    assert lines[:3] == [
        f"lane {lane} of a wave: {1.5 * lane:5.2f} ff {'abc'[lane]} %|{lane:<6}|000042|+7" for lane in range(3)
    ]
    assert lines[3:6] == [
        "-5000000000 18446744073709551615 -3 7 a text that is longer than one packet of eight words can be 0x1234",
        "    1|2   |3.1",
        "no argument",
    ]


@pytest.mark.timeout(1500)
def test_a_failed_assertion_reports_what_and_where(built: Path) -> None:
    ended = amdkernel_run(str(built / "assertion"))
    assert 'assertion.hip:7: void check(int): Device-side assertion `n < 5 && "too many"\' failed.' in ended.stderr
    assert "trap in kernel check(int), workgroup (0, 0, 0), wave 0" in ended.stderr
    assert ended.stderr.count("assertion.hip:7:") == 200, "every thread of all four waves prints its own line"


@pytest.mark.timeout(1500)
def test_a_process_may_end_while_a_kernel_does_not(built: Path) -> None:
    ended = amdkernel_run(str(built / "unfinished"))
    assert "printed before the end" in ended.stdout
    assert "the process ends, but 1 items of work in its streams have not finished" in ended.stderr


@pytest.mark.timeout(1500)
def test_an_unsupported_call_is_named_once(built: Path) -> None:
    stderr = amdkernel_run(str(built / "unsupported_calls")).stderr
    assert stderr.count("hipMallocArray is not supported: textures, surfaces and arrays need image instructions") == 1
    assert "hipIpcGetEventHandle is not supported" in stderr
    assert "store of 4 bytes of global memory at offset 2097152 of allocation 1, which has 400 bytes" in stderr


@pytest.mark.timeout(1500)
def test_a_pointer_that_no_kernel_may_follow_is_reported_as_what_it_is(built: Path) -> None:
    places = [
        line for line in amdkernel_run(str(built / "foreign_pointers")).stderr.splitlines() if " at address " in line
    ]
    assert ["of the host" in line for line in places] == [True, True, True, False, False]
    assert places[3].endswith("at address 0x0, a null pointer or close to one")
    assert places[4].endswith("at address 0x100000000000, far from every allocation")
