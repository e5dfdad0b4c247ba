"""`amdkernel run`: the program's arguments, files, streams and exit code are its own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.sandbox

COMMAND = str(Path(sys.executable).with_name("amdkernel"))

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


def amdkernel_run(*arguments: object) -> subprocess.CompletedProcess[str]:
    words = [COMMAND, "run", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=110, check=False)


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


def test_a_program_that_a_signal_ends_has_the_code_of_a_shell(source: Path) -> None:
    ended = amdkernel_run(source, "abort", *beside(source))
    assert ended.stdout == "[abort] 42 T"
    assert ended.returncode == 128 + 6


def test_a_source_that_does_not_compile_is_a_bad_answer(source: Path) -> None:
    ended = amdkernel_run(source, "--flag=-DMORE=oops", "--file", source.parent / "amount.h")
    assert ended.returncode == 1
    assert "oops" in ended.stderr
    assert "it does not compile" in ended.stderr


def test_a_program_that_does_not_end_is_ended(tmp_path: Path) -> None:
    source = tmp_path / "forever.hip"
    source.write_text('#include <cstdio>\nint main() { std::puts("begun"); std::fflush(stdout); for (;;) {} }\n')
    ended = amdkernel_run(source, "--timeout", "2")
    assert ended.stdout == "begun\n"
    assert ended.returncode == 124
    assert "it ran for more than 2 s" in ended.stderr


HANG = """
#include <hip/hip_runtime.h>
#include <cstdio>
template <typename T> __global__ void locked(T* lock, T* sum) {
  while (atomicCAS(lock, 0, 1))
    ;
  *sum += 1;
  __threadfence();
  atomicExch(lock, 0);
}
int main() {
  int* x;
  if (hipMalloc(&x, 8) || hipMemset(x, 0, 8)) return 90;
  locked<<<2, 64>>>(x, x + 1);
  std::puts("launched");
  std::fflush(stdout);
  if (hipDeviceSynchronize()) return 92;
}
"""


@pytest.mark.parametrize("look", [[], ["--check"]])
def test_a_kernel_that_hangs_is_told_with_its_line_before_the_program_is_ended(tmp_path: Path, look: list[str]) -> None:
    """Lanes of one wave wait for a lock that another of them would give back after the loop."""
    (tmp_path / "locked.hip").write_text(HANG)
    ended = amdkernel_run(tmp_path / "locked.hip", "--timeout", "6", *look, "--target", "emulator:gfx942")
    assert (ended.returncode, ended.stdout) == (124, "launched\n"), ended.stderr
    assert "it ran for more than 6 s" in ended.stderr
    assert "locked.hip:5: timeout: locked<int> had not ended after " in ended.stderr
    assert "2 of 2 waves were at line 5 (wave 0 of workgroup [" in ended.stderr
    assert "or the kernel is slow: a larger --timeout would tell" in ended.stderr
    assert "lets this pass" not in ended.stderr


HANDSHAKE = """
#include <hip/hip_runtime.h>
__device__ __noinline__ int waits(volatile int* flag) {
  int turns = 0;
  while (*flag == 0)
    turns++;
  return turns;
}
__global__ void handshake(int* flag) {
  if (threadIdx.x >= 64)
    waits(flag);
  __syncthreads();
  *flag = 1;
}
int main() {
  int* x;
  if (hipMalloc(&x, 8) || hipMemset(x, 0, 8)) return 90;
  handshake<<<1, 256>>>(x);
  if (hipDeviceSynchronize()) return 92;
}
"""


@pytest.mark.parametrize(("arch", "level"), [("gfx942", "-O3"), ("gfx950", "-O0"), ("gfx1201", "-O3")])
def test_waves_at_a_barrier_and_in_a_loop_are_told_with_their_lines(tmp_path: Path, arch: str, level: str) -> None:
    """At -O0 gfx950's code of the loop has instructions without a line, and the loop is in a function of its own."""
    (tmp_path / "handshake.hip").write_text(HANDSHAKE)
    words = ("--timeout", "5", f"--flag={level}", "--target", f"emulator:{arch}")
    ended = amdkernel_run(tmp_path / "handshake.hip", *words)
    assert re.search(r"handshake.hip:[56]: timeout: handshake had not ended after ", ended.stderr), ended.stderr
    running, waiting = (6, 2) if arch == "gfx1201" else (3, 1)
    assert re.search(rf" of {running + waiting} waves (was|were) at line [56] ", ended.stderr), ended.stderr
    assert f", {waiting} at the barrier of line 12. Either a loop" in ended.stderr


