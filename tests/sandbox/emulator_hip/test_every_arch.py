"""What kernels call of HIP's device library, on every architecture and from unoptimised to optimised code."""

from pathlib import Path

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]

FOLDER = Path(__file__).parent / "every_arch"
EXPECT = Path(__file__).parents[1] / "emulator" / "programs" / "expect.h"
PROGRAMS = sorted(file.stem for file in FOLDER.glob("*.hip"))
# At -O0 the compiler cannot build these for RDNA: it wants GWS on gfx1201, and shifts across whole waves.
IN_GATE = {("gfx942", 3), ("gfx1201", 1)}
BUILDS = [
    pytest.param(*build, marks=() if build in IN_GATE else pytest.mark.thorough)
    for build in (("gfx90a", 0), ("gfx942", 3), ("gfx950", 1), ("gfx1100", 3), ("gfx1201", 1))
]

BUILD = """
hipcc -O{level} --offload-arch={arch} {narrow} -Wno-unused-result -Wno-unused-command-line-argument \\
    {program}.hip -o $OUT/{program}
"""
RUN = """
chmod +x {program}
export LD_LIBRARY_PATH=/opt/amdkernel/emulator AMDKERNEL_EMULATOR_OPTIONS=arch={arch},arena_mb=4096{checks}
timeout 200 ./{program} >$OUT/printed 2>&1
"""


def run(sandbox: Sandbox, program: str, arch: str, level: int, checks: str = "") -> str:
    """What the program printed."""
    files = {EXPECT.name: EXPECT.read_bytes(), f"{program}.hip": (FOLDER / f"{program}.hip").read_bytes()}
    narrow = "" if arch.startswith("gfx9") else "-DNARROW"
    script = BUILD.format(program=program, arch=arch, level=level, narrow=narrow)
    made = sandbox.run("compile", ["sh", "-c", script], files, timeout_s=200)
    assert made.exit_code == 0, made.stderr
    script = RUN.format(program=program, arch=arch, checks=checks)
    return sandbox.run("run", ["sh", "-c", script], dict(made.files), timeout_s=300).files["printed"].decode()


@pytest.mark.thorough
@pytest.mark.parametrize(("arch", "level"), BUILDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_device_code_does_what_it_does_on_the_host(sandbox: Sandbox, program: str, arch: str, level: int) -> None:
    printed = run(sandbox, program, arch, level)
    assert "\nPASS\n" in f"\n{printed}", printed


def test_a_grid_that_meets_in_global_wave_sync_has_no_races(sandbox: Sandbox) -> None:
    printed = run(sandbox, "cooperative_groups", "gfx90a", 3, ",check=1,races=1")
    assert printed.strip().splitlines() == ["PASS"]
