"""`amdkernel run --races`: work of several streams, and mistakes of the program's own calls."""

import re
from collections.abc import Callable
from functools import cache

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox
from tests.cli.run_command import amdkernel_run
from tests.one_in import one_in

pytestmark = pytest.mark.sandbox

# Each case is marked with the kind that is reported at its line; a race of a kernel is reported at the kernel's line.
PROGRAM = r"""
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstring>
enum { N = 1024 };
#define ITEM (blockIdx.x * 256 + threadIdx.x)
__global__ void fill(int* x) { x[ITEM] = threadIdx.x; } // writer
__global__ void copy(const int* x, int* y) { y[ITEM] = x[ITEM]; } // reader
namespace deep { __device__ int table[4]; }
__global__ void look(int* x) { x[0] = deep::table[2]; }
__global__ void same(int* x) { x[threadIdx.x] = 5; }
__global__ void count(int* x) { atomicAdd(x, 1); }
__global__ void give(int* flag, int* x) {
  x[threadIdx.x] = 3;
  __syncthreads();
  if (threadIdx.x == 0) __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}
__global__ void await(int* flag, const int* x, int* y) {
  while (!__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM)) __builtin_amdgcn_s_sleep(8);
  y[threadIdx.x] = x[threadIdx.x];
}
int *x, *y, host[2 * N];
hipStream_t a, b;
hipEvent_t e;
static void write(hipStream_t s) { fill<<<4, 256, 0, s>>>(x); }
static void read(hipStream_t s) { copy<<<4, 256, 0, s>>>(x, y); }
static void wrong(const char* name) {
  hipStream_t own;
  if (!strcmp(name, "no event")) { write(a); read(b); }
  if (!strcmp(name, "event recorded too early")) {
    (void)hipEventRecord(e, a); write(a); (void)hipStreamWaitEvent(b, e, 0); read(b);
  }
  if (!strcmp(name, "a stream that does not wait for the null stream")) {
    (void)hipStreamCreateWithFlags(&own, hipStreamNonBlocking);
    write(nullptr); read(own);
  }
  if (!strcmp(name, "fill")) { (void)hipMemsetAsync(x, 1, 4 * N, a); read(b); } // race: fill
  if (!strcmp(name, "copy")) {
    write(a);
    (void)hipMemcpyAsync(host, x, 4 * N, hipMemcpyDeviceToHost, b); // race: copy
  }
  if (!strcmp(name, "variable")) {
    look<<<1, 1, 0, a>>>(x);
    (void)hipMemcpyToSymbolAsync(HIP_SYMBOL(deep::table), host, 8, 4, hipMemcpyHostToDevice, b); // race: variable
  }
  if (!strcmp(name, "release")) {
    write(a);
    (void)hipFreeAsync(x, b); // use_after_free: release
  }
  if (!strcmp(name, "freed twice")) {
    (void)hipFree(x);
    (void)hipFree(x); // use_after_free: freed twice
  }
  if (!strcmp(name, "copy beyond")) {
    (void)hipMemcpy(x, host, 4 * N + 4, hipMemcpyHostToDevice); // out_of_bounds: copy beyond
  }
}
static void right() {
  for (int k = 0; k < 3; k++) {
    write(a); (void)hipEventRecord(e, a); (void)hipStreamWaitEvent(b, e, 0);
    read(b); (void)hipEventRecord(e, b); (void)hipStreamWaitEvent(a, e, 0);
  }
  write(a); copy<<<4, 256>>>(x, y); write(b); // the null stream comes between
  (void)hipStreamSynchronize(b); read(a); (void)hipDeviceSynchronize();
  write(a); while (hipStreamQuery(a) == hipErrorNotReady) {} read(b);
  (void)hipEventRecord(e, b); while (hipEventQuery(e) == hipErrorNotReady) {} write(a); (void)hipStreamSynchronize(a);
  fill<<<2, 256, 0, a>>>(x); fill<<<2, 256, 0, b>>>(x + 512); (void)hipDeviceSynchronize(); // different halves
  same<<<1, 64, 0, a>>>(x); same<<<1, 64, 0, b>>>(x); (void)hipDeviceSynchronize();         // the same values
  count<<<4, 64, 0, a>>>(x); count<<<4, 64, 0, b>>>(x); (void)hipDeviceSynchronize();
  hipStream_t own; (void)hipStreamCreateWithFlags(&own, hipStreamNonBlocking);
  (void)hipMemset(x, 0, 4 * N); copy<<<4, 256, 0, own>>>(x, y); (void)hipStreamSynchronize(own);
  (void)hipMemcpyAsync(host, y, 4 * N, hipMemcpyDeviceToHost, a); write(a); (void)hipStreamDestroy(own);
  int* p;
  (void)hipMallocAsync((void**)&p, 4 * N, a); fill<<<4, 256, 0, a>>>(p); (void)hipFreeAsync(p, a);
  (void)hipLaunchHostFunc(a, [](void*) {}, nullptr); (void)hipDeviceSynchronize();
  (void)hipFree(x);
}
static void signs() {
  int* flag;
  (void)hipMalloc((void**)&flag, 4); (void)hipMemset(flag, 0, 4); (void)hipDeviceSynchronize();
  await<<<1, 64, 0, b>>>(flag, x, y); give<<<1, 64, 0, a>>>(flag, x); (void)hipDeviceSynchronize();
  (void)hipHostMalloc((void**)&flag, 4); *flag = 0;
  give<<<1, 64, 0, a>>>(flag, x); while (!*(volatile int*)flag) {} copy<<<1, 256, 0, b>>>(x, y);
}
int main(int, char** words) {
  (void)hipStreamCreate(&a); (void)hipStreamCreate(&b); (void)hipEventCreate(&e);
  (void)hipMalloc((void**)&x, 4 * N); (void)hipMalloc((void**)&y, 4 * N);
  (void)hipMemset(x, 0, 4 * N); (void)hipMemset(y, 0, 4 * N);
  if (!strcmp(words[1], "right")) right();
  else if (!strcmp(words[1], "signs")) signs();
  else wrong(words[1]);
  (void)hipDeviceSynchronize();
}
"""
BUILD = "hipcc -g -O2 --offload-arch=gfx90a --offload-arch=gfx942 -w work.hip -o $OUT/work"
KERNELS = ("no event", "event recorded too early", "a stream that does not wait for the null stream", "fill")
CALLS = (
    ("copy", "race"),
    ("variable", "race"),
    ("release", "use_after_free"),
    ("freed twice", "use_after_free"),
    ("copy beyond", "out_of_bounds"),
)


