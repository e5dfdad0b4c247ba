"""FlyDSL kernels of our own, for the tests."""

VECTOR_ADD = """\
# amdkernel: launch host args=[x, y, z, n] BLOCK=256
import flydsl.compiler as flyc
import flydsl.expr as fx
import torch


@flyc.kernel
def add(x: fx.Tensor, y: fx.Tensor, z: fx.Tensor, n: fx.Int32, BLOCK: fx.Constexpr[int]):
    at = fx.block_idx.x * BLOCK + fx.thread_idx.x
    if at < n:
        z[at] = x[at] + y[at]


@flyc.jit
def host(x: fx.Tensor, y: fx.Tensor, z: fx.Tensor, n: fx.Int32, BLOCK: fx.Constexpr[int]):
    add(x, y, z, n, BLOCK).launch(grid=((n + BLOCK - 1) // BLOCK,), block=(BLOCK,))


def sum_of(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    z = torch.empty_like(x)
    host(x, y, z, x.numel(), 256)
    return z
"""

SOFTMAX = """\
# amdkernel: launch make args=[x, y, rows, cols] threads=256
import flydsl.compiler as flyc
import flydsl.expr as fx


def make(threads: int):
    @flyc.kernel
    def softmax(x: fx.Tensor, y: fx.Tensor, cols: fx.Int32):
        row, lane = fx.block_idx.x, fx.thread_idx.x
        parts = fx.gpu.SharedAllocator().allocate(fx.Array[fx.Float32, threads]).peek().view(fx.make_layout(threads, 1))
        largest = fx.Float32(float("-inf"))
        for at in range(lane, cols, threads):
            largest = fx.arith.max(largest, x[row, at])
        parts[lane] = largest
        fx.gpu.barrier()
        for at in fx.range_constexpr(threads):
            largest = fx.arith.max(largest, parts[at])
        fx.gpu.barrier()
        total = fx.Float32(0.0)
        for at in range(lane, cols, threads):
            total = total + fx.math.exp(x[row, at] - largest)
        parts[lane] = total
        fx.gpu.barrier()
        total = fx.Float32(0.0)
        for at in fx.range_constexpr(threads):
            total = total + parts[at]
        for at in range(lane, cols, threads):
            y[row, at] = fx.math.exp(x[row, at] - largest) / total

    @flyc.jit
    def host(x: fx.Tensor, y: fx.Tensor, rows: fx.Int32, cols: fx.Int32):
        softmax(x, y, cols).launch(grid=(rows, 1, 1), block=(threads, 1, 1))

    return host
"""
