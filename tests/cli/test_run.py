"""`amdkernel run`: the program's arguments, files, streams and exit code are its own."""

import subprocess
from pathlib import Path

import pytest

from tests.cli.run_command import COMMAND, amdkernel_run
from tests.waiting import AT_MOST_S

pytestmark = pytest.mark.sandbox

PROGRAM = """
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include "amount.h"
__global__ void add(int* x) { *x += AMOUNT; }
int main(int count, char** words) {
  int* x;
  if (hipMallocManaged(&x, sizeof *x)) return 90;
  *x = 0;
  add<<<1, 1>>>(x);
  if (hipDeviceSynchronize()) return 91;
  for (int i = 1; i < count; i++) std::printf("[%s]", words[i]);
  std::fprintf(stderr, "to stderr\\n");
  std::FILE* file = std::fopen("table.bin", "rb");
  std::printf(" %d %c", *x, file ? std::fgetc(file) : '-');
  std::fflush(stdout);
  if (count > 1 && words[1][0] == 'a') std::abort();
  return *x;
}
"""


def built(source: Path) -> Path:
    """The program of a source that several runs share."""
    ended = amdkernel_run("--dir", source.parent, source.name, "--out", source.parent / "built", "--", "built")
    assert (source.parent / "built/program").exists(), ended.stderr
    return source.parent / "built/program"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "amount.h").write_text("#define AMOUNT (40 + MORE)\n")
    (tmp_path / "table.bin").write_bytes(b"T\0")
    (tmp_path / "add.hip").write_text(PROGRAM)
    return tmp_path / "add.hip"


def beside(source: Path) -> list[object]:
    return ["--flag=-DMORE=2", "--file", source.parent / "amount.h", "--file", source.parent / "table.bin"]


def test_a_source_is_compiled_and_its_program_gets_arguments_files_and_both_streams(source: Path) -> None:
    ended = amdkernel_run(source, "one", "-n", "2 3", *beside(source), "--target", "emulator:gfx942", "--", "--devices")
    assert ended.stdout == "[one][-n][2 3][--devices] 42 T"
    assert ended.stderr == "to stderr\n"
    assert ended.returncode == 42


@pytest.mark.thorough
def test_a_program_that_a_signal_ends_has_the_code_of_a_shell(source: Path) -> None:
    ended = amdkernel_run(source, "abort", *beside(source))
    assert ended.stdout == "[abort] 42 T"
    assert ended.returncode == 128 + 6


def test_a_source_that_does_not_compile_is_a_bad_answer(source: Path) -> None:
    ended = amdkernel_run(source, "--flag=-DMORE=oops", "--file", source.parent / "amount.h")
    assert ended.returncode == 1
    assert "oops" in ended.stderr
    assert "it does not compile" in ended.stderr


@pytest.mark.thorough
def test_a_program_that_does_not_end_is_ended(tmp_path: Path) -> None:
    source = tmp_path / "forever.hip"
    source.write_text(
        "#include <cstdio>\n#include <unistd.h>\n"
        'int main() { std::puts("begun"); std::fflush(stdout); for (;;) pause(); }\n'
    )
    ended = amdkernel_run(source, "--timeout", "2")
    assert ended.stdout == "begun\n"
    assert ended.returncode == 124
    assert "it ran for more than 2 s" in ended.stderr


def test_what_is_no_program_is_wrong_input(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("no program\n")
    for words in ([text], [tmp_path / "nothing"], [text, "--devices", "0"]):
        assert amdkernel_run(*words).returncode == 2


DEVICES = """
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
int main() {
  int count = -1, status = hipGetDeviceCount(&count);
  std::printf("%d %d:", status, count);
  for (int i = 0; i < count; i++) {
    char bus[32];
    if (hipDeviceGetPCIBusId(bus, sizeof bus, i)) return 90;
    std::printf(" %s", bus + 5);
  }
  if (!count) std::printf(" %d %d", hipSetDevice(0), hipDeviceSynchronize());
  std::printf("|%s", std::getenv("GREETING") ? std::getenv("GREETING") : "-");
  std::printf("|%s", std::getenv("HOME_TOWN") ? std::getenv("HOME_TOWN") : "-");
}
"""


@pytest.mark.thorough
@pytest.mark.timeout(300)
def test_a_program_sees_the_devices_and_variables_that_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "devices.hip"
    source.write_text(DEVICES)
    monkeypatch.setenv("HOME_TOWN", "not passed on")
    program = built(source)
    seen = lambda *words: amdkernel_run(program, "--devices", "4", *words).stdout  # noqa: E731
    assert seen("--env", "GREETING=a b;$c") == "0 4: 01:00.0 02:00.0 03:00.0 04:00.0|a b;$c|-"
    assert seen("--env", "HIP_VISIBLE_DEVICES=2,0,7,1") == "0 2: 03:00.0 01:00.0|-|-"
    monkeypatch.setenv("ROCR_VISIBLE_DEVICES", "3,1,2")
    assert seen("--env", "HIP_VISIBLE_DEVICES=1") == "0 1: 02:00.0|-|-"
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "-1")
    assert seen() == "100 0: 100 100|-|-"


def test_variables_that_are_the_sandboxs_own_are_wrong_input(tmp_path: Path) -> None:
    source = tmp_path / "devices.hip"
    source.write_text(DEVICES)
    for item in ("NOTHING", "1A=2", "A-B=c", "LD_PRELOAD=x.so", "AMDKERNEL_EMULATOR_OPTIONS=arch=gfx90a", "=x"):
        ended = amdkernel_run(source, "--env", item)
        assert ended.returncode == 2, item
        assert item.split("=")[0] in ended.stderr


ECHO = """
#include <cstdio>
#include <cstdlib>
int main(int count, char**) {
  int n, sum = 0;
  std::puts("ready");
  std::fflush(stdout);
  if (count > 1) return 4;
  while (std::scanf("%d", &n) == 1) sum += n;
  std::printf("%d\\n", sum);
}
"""


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("echo")
    (tmp_path / "echo.hip").write_text(ECHO)
    return built(tmp_path / "echo.hip")


@pytest.mark.thorough
def test_what_is_piped_in_reaches_the_program_and_its_runs_in_other_orders(echo: Path) -> None:
    numbers = "".join(f"{n}\n" for n in range(50_000))
    words = [COMMAND, "run", str(echo), "--schedules", "1"]
    ended = subprocess.run(words, input=numbers, capture_output=True, text=True, timeout=AT_MOST_S, check=False)
    assert ended.stdout == f"ready\n{sum(range(50_000))}\n"
    assert ended.returncode == 0, ended.stderr


@pytest.mark.thorough
def test_input_comes_while_the_program_runs_and_need_neither_end_nor_be_read(echo: Path) -> None:
    with subprocess.Popen([COMMAND, "run", str(echo)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdin
        assert run.stdout
        assert run.stdout.readline() == "ready\n"
        run.stdin.write("40\n2\n")
        run.stdin.close()
        assert run.stdout.read() == "42\n"
    with subprocess.Popen([COMMAND, "run", str(echo), "go"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.wait(timeout=AT_MOST_S) == 4