def test_what_is_no_program_is_wrong_input(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("no program\n")
    for words in ([text], [tmp_path / "nothing"], [text, "--devices", "0"]):
        assert amdkernel_run(*words).returncode == 2


RACE = """
#include <hip/hip_runtime.h>
__global__ void turn(int* x) {
  __shared__ int s[256];
  s[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = s[255 - threadIdx.x];
}
int main() {
  int* x;
  if (hipMalloc(&x, 1024) || hipMemset(x, 0, 1024)) return 90;
  turn<<<1, 256>>>(x);
  if (hipDeviceSynchronize() || hipFreeAsync(x, nullptr)) return 91;
  turn<<<1, 256>>>(x);
  (void)hipDeviceSynchronize();
  return 0;
}
"""


def test_mistakes_of_a_program_are_told_with_their_lines(tmp_path: Path) -> None:
    (tmp_path / "turn.hip").write_text(RACE)
    ended = amdkernel_run(tmp_path / "turn.hip", "--races", "--target", "emulator:gfx942")
    assert ended.returncode == 1
    assert "turn.hip:6: race: reads byte" in ended.stderr
    assert "turn.hip:5: use_after_free: reads 4 bytes at byte" in ended.stderr


LAST = """
#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void last(int* x) {
  if (threadIdx.x == 0) atomicExch(x, (int)blockIdx.x);
}
int main() {
  int *x, seen;
  if (hipMalloc(&x, 4) || hipMemset(x, 0, 4)) return 90;
  last<<<16, 64>>>(x);
  if (hipMemcpy(&seen, x, 4, hipMemcpyDeviceToHost)) return 91;
  std::printf("%d", seen);
}
"""


def test_a_program_whose_output_hangs_on_the_order_is_told_and_an_order_replayed(tmp_path: Path) -> None:
    (tmp_path / "last.hip").write_text(LAST)
    ended = amdkernel_run(tmp_path / "last.hip", "--schedules", "4", "--target", "emulator:gfx942")
    assert ended.returncode == 1
    assert ended.stdout == "15", "the output is that of the plain order"
    assert "non_deterministic" in ended.stderr
    seed = re.search(r"--order (\d+)", ended.stderr)
    assert seed, ended.stderr
    again = amdkernel_run(tmp_path / "last.hip", "--order", seed[1], "--target", "emulator:gfx942")
    assert again.stdout != "15"


OVERRUN = """
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
__global__ void fill(int* x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 7; }
__global__ void sum(const int* x, int n, int* y) {
  for (int i = threadIdx.x; i < n; i += 64) atomicAdd(y, x[i]);
}
__global__ void spill(int* y) {
  __shared__ int s[100];
  s[threadIdx.x] = (int)threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];
}
int main(int, char** words) {
  int *x, *y, *other, seen[256] = {};
  int extra = std::atoi(words[1]);
  if (hipMalloc(&x, 1000 * 4) || hipMalloc(&other, 256 * 4) || hipHostMalloc(&y, 256 * 4)) return 90;
  if (hipMemset(other, 1, 256 * 4) || hipMemset(y, 0, 256 * 4)) return 91;
  fill<<<4 + extra / 256, 256>>>(x);
  sum<<<1, 64>>>(x, 1000 + extra, y);
  if (hipDeviceSynchronize()) return 92;
  std::printf("%d", y[0]);
  spill<<<1, 256>>>(y);
  if (hipMemcpy(seen, other, sizeof seen, hipMemcpyDeviceToHost)) return 93;
  for (int value : seen) if (value != 0x01010101) return 94;
  std::printf(" %d %d\\n", y[127], y[128]);
  return 3;
}
"""


@pytest.fixture
def overrun(tmp_path: Path) -> Path:
    (tmp_path / "overrun.hip").write_text(OVERRUN)
    return tmp_path / "overrun.hip"


LATE = """
#include <hip/hip_runtime.h>
__global__ void late(int* y) {
  __shared__ int count;
  if (threadIdx.x == 255) count = 0;
  y[threadIdx.x] = atomicAdd(&count, 1);
}
int main() {
  int* y;
  if (hipMalloc(&y, 1024)) return 90;
  late<<<1, 256>>>(y);
  return hipDeviceSynchronize() ? 91 : 0;
}
"""


def test_races_are_looked_for_in_the_other_orders_too(tmp_path: Path) -> None:
    (tmp_path / "late.hip").write_text(LATE)
    how = [tmp_path / "late.hip", "--races", "--target", "emulator:gfx942"]
    plain = amdkernel_run(*how)
    assert (plain.returncode, plain.stderr) == (0, ""), "the wave that clears the counter has always been the first"
    ended = amdkernel_run(*how, "--schedules", "4")
    assert ended.returncode == 1
    told = re.search(r"late.hip:[56]: race: .*; in the order of seed (\d): --order \1 runs it again", ended.stderr)
    assert told, ended.stderr
    assert ": race: " in amdkernel_run(*how, "--order", told[1]).stderr


def test_a_program_that_overruns_its_memory_goes_on_as_on_a_gpu_and_is_told(overrun: Path) -> None:
    ended = amdkernel_run(overrun, "24", "--target", "emulator:gfx942")
    assert ended.stdout == "7168 127 0\n", ended.stderr
    assert ended.returncode == 3
    assert "overrun.hip:5: out_of_bounds: writes 4 bytes at byte 4000 of allocation" in ended.stderr
    made = next(n for n, line in enumerate(OVERRUN.splitlines(), 1) if "hipMalloc" in line)
    assert f"(made in line {made}), which has 4000 bytes" in ended.stderr
    assert "; by 24 lanes, up to 96 bytes beyond" in ended.stderr
    assert "overrun.hip:7: out_of_bounds: reads" in ended.stderr
    assert "overrun.hip:11: out_of_bounds: writes 4 bytes at byte 400 of LDS" in ended.stderr
    assert "; 3 times in all, by 156 lanes, up to 624 bytes beyond" in ended.stderr


VARIABLES = """
#include <hip/hip_runtime.h>
#ifdef RACE
static __device__ int counts[8];
__global__ void act(int* y, float*) {
  counts[blockIdx.x] = 1;
  y[blockIdx.x] = counts[1 - blockIdx.x];
}
#elif defined(PAST)
namespace deep { __device__ int table[3]; }
__global__ void act(int* y, float*) { deep::table[*y + 3] = 1; }
#else
__global__ void act(int*, float* w) { w[2] = 1; }
#endif
__constant__ float weights[4] = {1, 2, 3, 4};
__global__ void get(float* y, int i) { *y = weights[i]; }
int main() {
  int* y;
  void* w;
  if (hipMalloc(&y, 16) || hipMemset(y, 0, 16) || hipGetSymbolAddress(&w, HIP_SYMBOL(weights))) return 90;
  act<<<2, 1>>>(y, static_cast<float*>(w));
  return hipDeviceSynchronize() ? 1 : 0;
}
"""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--flag=-DRACE", "--races"], "of `counts` (32 bytes), which workgroup"),
        (["--flag=-DPAST"], "writes 4 bytes at byte 0 after `table` (12 bytes); act, workgroup"),
        (["--flag=-DPAST"], "2 times in all, by 2 lanes: compare"),
        (["--flag=-DPAST", "--check"], "writes 4 bytes at byte 0 after `table` (12 bytes)"),
        (["--check"], "writes 4 bytes at byte 8 of `weights` (16 bytes)"),
    ],
    ids=["race", "overrun", "how often", "stopped", "constant"],
)
def test_a_mistake_in_a_variable_tells_its_name(tmp_path: Path, arguments: list[str], told: str) -> None:
    (tmp_path / "variables.hip").write_text(VARIABLES)
    ended = amdkernel_run(tmp_path / "variables.hip", *arguments, "--target", "emulator:gfx942")
    assert told in ended.stderr


