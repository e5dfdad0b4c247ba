"""Triton kernels of the kinds that tutorials have, written for these tests, and their problems."""

VECTOR_ADD = """\
# amdkernel: launch add grid=[ceil_div(n, BLOCK)] BLOCK=1024
import triton
import triton.language as tl


@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    total = tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside)
    tl.store(z + at, total, mask=inside)
"""

SOFTMAX = """\
# amdkernel: launch softmax grid=[rows] args=[x, y, cols] BLOCK=8192
# amdkernel: tune num_warps=[4, 8]
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * cols + at, mask=at < cols, other=-float("inf"))
    e = tl.exp(value - tl.max(value, 0))
    tl.store(y + row * cols + at, e / tl.sum(e, 0), mask=at < cols)


def softmax_of(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    softmax[(x.shape[0],)](x, y, x.shape[1], BLOCK=1024)
    return y


torch.manual_seed(0)
x = torch.randn(1823, 781, device=triton.runtime.driver.active.get_active_torch_device())
rows, cols = x.shape
assert torch.allclose(softmax_of(x), torch.softmax(x, axis=1))
"""

LAYER_NORM = """\
# amdkernel: launch layer_norm grid=[rows] args=[x, w, b, y, cols, eps] BLOCK=256
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 128}, num_warps=4)], key=["cols"])
@triton.jit
def layer_norm(x, w, b, y, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for begin in range(0, cols, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        total += tl.load(x + row * cols + at, mask=at < cols, other=0.0)
    mean = tl.sum(total, 0) / cols
    squares = tl.zeros([BLOCK], tl.float32)
    for begin in range(0, cols, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        value = tl.load(x + row * cols + at, mask=at < cols, other=0.0)
        value = tl.where(at < cols, value - mean, 0.0)
        squares += value * value
    scale = 1 / tl.sqrt(tl.sum(squares, 0) / cols + eps)
    for begin in range(0, cols, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        inside = at < cols
        value = (tl.load(x + row * cols + at, mask=inside) - mean) * scale
        tl.store(y + row * cols + at, value * tl.load(w + at, mask=inside) + tl.load(b + at, mask=inside), mask=inside)
"""

MATMUL = """\
# amdkernel: launch matmul grid=[ceil_div(m, BM) * ceil_div(n, BN)] args=[a, b, c, m, n, k, k, 1, n, 1, n, 1]
# amdkernel: constexpr BM=32 BN=64 BK=32 GROUP=4 num_warps=4 num_stages=2
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, am, ak, bk, bn, cm, cn,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = pid // (GROUP * tiles_n) * GROUP
    height = min(tiles_m - first, GROUP)
    tile_m = first + pid % (GROUP * tiles_n) % height
    tile_n = pid % (GROUP * tiles_n) // height
    rows = tile_m * BM + tl.arange(0, BM)
    cols = tile_n * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for begin in range(0, K, BK):
        at = begin + inner
        left = tl.load(a + rows[:, None] * am + at[None, :] * ak,
                       mask=(rows[:, None] < M) & (at[None, :] < K), other=0.0)
        right = tl.load(b + at[:, None] * bk + cols[None, :] * bn,
                        mask=(at[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(left, right, acc)
    tl.store(c + rows[:, None] * cm + cols[None, :] * cn, acc, mask=(rows[:, None] < M) & (cols[None, :] < N))
"""

ATTENTION = """\
# amdkernel: launch attention grid=[ceil_div(t, BM), heads] args=[q, k, v, o, t, scale]
# amdkernel: constexpr BM=32 BN=32 D=32 num_warps=4
import triton
import triton.language as tl


@triton.jit
def attention(q, k, v, o, T, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(1) * T * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    dims = tl.arange(0, D)
    query = tl.load(q + head + rows[:, None] * D + dims[None, :], mask=rows[:, None] < T, other=0.0)
    acc = tl.zeros([BM, D], tl.float32)
    top = tl.full([BM], -1e30, tl.float32)
    below = tl.zeros([BM], tl.float32)
    for begin in range(0, T, BN):
        cols = begin + tl.arange(0, BN)
        key = tl.load(k + head + cols[None, :] * D + dims[:, None], mask=cols[None, :] < T, other=0.0)
        score = tl.dot(query, key) * scale
        score = tl.where((cols[None, :] < T) & (cols[None, :] <= rows[:, None]), score, -1e30)
        now = tl.maximum(top, tl.max(score, 1))
        fade = tl.exp(top - now)
        weight = tl.exp(score - now[:, None])
        below = below * fade + tl.sum(weight, 1)
        value = tl.load(v + head + cols[:, None] * D + dims[None, :], mask=cols[:, None] < T, other=0.0)
        acc = acc * fade[:, None] + tl.dot(weight.to(value.dtype), value)
        top = now
    tl.store(o + head + rows[:, None] * D + dims[None, :], acc / below[:, None], mask=rows[:, None] < T)
"""

