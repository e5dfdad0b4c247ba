"""A complete problem to start from, and a function that writes one with some text replaced."""

from pathlib import Path

TOML = """\
title = "Row softmax"

[[arguments]]
name = "x"
dtype = "f32"
shape = ["rows", "cols"]
role = "in"
init = "normal"

[[arguments]]
name = "y"
dtype = "f32"
shape = ["rows", "cols"]
role = "out"

[[arguments]]
name = "rows"
dtype = "i32"

[[arguments]]
name = "cols"
dtype = "i32"

[[cases]]
rows = 4
cols = 10

[[cases]]
rows = 7
cols = 33
held_out = true

[tolerance]
rtol = 1e-5
"""

REFERENCE = """\
import numpy as np


def reference(x, *, rows, cols):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return {"y": e / e.sum(axis=1, keepdims=True)}
"""

_ONE_TO_ONE = """\
[[arguments]]
name = "x"
dtype = "f32"
shape = ["n"]
role = "in"

[[arguments]]
name = "y"
dtype = "f32"
shape = ["n"]
role = "out"

[[arguments]]
name = "n"
dtype = "i32"
"""


def one_to_one(*cases: str, title: str = "", more: str = "") -> str:
    """A problem of n floats `x` to n floats `y`. `cases`: the lines of each; `more`: tables at the end."""
    head = f'title = "{title}"\n\n' if title else ""
    return head + "\n".join([_ONE_TO_ONE, *(f"[[cases]]\n{case}\n" for case in cases), more])


def write_problem(folder: Path, toml: str = TOML, reference: str | None = REFERENCE) -> Path:
    """A problem folder with these two files."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "problem.toml").write_text(toml)
    if reference is not None:
        (folder / "reference.py").write_text(reference)
    return folder


def changed(old: str, new: str, text: str = TOML) -> str:
    """`text` with its first `old` replaced."""
    assert old in text, f"{old!r} is not in the text"
    return text.replace(old, new, 1)