WEIGHTS = """#include <hip/hip_runtime.h>
struct Weights { float of[9]; };
__global__ void blend(float* out, int taps, Weights weights)
{
    float sum = 0;
    for (int k = 0; k < taps; k++)
        sum += weights.of[(k + blockIdx.x) % taps];
    out[threadIdx.x] = sum * blockDim.x;
}
int main(int, char** arguments)
{
    float* out;
    (void)hipMalloc(&out, 256);
    blend<<<2, 64>>>(out, atoi(arguments[1]), {});
    return hipDeviceSynchronize();
}
"""


@pytest.mark.parametrize("arch", ["gfx942", "gfx1201"])
def test_arguments_are_not_read_into_the_hidden_ones_behind_them(tmp_path: Path, arch: str) -> None:
    (tmp_path / "weights.hip").write_text(WEIGHTS)
    how = ["--target", f"emulator:{arch}", "--check", "--flag=-g"]
    beyond = amdkernel_run(*how, tmp_path / "weights.hip", "11")
    assert "weights.hip:7: out_of_bounds: reads byte 48 of the kernel's arguments, which have 48 bytes" in beyond.stderr
    within = amdkernel_run(*how, tmp_path / "weights.hip", "9")
    assert (within.returncode, within.stderr) == (0, "")


def test_an_overrun_reaches_as_far_as_the_memory_that_a_gpu_maps_at_once(overrun: Path) -> None:
    within, beyond = amdkernel_run(overrun, str(2**19 - 1024)), amdkernel_run(overrun, str(2**19))
    assert within.returncode == 3, within.stderr
    assert f"up to {2**21 - 4000} bytes beyond" in within.stderr
    assert beyond.returncode == 92
    assert "out_of_bounds in kernel fill(int*)" in beyond.stderr
    assert "overrun.hip:5: out_of_bounds: writes 4 bytes at byte 2097152 of allocation" in beyond.stderr
    assert "lets this pass" not in beyond.stderr