def line_of(mark: str) -> int:
    return next(n for n, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith(f"// {mark}"))


Reported = tuple[int, list[tuple[int, str]], str]
"""Exit code, lines with kinds, and all that went to stderr."""


@pytest.fixture(scope="module")
def reported(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Reported]:
    """What is reported of a case on a GPU. The program is built once, and each case runs once."""
    done = sandbox.run("compile", ["sh", "-c", BUILD], {"work.hip": PROGRAM.encode()}, timeout_s=200)
    assert done.exit_code == 0, done.stderr
    work = tmp_path_factory.mktemp("work") / "work"
    work.write_bytes(done.files["work"])

    @cache
    def report(case: str, arch: str = "gfx942") -> Reported:
        ended = amdkernel_run(work, "--races", "--target", f"emulator:{arch}", "--", case)
        found = re.findall(r"work\.hip:(\d+): (\w+):", ended.stderr)
        return ended.returncode, [(int(line), kind) for line, kind in found], ended.stderr

    return report


@pytest.mark.parametrize("case", KERNELS)
def test_a_kernel_that_may_overlap_with_work_of_another_stream_is_reported(
    reported: Callable[..., Reported], case: str
) -> None:
    code, found, said = reported(case)
    reader, writer = line_of("reader"), line_of("race: fill" if case == "fill" else "writer")
    # The streams run in any order: the race is reported at the line of the later access, or at both lines.
    assert code == 1, said
    assert found, said
    assert set(found) <= {(reader, "race"), (writer, "race")}, said
    assert "in another stream" in said
    for line in (reader, writer) if case != "fill" else (reader,):
        assert re.search(rf"(work\.hip:|in line ){line}\b", said), said


@pytest.mark.parametrize(("case", "kind"), CALLS)
def test_a_mistake_in_a_call_of_the_program_is_reported_at_the_calls_line(
    reported: Callable[..., Reported], case: str, kind: str
) -> None:
    code, found, said = reported(case)
    assert (code, found) == (1, [(line_of(f"{kind}: {case}"), kind)]), said


def test_a_call_that_touches_a_variable_names_it(reported: Callable[..., Reported]) -> None:
    _code, _found, said = reported("variable")
    assert "a copy writes 8 bytes at byte 4 of `table`, which kernel look in another stream reads" in said


def test_work_that_streams_events_and_waits_put_in_order_is_not_accused(reported: Callable[..., Reported]) -> None:
    code, found, said = reported("right")
    assert (code, found) == (0, []), said


@pytest.mark.parametrize("arch", one_in(9, ["gfx90a", "gfx942"], others=pytest.mark.thorough))
def test_work_that_signals_through_memory_is_not_accused(reported: Callable[..., Reported], arch: str) -> None:
    code, found, said = reported("signs", arch)
    assert (code, found) == (0, []), said
