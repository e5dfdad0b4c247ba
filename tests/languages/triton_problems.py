"""The problems of the kernels in `triton_kernels.py`, small enough for every architecture."""

from pathlib import Path

LAYER_NORM = """
title = "Layer norm"
arguments = [
  {name = "x", dtype = "f32", shape = ["rows", "cols"], role = "in", init = "normal"},
  {name = "w", dtype = "f32", shape = ["cols"], role = "in", init = "normal"},
  {name = "b", dtype = "f32", shape = ["cols"], role = "in", init = "normal"},
  {name = "y", dtype = "f32", shape = ["rows", "cols"], role = "out"},
  {name = "eps", dtype = "f32"},
]
cases = [
  {rows = 3, cols = 512, eps = 1e-5},
  {rows = 2, cols = 333, eps = 1e-5, held_out = true},
]
tolerance = {rtol = 1e-4}
"""
LAYER_NORM_REFERENCE = """
def reference(x, w, b, *, rows, cols, eps):
    centred = x - x.mean(axis=1, keepdims=True)
    return {"y": centred / ((centred**2).mean(axis=1, keepdims=True) + eps) ** 0.5 * w + b}
"""

MATMUL = """
title = "Matrix product"
arguments = [
  {name = "a", dtype = "f16", shape = ["m", "k"], role = "in", init = "normal"},
  {name = "b", dtype = "f16", shape = ["k", "n"], role = "in", init = "normal"},
  {name = "c", dtype = "f32", shape = ["m", "n"], role = "out"},
  {name = "m", dtype = "i32"},
  {name = "n", dtype = "i32"},
  {name = "k", dtype = "i32"},
]
cases = [
  {m = 96, n = 80, k = 64},
  {m = 33, n = 65, k = 70, held_out = true},
]
tolerance = {rtol = 1e-3}
"""
MATMUL_REFERENCE = """
def reference(a, b, *, m, n, k):
    return {"c": a @ b}
"""

ATTENTION = """
title = "Causal attention"
arguments = [
  {name = "q", dtype = "f16", shape = ["heads", "t", 32], role = "in", init = "normal"},
  {name = "k", dtype = "f16", shape = ["heads", "t", 32], role = "in", init = "normal"},
  {name = "v", dtype = "f16", shape = ["heads", "t", 32], role = "in", init = "normal"},
  {name = "o", dtype = "f32", shape = ["heads", "t", 32], role = "out"},
  {name = "heads", dtype = "i32"},
  {name = "t", dtype = "i32"},
  {name = "scale", dtype = "f32"},
]
cases = [
  {heads = 2, t = 64, scale = 0.17677669},
  {heads = 1, t = 45, scale = 0.17677669, held_out = true},
]
tolerance = {rtol = 5e-3}
"""
ATTENTION_REFERENCE = """
import numpy as np


def reference(q, k, v, *, heads, t, scale):
    score = np.einsum("htd,hsd->hts", q, k) * scale
    score = np.where(np.tril(np.ones((t, t), bool)), score, -np.inf)
    weight = np.exp(score - score.max(axis=2, keepdims=True))
    return {"o": np.einsum("hts,hsd->htd", weight / weight.sum(axis=2, keepdims=True), v)}
"""

GROUPED = """
title = "Grouped matrix product"
arguments = [
  {name = "a", dtype = "f16", shape = ["rows", "k"], role = "in", init = "normal"},
  {name = "b", dtype = "f16", shape = ["groups", "k", "n"], role = "in", init = "normal"},
  {name = "begins", dtype = "i32", shape = ["groups + 1"], role = "in", init = "offsets(rows)"},
  {name = "c", dtype = "f32", shape = ["rows", "n"], role = "out"},
  {name = "rows", dtype = "i32"},
  {name = "groups", dtype = "i32"},
  {name = "n", dtype = "i32"},
  {name = "k", dtype = "i32"},
]
cases = [
  {rows = 64, groups = 3, n = 48, k = 64},
  {rows = 37, groups = 4, n = 33, k = 40, held_out = true},
]
tolerance = {rtol = 1e-3}
"""
GROUPED_REFERENCE = """
import numpy as np


def reference(a, b, begins, *, rows, groups, n, k):
    c = np.zeros((rows, n))
    for group in range(groups):
        begin, end = int(begins[group]), int(begins[group + 1])
        c[begin:end] = a[begin:end] @ b[group]
    return {"c": c}
"""

PROBLEMS = {
    "layer_norm": (LAYER_NORM, LAYER_NORM_REFERENCE),
    "matmul": (MATMUL, MATMUL_REFERENCE),
    "attention": (ATTENTION, ATTENTION_REFERENCE),
    "grouped": (GROUPED, GROUPED_REFERENCE),
}


def write_problems(folder: Path) -> None:
    """A folder for each problem."""
    for name, (declaration, reference) in PROBLEMS.items():
        place = folder / name
        place.mkdir()
        (place / "problem.toml").write_text(declaration)
        (place / "reference.py").write_text(reference)
