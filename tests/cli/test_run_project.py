"""`amdkernel run --dir`: a project is built and run in the sandbox as it is, and its files are brought back."""

import os
import time
from pathlib import Path

import pytest

from amdkernel_mcp.cli.main import run
from amdkernel_mcp.execution.runner import program_files
from tests.cli.run_command import amdkernel_run

pytestmark = pytest.mark.sandbox

MAIN = """#include <cstdio>
#include <hip/hip_runtime.h>
#include "sizes.h"
void fill(int* x);
int main(int count, char** words) {
  int *x, seen = 0;
  if (hipMalloc(&x, SIZE * 4)) return 90;
  fill(x);
  if (hipMemcpy(&seen, x + SIZE - 1, 4, hipMemcpyDeviceToHost)) return 92;
  std::FILE* input = std::fopen("data/input.txt", "r");
  std::FILE* output = std::fopen("result.txt", "w");
  std::fprintf(output, "%d %c %s\\n", seen, input ? std::fgetc(input) : '-', count > 1 ? words[1] : "");
  std::fclose(output);
  std::puts("done");
  return 5;
}
"""
FILL = """#include <hip/hip_runtime.h>
#include "../inc/sizes.h"
__global__ void set(int* x) {
  x[threadIdx.x + EXTRA] = 7;
}
void fill(int* x) { set<<<1, SIZE>>>(x); }
"""
MAKEFILE = """CXXFLAGS += -Iinc
reach: main.o src/fill.o
\thipcc -o $@ $^
%.o: %.hip inc/sizes.h
\thipcc $(CXXFLAGS) -O2 -c -o $@ $<
variable:
\t@printf '%s\\n' "$$CXX"; exit 1
fails:
\t@printf 'no \\033[31mred\\033[0m\\n'; exit 125
"""

