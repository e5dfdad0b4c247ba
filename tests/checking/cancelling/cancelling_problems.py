"""The problems of kernels.hip: for each kernel what it computes, as lines of NumPy that set `y`.

`x` and `g` have a row for each wave, `w` is a row, `t` an index for each row; `p` is the softmax of `x`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

KERNELS = Path(__file__).with_name("kernels.hip")
_REALS = {"f32": "float", "f16": "__half", "bf16": "__hip_bfloat16"}

_LOG = "m = x.max(axis=1, keepdims=True)\nlog_p = x - m - np.log(np.exp(x - m).sum(axis=1, keepdims=True))\n"
_NORM = "mean = x.mean(axis=1, keepdims=True)\nr = 1 / np.sqrt(((x - mean) ** 2).mean(axis=1, keepdims=True) + 1e-5)\n"
_TARGET = "target = t[:, None]\n"
_PAIRS = "a, b, c, d = x[:, ::2], x[:, 1::2], g[:, ::2], g[:, 1::2]\n"
_JOIN = "y = np.stack([re, im], axis=2).reshape(x.shape)"
_SOFTMAX_BACKWARD = "y = p * (g - (p * g).sum(axis=1, keepdims=True))"
_CROSS_ENTROPY = _LOG + _TARGET + "y = -np.take_along_axis(log_p, target, axis=1)[:, 0]"
_ERF = "erf = np.vectorize(math.erf)\n"

FORMULAS = {
    "softmax_backward": _SOFTMAX_BACKWARD,
    "softmax_backward_in_two_terms": _SOFTMAX_BACKWARD,
    "log_softmax": _LOG + "y = log_p",
    "log_softmax_backward": "y = g - p * g.sum(axis=1, keepdims=True)",
    "cross_entropy": _CROSS_ENTROPY,
    "cross_entropy_by_logarithm": _CROSS_ENTROPY,
    "cross_entropy_online": _CROSS_ENTROPY,
    "cross_entropy_backward": _TARGET + "y = p - (np.arange(x.shape[1]) == target)",
    "layer_norm": _NORM + "y = (x - mean) * r * w",
    "layer_norm_in_one_pass": _NORM + "y = (x - mean) * r * w",
    "layer_norm_backward": _NORM
    + "h, d = (x - mean) * r, g * w\n"
    + "y = r * (d - d.mean(axis=1, keepdims=True) - h * (d * h).mean(axis=1, keepdims=True))",
    "rms_norm_backward": "r = 1 / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-6)\nh, d = x * r, g * w\n"
    "y = r * (d - h * (d * h).mean(axis=1, keepdims=True))",
    "group_norm": "k = x.reshape(len(x), -1, 16)\n"
    "k = (k - k.mean(axis=2, keepdims=True)) / np.sqrt(k.var(axis=2, keepdims=True) + 1e-5)\ny = k.reshape(x.shape)",
    "variance_in_one_pass": "y = (x**2).mean(axis=1) - x.mean(axis=1) ** 2",
    "logsumexp": "m = x.max(axis=1)\ny = m + np.log(np.exp(x - m[:, None]).sum(axis=1))",
    "gelu_backward": _ERF + "y = g * (0.5 * (1 + erf(x / 2**0.5)) + x * np.exp(-0.5 * x * x) / (2 * np.pi) ** 0.5)",
    "gelu_tanh": "y = 0.5 * x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)))",
    "silu_backward": "s = 1 / (1 + np.exp(-x))\ny = g * s * (1 + x * (1 - s))",
    "tanh_backward": "y = g * (1 - np.tanh(x) ** 2)",
    "sigmoid_backward": "s = 1 / (1 + np.exp(-x))\ny = g * s * (1 - s)",
    "rope": "a, b = x[:, ::2], x[:, 1::2]\nre = a * np.cos(g[:, ::2]) - b * np.sin(g[:, ::2])\n"
    "im = a * np.sin(g[:, 1::2]) + b * np.cos(g[:, 1::2])\n" + _JOIN,
    "complex_multiply": _PAIRS + "re, im = a * c - b * d, a * d + b * c\n" + _JOIN,
    "determinants": _PAIRS + "y = np.repeat(a * d - b * c, 2, axis=1)",
    "cosine_similarity": "y = (x * g).sum(axis=1) / np.sqrt((x * x).sum(axis=1) * (g * g).sum(axis=1))",
    "kl_divergence": _LOG + "q = g - g.max(axis=1, keepdims=True)\n"
    "q = q - np.log(np.exp(q).sum(axis=1, keepdims=True))\ny = (p * (log_p - q)).sum(axis=1)",
    "entropy": _LOG + "y = -(p * log_p).sum(axis=1)",
    "kahan_sum": "y = x.sum(axis=1)",
    "squared_distance": "y = (x * x).sum(axis=1) + (g * g).sum(axis=1) - 2 * (x * g).sum(axis=1)",
    "what_a_probability_lacks": "y = 1 - np.take_along_axis(p, t[:, None], axis=1)[:, 0]",
    "binary_cross_entropy": "y = np.log1p(np.exp(np.where(np.arange(x.shape[1]) % 2 == 1, -x, x)))",
    "differences_of_a_scan": "y = np.cumsum(x, axis=1) - np.cumsum(g, axis=1)",
}
_ONE_OF_EACH_ROW = (
    "cross_entropy", "cross_entropy_by_logarithm", "cross_entropy_online", "variance_in_one_pass", "logsumexp",
    "cosine_similarity", "kl_divergence", "entropy", "kahan_sum", "squared_distance", "what_a_probability_lacks",
)  # fmt: skip

_ARRAY = '[[arguments]]\nname = "{}"\ndtype = "{}"\nshape = [{}]\nrole = "{}"\n'
_REFERENCE = """import math

