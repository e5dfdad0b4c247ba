"""PyTorch modules in KernelBench's format, written for these tests."""

HEAD = """import torch
import torch.nn as nn
import torch.nn.functional as F
"""

SCALED_SUM = f"""{HEAD}

class Model(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x, y):
        return torch.sum(x * self.factor + y, dim=1)


rows, cols = 4096, 8191
factor = 0.75


def get_inputs():
    return [torch.rand(rows, cols), torch.randn(rows, cols)]


def get_init_inputs():
    return [factor]
"""

CONVOLUTION = f"""{HEAD}

class Model(nn.Module):
    def __init__(self, channels, features, window, groups):
        super().__init__()
        self.conv = nn.Conv2d(channels, features, window, stride=2, padding=1, groups=groups)
        self.norm = nn.GroupNorm(groups, features)

    def forward(self, x):
        return F.hardswish(self.norm(self.conv(x)))


batch = 32
channels, features = 64, 96
height = width = 200
window = 3
groups = 4


def get_inputs():
    return [torch.rand(batch, channels, height, width)]


def get_init_inputs():
    return [channels, features, window, groups]
"""

SEVERAL_OUTPUTS = f"""{HEAD}

class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, mask, scale: float):
        best, place = torch.min(x * scale, dim=-1)
        return {{"best": best, "place": place, "some": mask.any(dim=-1)}}


def get_inputs():
    x = torch.randn(300, 1000)
    return [x, torch.rand(300, 1000) > 0.999, 2.5]
"""

RELU = f"""{HEAD}

class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


n = 1 << 20


def get_inputs():
    return [torch.rand(n)]
"""


def module(forward: str, inputs: str = "[torch.rand(256, 256)]", *, init: str = "pass", head: str = HEAD) -> str:
    """A module with this body of forward(x) and these inputs."""
    return f"""{head}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, x):
        {forward}


def get_inputs():
    return {inputs}
"""


REFUSED = {
    "random": (
        module("return F.dropout(x, 0.5, self.training)"),
        "random: it gives another output for the same inputs",
    ),
    "dtype": (module("return torch.fft.fft(x)"), "dtype: an output has the dtype complex64"),
    "no_tensor": (module("return torch.ones(3) * x", "[3]"), "input: get_inputs() returns no tensor"),
    "text": (module("return x", "['text']"), "input: get_inputs() returns a str"),
    "result": (module("return 3.0"), "forward returns float, not a tensor"),
    "nan": (module("return torch.log(x - 2)"), "not finite: output 1 has NaN or infinity"),
    "no_inputs": ("x = 1\n", "form: the file defines no get_inputs()"),
    "no_python": ("def get_inputs(:\n", "SyntaxError"),
    "imports": (module("return x", head="import triton\n" + HEAD), "module: it imports triton"),
    "raises": (module("return x @ torch.ones(3, 3)"), "fails: line "),
    "constant": (module("return torch.clamp(torch.relu(x) * 0, 0, 1)"), "proves nothing: "),
    "exits": (module("import os; os._exit(0)"), "it ended the interpreter"),
    "weights": (
        module(
            "return self.all(x)",
            "[torch.rand(4, 8)]",
            init="self.all = nn.Sequential(*[nn.Linear(8, 8) for _ in range(30)])",
        ),
        "arguments: a kernel would have 60 weights",
    ),
}
"""Modules that cannot be imported, with the reason."""