GROUPED_GEMM = """\
# amdkernel: launch grouped grid=[PROGRAMS] args=[a, b, c, begins, groups, n, k]
# amdkernel: constexpr PROGRAMS=6 BM=16 BN=32 BK=32
import triton
import triton.language as tl


@triton.jit
def grouped(a, b, c, begins, G, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile = tl.program_id(0)
    before = 0
    for g in range(G):
        begin, end = tl.load(begins + g), tl.load(begins + g + 1)
        tiles_n = tl.cdiv(N, BN)
        here = tl.cdiv(end - begin, BM) * tiles_n
        while tile < before + here:
            rows = begin + (tile - before) // tiles_n * BM + tl.arange(0, BM)
            cols = (tile - before) % tiles_n * BN + tl.arange(0, BN)
            acc = tl.zeros([BM, BN], tl.float32)
            for first in range(0, K, BK):
                at = first + tl.arange(0, BK)
                left = tl.load(a + rows[:, None] * K + at[None, :],
                               mask=(rows[:, None] < end) & (at[None, :] < K), other=0.0)
                right = tl.load(b + (g * K + at[:, None]) * N + cols[None, :],
                                mask=(at[:, None] < K) & (cols[None, :] < N), other=0.0)
                acc = tl.dot(left, right, acc)
            tl.store(c + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < end) & (cols[None, :] < N))
            tile += PROGRAMS
        before += here
"""

GLUON_ADD = """\
# amdkernel: launch add grid=[ceil_div(n, 1024)] BLOCK=1024 LANES=64
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def add(x, y, z, n, BLOCK: gl.constexpr, LANES: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [LANES], [4], [0])
    at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    total = gl.load(x + at, mask=at < n) + gl.load(y + at, mask=at < n)
    gl.store(z + at, total, mask=at < n)
"""

GLUON_EXCHANGE = """\
# amdkernel: workspace sums dtype=f32 shape=[ceil_div(n, 1024) * 1024]
# amdkernel: launch add grid=[ceil_div(n, 1024)] args=[x, y, z, sums, n] BLOCK=1024 LANES=64
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def add(x, y, z, sums, n, BLOCK: gl.constexpr, LANES: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [LANES], [4], [0])
    first = gl.program_id(0) * BLOCK
    lane = gl.arange(0, BLOCK, layout=layout)
    at, back = first + lane, first + BLOCK - 1 - lane
    gl.store(sums + at, gl.load(x + at, mask=at < n) + gl.load(y + at, mask=at < n), mask=at < n)
    gl.barrier()
    total = gl.load(sums + back, mask=back < n)
    gl.store(z + back, total, mask=back < n)
"""

DESCRIPTORS = """\
# amdkernel: launch add grid=[ceil_div(n, BLOCK)] BLOCK=1024
import triton
import triton.language as tl


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    begin = tl.program_id(0) * BLOCK
    left = tl.make_tensor_descriptor(x, shape=[n], strides=[1], block_shape=[BLOCK])
    right = tl.make_tensor_descriptor(y, shape=[n], strides=[1], block_shape=[BLOCK])
    out = tl.make_tensor_descriptor(z, shape=[n], strides=[1], block_shape=[BLOCK])
    out.store([begin], plus(left.load([begin]), right.load([begin])))
"""

HELPERS = """\
import triton
import triton.language as tl


@triton.jit
def both(x, y, at, n):
    return tl.load(x + at, mask=at < n), tl.load(y + at, mask=at < n)
"""

ADD_WITH_HELPERS = """\
import triton
import triton.language as tl
from helpers import both


@triton.jit
def add(x, y, bias, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = both(x, y, at, n)
    if bias is not None:
        a += tl.load(bias + at, mask=at < n)
    tl.store(z + at, a + b, mask=at < n)
"""
