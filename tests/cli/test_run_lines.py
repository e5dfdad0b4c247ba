"""Findings of `amdkernel run` name file and line: of a second source, of a header, of a program built with -g."""

import re
from pathlib import Path

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox
from tests.cli.run_command import amdkernel_run

pytestmark = pytest.mark.sandbox

FILES = {
    "main.hip": """#include <hip/hip_runtime.h>
void second(int* x, bool calls);
int main(int count, char**) {
  int* x;
  if (hipMalloc(&x, 256)) return 90;
  second(x, count > 1);
  (void)hipDeviceSynchronize();
  return hipFree(x) ? 91 : 0;
}
""",
    "src/second.hip": """#include "inner/store.h"
__global__ void shift(int* x) { x[threadIdx.x + 8] = 1; }
__global__ void stray(int* x) {
  store(x);
}
static volatile int failed;
void second(int* x, bool calls) {
  if (calls) {
    if (hipMemset(x, 0, 300)) failed = 1;
    return;
  }
  shift<<<1, 64>>>(x);
  stray<<<1, 64>>>(x);
}
""",
    "src/inner/store.h": """#include <hip/hip_runtime.h>
static __device__ void store(int* x) {

  atomicAdd(x + threadIdx.x + 1, 2);
}
""",
}
BUILD = "hipcc --offload-arch=gfx942 {flags} -o $OUT/stray main.hip src/second.hip"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def places(said: str) -> list[str]:
    return re.findall(r"^amdkernel: (\S+:\d+): out_of_bounds: ", said, re.MULTILINE)


@pytest.mark.thorough
@pytest.mark.usefixtures("project")
def test_sources_and_headers_are_named_as_the_user_named_them() -> None:
    ended = amdkernel_run("main.hip", "src/second.hip", "-I", "src")
    assert places(ended.stderr) == ["src/second.hip:2", "src/inner/store.h:4"], ended.stderr
    assert "called from line 4 of src/second.hip" in ended.stderr
    assert "(made in line 5 of main.hip)" in ended.stderr


@pytest.mark.thorough
@pytest.mark.usefixtures("project")
def test_a_source_is_named_as_well_where_a_check_stops_the_kernel() -> None:
    ended = amdkernel_run("main.hip", "src/second.hip", "-I", "src", "--check")
    assert "src/second.hip:2" in places(ended.stderr), ended.stderr


@pytest.mark.thorough
def test_sources_of_absolute_paths_are_named_so(project: Path) -> None:
    absolute = amdkernel_run(project / "main.hip", project / "src/second.hip", "-I", project / "src")
    assert f"{project}/src/inner/store.h:4" in places(absolute.stderr), absolute.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("flags", ["-g -O2", "-gdwarf-4 -O1", "-gline-tables-only"])
def test_a_built_program_names_the_files_of_its_debug_data(project: Path, sandbox: Sandbox, flags: str) -> None:
    files = {name: text.encode() for name, text in FILES.items()}
    done = sandbox.run("compile", ["sh", "-c", BUILD.format(flags=flags)], files, timeout_s=100)
    assert done.exit_code == 0, done.stderr
    (project / "stray").write_bytes(done.files["stray"])
    ended = amdkernel_run("./stray")
    assert places(ended.stderr) == ["src/second.hip:2", "src/inner/store.h:4"], ended.stderr


@pytest.mark.thorough
@pytest.mark.usefixtures("project")
def test_a_call_of_the_program_is_reported_in_its_own_file() -> None:
    ended = amdkernel_run("main.hip", "src/second.hip", "-I", "src", "--races", "--", "calls")
    line = FILES["src/second.hip"].splitlines().index("    if (hipMemset(x, 0, 300)) failed = 1;") + 1
    assert places(ended.stderr) == [f"src/second.hip:{line}"], ended.stderr