CMAKE = {
    "HIP as a language": """cmake_minimum_required(VERSION 3.21)
project(reach LANGUAGES CXX HIP)
add_executable(reach main.hip src/fill.hip)
target_include_directories(reach PRIVATE inc)
""",
    "the package of HIP": """cmake_minimum_required(VERSION 3.21)
project(reach LANGUAGES CXX)
find_package(hip REQUIRED CONFIG)
set_source_files_properties(main.hip src/fill.hip PROPERTIES LANGUAGE CXX)
add_executable(reach main.hip src/fill.hip)
target_include_directories(reach PRIVATE inc)
target_link_libraries(reach hip::device)
""",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "reach"
    for name, text in {
        "Makefile": MAKEFILE,
        "main.hip": MAIN,
        "src/fill.hip": FILL,
        "inc/sizes.h": "#define SIZE 64\n#define EXTRA 0\n",
        "data/input.txt": "I",
        ".git/config": "not sent\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.thorough
def test_a_project_is_built_by_its_makefile_and_its_files_are_brought_back(project: Path, tmp_path: Path) -> None:
    ended = amdkernel_run("--dir", "reach", "--make", "reach", "--out", "results", "./reach", "seven")
    assert (ended.returncode, ended.stdout) == (5, "done\n"), ended.stderr
    assert "hipcc -Iinc -O2 -c -o main.o main.hip" in ended.stderr
    assert (tmp_path / "results/result.txt").read_text() == "7 I seven\n"
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["reach", "result.txt"]
    assert not os.access(tmp_path / "results/reach", os.X_OK), "nothing from a sandbox can be executed by accident"
    assert not (project / "reach").exists(), "the project itself is not touched"


@pytest.mark.thorough
def test_findings_name_the_projects_files_and_the_target_is_the_program(project: Path) -> None:
    (project / "inc/sizes.h").write_text("#define SIZE 64\n#define EXTRA 1\n")
    ended = amdkernel_run("--dir", "reach", "--make", "reach")
    assert ended.returncode == 5, ended.stderr
    assert "amdkernel: reach/src/fill.hip:4: out_of_bounds: writes 4 bytes at byte 256" in ended.stderr


@pytest.mark.thorough
def test_sources_in_a_folder_keep_their_places(project: Path) -> None:
    ended = amdkernel_run("--dir", project, "main.hip", "src/fill.hip", "-I", "inc", "--", "x")
    assert (ended.returncode, ended.stdout) == (5, "done\n"), ended.stderr


@pytest.mark.thorough
def test_make_builds_what_is_older_than_its_source_and_no_more(project: Path) -> None:
    """The object was made for another machine: used as it is while it is newer, made again when it is older."""
    (project / "main.c").write_text("int main(void) { return 5; }\n")
    (project / "Makefile").write_text("reach: main.o\n\tclang -o $@ $^\nmain.o: main.c\n\tclang -c -o $@ $<\n")
    stale = project / "main.o"
    stale.write_text("no object\n")
    os.utime(stale, (time.time() + 60, time.time() + 60))
    newer = amdkernel_run("--dir", "reach", "--make", "reach")
    assert (newer.returncode, newer.stdout) == (1, ""), "main.o is up to date, so it is linked"
    os.utime(stale, (1, 1))
    older = amdkernel_run("--dir", "reach", "--make", "reach")
    assert older.returncode == 5, older.stderr


@pytest.mark.usefixtures("project")
def test_a_build_that_fails_is_a_bad_answer_and_its_output_is_escaped() -> None:
    ended = amdkernel_run("--dir", "reach", "--make", "fails", "./reach")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert r"no \x1b[31mred\x1b[0m" in ended.stderr
    assert "\x1b" not in ended.stderr
    assert "make failed with exit code 2" in ended.stderr


@pytest.mark.usefixtures("project")
def test_variables_of_the_program_reach_its_build_too() -> None:
    ended = amdkernel_run("--dir", "reach", "--make", "variable", "--env", "CXX=hip cc;$x", "./reach")
    assert ended.stderr.startswith("hip cc;$x\n"), ended.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--make", "all", "./reach"], "--dir PROJECT"),
        (["--dir", "reach"], "no program is given"),
        (["--dir", "reach", "./missing"], "the project has no program missing"),
        (["--dir", "reach", "main.hip", "src/missing.hip"], "the project has no source file src/missing.hip"),
        (["--dir", "missing", "./reach"], "there is no such folder"),
        (["--dir", "reach/src", "--make", "all", "./reach"], "neither a Makefile nor CMakeLists.txt"),
        (["--dir", "reach", "--make", "all", "--out", "reach", "./reach"], "--out needs a new or empty folder"),
        (["--dir", "reach", "--make", "all", "--flag=-O3", "./reach"], "compiler flags and -I need a source file"),
        (["reach/main.hip", "-I", "missing"], "there is no such folder"),
        ([], "no program is given"),
    ],
)
def test_a_project_that_cannot_be_used_is_wrong_input(
    project: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert project.is_dir()
    assert run(["run", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_over_the_limits_is_wrong_input_and_names_the_limit(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program_files, "MAX_FOLDER_FILES", 4)
    assert run(["run", "--dir", "reach", "--make", "reach"]) == 2
    assert "the folder has more than 4 files or 256 MiB" in capsys.readouterr().err
    assert run(["run", "-I", "reach", "reach/main.hip"]) == 2
    (project / "data/secret").symlink_to("/etc/hostname")
    monkeypatch.setattr(program_files, "MAX_FOLDER_FILES", 400)
    assert run(["run", "--dir", "reach", "--make", "reach"]) == 2
    assert "secret: this link leads out of the folder" in capsys.readouterr().err


@pytest.mark.thorough
@pytest.mark.parametrize(
    "lists",
    [
        pytest.param(CMAKE["HIP as a language"], id="HIP as a language"),
        pytest.param(CMAKE["the package of HIP"], id="the package of HIP"),
    ],
)
def test_a_project_is_built_by_its_cmake(project: Path, lists: str) -> None:
    (project / "Makefile").unlink()
    (project / "CMakeLists.txt").write_text(lists)
    ended = amdkernel_run("--dir", "reach", "--make", "reach", "./reach")
    assert (ended.returncode, ended.stdout) == (5, "done\n"), ended.stderr


def test_a_file_of_kernels_is_called_that(tmp_path: Path) -> None:
    (tmp_path / "kernel.hip").write_text("__global__ void k(float* x) { x[0] = 1; }\n")
    ended = amdkernel_run(tmp_path / "kernel.hip")
    assert ended.returncode == 1
    assert "it has no main: check a file of kernels with `amdkernel check PROBLEM FILE`" in ended.stderr