@pytest.mark.parametrize("level", [[], ["--flag=-O0"]])
def test_an_overrun_is_a_failure_where_the_emulator_looks_on(overrun: Path, level: list[str]) -> None:
    ended = amdkernel_run(overrun, "24", "--check", *level)
    assert ended.returncode == 92
    assert "overrun.hip:5: out_of_bounds: writes 4 bytes at byte 4000 of allocation" in ended.stderr
    made = next(n for n, line in enumerate(OVERRUN.splitlines(), 1) if "hipMalloc" in line)
    assert f"(made in line {made}), which has 4000 bytes" in ended.stderr


HOST_POINTER = """
#include <hip/hip_runtime.h>
#include <cstdlib>
__global__ void set(int* x) { *x = 1; }
int main() {
  set<<<1, 1>>>((int*)std::malloc(4));
  return hipDeviceSynchronize() ? 92 : 0;
}
"""


@pytest.mark.parametrize("look", [[], ["--check"]])
def test_a_pointer_of_the_host_is_told_as_one_with_the_line_that_follows_it(tmp_path: Path, look: list[str]) -> None:
    (tmp_path / "host.hip").write_text(HOST_POINTER)
    ended = amdkernel_run(tmp_path / "host.hip", *look)
    assert ended.returncode == 92
    assert "host.hip:4: out_of_bounds: writes 4 bytes at 0x" in ended.stderr
    assert "memory of the host that was neither allocated by HIP nor registered; set, workgroup" in ended.stderr


FLAT = """
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
__global__ void flat(int* y, unsigned at) {
  __shared__ int s[100];
  int* p = s + at;
  asm volatile("" : "+v"(p));
  *p = 7;
  y[0] = *p;
}
__global__ void ds(int* y, unsigned at) {
  __shared__ int s[100];
  s[0] = 7;
  s[at] = 8;
  __syncthreads();
  y[0] = s[blockIdx.x];
}
int main(int, char** words) {
  int *y, seen;
  if (hipMalloc(&y, 4)) return 90;
  (words[2][0] == 'f' ? flat : ds)<<<1, 1>>>(y, (unsigned)std::atoi(words[1]));
  if (hipDeviceSynchronize()) return 92;
  if (hipMemcpy(&seen, y, 4, hipMemcpyDeviceToHost)) return 93;
  std::printf("%d", seen);
}
"""


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_a_flat_access_beyond_lds_stops_a_program_and_one_of_ds_does_not(tmp_path: Path, arch: str) -> None:
    """LDS of 400 bytes is given out as 512: up to there both go on."""
    (tmp_path / "reach.hip").write_text(FLAT)
    reach = lambda at, how: amdkernel_run(tmp_path / "reach.hip", at, how, "--target", f"emulator:{arch}")  # noqa: E731
    for at, how in ((100, "flat"), (100, "ds"), (128, "ds")):
        ended = reach(at, how)
        assert (ended.returncode, ended.stdout) == (0, "7"), (at, how, ended.stderr)
        assert f"out_of_bounds: writes 4 bytes at byte {4 * at} of LDS" in ended.stderr, (at, how, ended.stderr)
    stopped = reach(128, "flat")
    assert (stopped.returncode, stopped.stdout) == (92, "")
    assert "out_of_bounds in kernel flat(int*, unsigned int)" in stopped.stderr


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


@pytest.mark.timeout(300)
def test_a_program_sees_the_devices_and_variables_that_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "devices.hip"
    source.write_text(DEVICES)
    monkeypatch.setenv("HOME_TOWN", "not passed on")
    seen = lambda *words: amdkernel_run(source, "--devices", "4", *words).stdout  # noqa: E731
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


@pytest.fixture
def echo(tmp_path: Path) -> Path:
    (tmp_path / "echo.hip").write_text(ECHO)
    return tmp_path / "echo.hip"


def test_what_is_piped_in_reaches_the_program_and_its_runs_in_other_orders(echo: Path) -> None:
    numbers = "".join(f"{n}\n" for n in range(50_000))
    words = [COMMAND, "run", str(echo), "--schedules", "1"]
    ended = subprocess.run(words, input=numbers, capture_output=True, text=True, timeout=110, check=False)
    assert ended.stdout == f"ready\n{sum(range(50_000))}\n"
    assert ended.returncode == 0, ended.stderr


def test_input_comes_while_the_program_runs_and_need_neither_end_nor_be_read(echo: Path) -> None:
    with subprocess.Popen([COMMAND, "run", str(echo)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdin
        assert run.stdout
        assert run.stdout.readline() == "ready\n"
        run.stdin.write("40\n2\n")
        run.stdin.close()
        assert run.stdout.read() == "42\n"
    with subprocess.Popen([COMMAND, "run", str(echo), "go"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.wait(timeout=100) == 4