import numpy as np


def generate(rng, *, rows, cols, size):
    x = size * rng.standard_normal((rows, cols))
    return {{"x": x, "g": 0.5 * x + rng.standard_normal((rows, cols)), "t": x.argmax(axis=1).astype(np.int32)}}


def reference(x, g, w, t, *, rows, cols, size):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    result = {{}}
{}
    return result
"""


def write_problem(folder: Path, names: Sequence[str], dtype: str) -> str:
    """Write the problem of these kernels, an output for each. Returns its folder."""
    wide = '"rows", "cols"'
    arguments = [_ARRAY.format(name, dtype, wide, "in") for name in ("x", "g")]
    arguments += [_ARRAY.format("w", dtype, '"cols"', "in"), _ARRAY.format("t", "i32", '"rows"', "in")]
    for name in names:
        arguments.append(_ARRAY.format(name, dtype, '"rows"' if name in _ONE_OF_EACH_ROW else wide, "out"))
    scalars = "".join(f'[[arguments]]\nname = "{name}"\ndtype = "i32"\n' for name in ("rows", "cols", "size"))
    cases = "".join(f"[[cases]]\nrows = {r}\ncols = {c}\nsize = {s}\n" for r, c, s in ((40, 96, 1), (20, 64, 10)))
    (folder / "problem.toml").write_text("".join(arguments) + scalars + cases)
    formulas = [f"{FORMULAS[name]}\nresult[{name!r}] = y" for name in names]
    lines = "\n".join(formulas).splitlines()
    (folder / "reference.py").write_text(_REFERENCE.format("\n".join(f"    {line}" for line in lines)))
    return str(folder)


def source(names: Sequence[str], dtype: str, *, mistake: bool = False) -> str:
    """The kernels of these names, each with its launch."""
    launches = [f"// amdkernel: launch {n} grid=[rows] block=[64] args=[x, g, w, t, {n}, cols]" for n in names]
    flags = f"// amdkernel: build -O3 -DREAL={_REALS[dtype]}" + (" -DMISTAKE" if mistake else "")
    head, *kernels = KERNELS.read_text().split("\nKERNEL(")
    chosen = [text for text in kernels if text.partition(")")[0] in names]
    return "\n".join([*launches, flags, head, *(f"KERNEL({text}" for text in chosen)])
