"""Task folders in the formats of GPU-MODE and AgentKernelArena, written for these tests."""

from pathlib import Path

MEAN_TASK = """files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "task.py", "source": "task.py"}
  - {"name": "utils.py", "source": "../utils.py"}
  - {"name": "helpers_of_the_task.py", "source": "helpers_of_the_task.py"}
lang: "py"
tests:
  - {"rows": 48, "cols": 33, "kind": "wide", "seed": 7}
  - {"rows": 16, "cols": 20, "kind": "wide", "seed": 8}
benchmarks:
  - {"rows": 8192, "cols": 8192, "kind": "wide", "seed": 9}
"""
MEAN_REFERENCE = """from __future__ import annotations

import torch
from helpers_of_the_task import SCALE
from task import input_t, output_t
from utils import make_match_reference


def generate_input(rows: int, cols: int, kind: str, seed: int) -> input_t:
    gen = torch.Generator(device="cuda")
    gen.manual_seed(seed)
    x = torch.randn(rows, cols, device="cuda", dtype=torch.float32, generator=gen)
    out = torch.empty(rows, device="cuda")
    assert kind == "wide"
    return {"x": x * 2 + 1, "out": out, "config": [kind, 3]}


def ref_kernel(data: input_t) -> output_t:
    x, out = data["x"].to("cuda"), data["out"]
    out[...] = x.mean(dim=1) * SCALE
    torch.cuda.synchronize()
    return out


check_implementation = make_match_reference(ref_kernel, rtol=1e-3)
"""
ARENA_MODULE = """import torch
import torch.nn as nn


class Scale(nn.Module):
    def __init__(self, by=1.0):
        super().__init__()
        self.by = by

    def forward(self, x):
        return torch.tanh(x) * self.by


def get_inputs():
    for shape in ([512], [64, 128], [8, 64, 32, 32]):
        yield [torch.randn(shape, dtype=torch.float32).cuda()]


def get_init_inputs():
    return [[], {"by": 3.0}]
"""


def gpu_mode(folder: Path) -> Path:
    """A task whose data is a dict with the memory of the output and a list."""
    folder.mkdir(parents=True)
    (folder / "task.yml").write_text(MEAN_TASK)
    (folder / "reference.py").write_text(MEAN_REFERENCE)
    (folder / "task.py").write_text("from typing import Any\ninput_t = output_t = Any\n")
    (folder.parent / "utils.py").write_text("def make_match_reference(function, **_):\n    return function\n")
    (folder / "helpers_of_the_task.py").write_text("SCALE = 0.5\n")
    return folder


def arena(folder: Path, *, module: bool = True) -> Path:
    """A task of AgentKernelArena, with or without a PyTorch module."""
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("source_file_path:\n- hip/scale.hip\ntask_type: hip2hip\n")
    if module:
        (folder / "pytorch_code_module").mkdir()
        (folder / "pytorch_code_module" / "py_scale.py").write_text(ARENA_MODULE)
    return folder
