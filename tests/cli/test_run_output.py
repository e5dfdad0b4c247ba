"""`amdkernel run`: what a program printed before its time was up is passed on, without its help."""

import subprocess
from pathlib import Path

import pytest

from tests.cli.run_command import COMMAND, amdkernel_run

pytestmark = pytest.mark.sandbox

WITHOUT_HIP = """
#include <unistd.h>
#include <cstdio>
#include <iostream>
int main() {
  std::printf("by printf\\n");
  std::cout << "by iostream\\n";
  for (;;) pause();
}
"""
WITH_HIP = """
#include <hip/hip_runtime.h>
#include <unistd.h>
#include <iostream>
__global__ void print() { printf("by a kernel\\n"); }
struct Early { Early() { std::cout << "before main\\n"; } } early;
int main() {
  print<<<1, 1>>>();
  (void)hipDeviceSynchronize();
  for (;;) pause();
}
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("program", "printed"),
    [
        pytest.param(WITHOUT_HIP, "by printf\nby iostream\n", id="without HIP", marks=pytest.mark.thorough),
        pytest.param(WITH_HIP, "before main\nby a kernel\n", id="with HIP"),
    ],
)
def test_lines_that_a_program_printed_before_its_time_was_up_are_passed_on(
    tmp_path: Path, program: str, printed: str
) -> None:
    source = tmp_path / "forever.hip"
    source.write_text(program)
    ended = amdkernel_run(source, "--timeout", "4")
    assert (ended.returncode, ended.stdout) == (124, printed), ended.stderr


@pytest.mark.thorough
def test_output_that_cannot_be_written_is_the_infrastructures_fault(tmp_path: Path) -> None:
    source = tmp_path / "print.hip"
    source.write_text('#include <cstdio>\nint main() { std::puts("a line"); }\n')
    script = f"exec {COMMAND} run {source} >/dev/full"
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 3, ended.stderr
    assert "amdkernel: the program's output cannot be written: No space left on device" in ended.stderr
    assert "internal error" not in ended.stderr
