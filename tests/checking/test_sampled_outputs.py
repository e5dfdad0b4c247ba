"""What a sample of the workgroups wrote is judged in a profile: right values are never called wrong."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from amdkernel_mcp.checking import measured
from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.profile import Profile
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.measurement import job
from amdkernel_mcp.results.kernels import ProfileResult
from tests.one_in import one_in

pytestmark = [pytest.mark.sandbox, pytest.mark.thorough]
WRONG = "the outputs of this run are wrong: "


@dataclass(frozen=True)
class Example:
    """A problem and its right kernel; `case` and the arguments are lines of problem.toml."""

    arguments: tuple[str, ...]  # name dtype role shape [what else]
    case: str
    reference: str
    launch: str
    parameters: str
    body: str


def folder_of(example: Example, folder: Path) -> str:
    """The problem, written into an empty folder."""
    text = 'title = "t"\n'
    for line in example.arguments:
        name, dtype, role, shape, *more = line.split(maxsplit=4)
        dimensions = ", ".join(f'"{each}"' for each in shape.split(","))
        text += f'[[arguments]]\nname = "{name}"\ndtype = "{dtype}"\nrole = "{role}"\nshape = [{dimensions}]\n'
        text += "".join(more) + ("" if role == "out" or more else 'init = "normal"\n') + "\n"
    scalars = [part.split("=")[0].strip() for part in example.case.split(",")]
    text += "".join(f'[[arguments]]\nname = "{name}"\ndtype = "i32"\n' for name in scalars)
    text += "[[cases]]\n" + "\n".join(part.strip() for part in example.case.split(",")) + "\n"
    folder.mkdir(exist_ok=True)
    (folder / "problem.toml").write_text(text)
    (folder / "reference.py").write_text("import numpy as np\n\n\n" + example.reference)
    return str(folder)


def kernel(example: Example, body: str = "") -> str:
    """Its source, with another body where one is given."""
    return f"""// amdkernel: launch k {example.launch}
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
extern "C" __global__ void k({example.parameters})
{{
{body or example.body}
}}
"""


EXAMPLES = {
    "elementwise": Example(
        ("x f32 in n", "y f32 out n"),
        "n = 100003",
        "def reference(x, *, n):\n    return {'y': 2 * x + 1}\n",
        "grid=[ceil_div(n, 256)] block=[256]",
        "const float* x, float* y, int n",
        "int i = blockIdx.x * 256 + threadIdx.x;\nif (i < n)\n    y[i] = 2 * x[i] + 1;",
    ),
    "in place": Example(
        ("x f32 inout n",),
        "n = 100003",
        "def reference(x, *, n):\n    return {'x': np.maximum(x, 0) * 3}\n",
        "grid=[ceil_div(n, 256)] block=[256]",
        "float* x, int n",
        "int i = blockIdx.x * 256 + threadIdx.x;\nif (i < n)\n    x[i] = fmaxf(x[i], 0.0f) * 3;",
    ),
    "two outputs": Example(
        ("x f32 in n", "y f32 out n", "z f16 out n"),
        "n = 65536",
        "def reference(x, *, n):\n    return {'y': x * x, 'z': x - 1}\n",
        "grid=[ceil_div(n, 256)] block=[256]",
        "const float* x, float* y, _Float16* z, int n",
        "int i = blockIdx.x * 256 + threadIdx.x;\nif (i < n) {\n    y[i] = x[i] * x[i];\n    z[i] = x[i] - 1;\n}",
    ),
    "product": Example(
        ("a f16 in n,n", "b f16 in n,n", "c f32 out n,n"),
        "n = 200",
        "def reference(a, b, *, n):\n    return {'c': a @ b}\n",
        "grid=[ceil_div(n, 16), ceil_div(n, 16)] block=[16, 16]",
        "const _Float16* a, const _Float16* b, float* c, int n",
        """int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
if (row >= n || col >= n)
    return;
float sum = 0;
for (int i = 0; i < n; i++)
    sum += (float)a[row * n + i] * (float)b[i * n + col];
c[row * n + col] = sum;""",
    ),
    "a sum for each row": Example(
        ("x f32 in rows,cols", "y f32 out rows"),
        "rows = 1000, cols = 300",
        "def reference(x, *, rows, cols):\n    return {'y': x.sum(axis=1)}\n",
        "grid=[rows] block=[64]",
        "const float* x, float* y, int rows, int cols",
        """float sum = 0;
for (int i = threadIdx.x; i < cols; i += 64)
    sum += x[blockIdx.x * cols + i];
for (int s = 32; s; s /= 2)
    sum += __shfl_xor(sum, s);
if (threadIdx.x == 0)
    y[blockIdx.x] = sum;""",
    ),
    "the last tile over the one before": Example(
        ("x f32 in n", "y f32 out n"),
        "n = 100003",
        "def reference(x, *, n):\n    return {'y': 2 * x + 1}\n",
        "grid=[ceil_div(n, 256)] block=[256]",
        "const float* x, float* y, int n",
        "int i = min((int)blockIdx.x * 256, n - 256) + threadIdx.x;\ny[i] = 2 * x[i] + 1;",
    ),
    "every workgroup writes the same": Example(
        ("x f32 in n", "y f32 out n", "total f32 out m"),
        "n = 65536, m = 64",
        "def reference(x, *, n, m):\n    return {'y': x + x[0], 'total': np.full(m, x[0])}\n",
        "grid=[ceil_div(n, 256)] block=[256]",
        "const float* x, float* y, float* total, int n, int m",
        """int i = blockIdx.x * 256 + threadIdx.x;
y[i] = x[i] + x[0];
if (threadIdx.x < 64)
    total[threadIdx.x] = x[0];""",
    ),
    "bytes of a word by four workgroups": Example(
        ("x i32 in n init = 'integers(-1000, 1000)'", "y i32 out n"),
        "n = 16384",
        "def reference(x, *, n):\n    return {'y': x}\n",
        "grid=[ceil_div(n, 256), 4] block=[256]",
        "const int* x, unsigned char* y, int n",
        "int i = blockIdx.x * 256 + threadIdx.x;\ny[4 * i + blockIdx.y] = x[i] >> (8 * blockIdx.y);",
    ),
    "NaN where one is expected": Example(
        ("x f32 in n", "y f32 out n non_finite = true"),
        "n = 65536",
        "def reference(x, *, n):\n    return {'y': np.sqrt(x)}\n",
        "grid=[ceil_div(n, 256)] block=[256]",
        "const float* x, float* y, int n",
        "int i = blockIdx.x * 256 + threadIdx.x;\ny[i] = sqrtf(x[i]);",
    ),
    "minus one, which is the poison": Example(
        ("x i32 in n init = 'integers(-1000, 1000)'", "y i32 out n"),
        "n = 65536",
        "def reference(x, *, n):\n    return {'y': np.where(x > 0, -1, x)}\n",
        "grid=[ceil_div(n, 256)] block=[256]",
        "const int* x, int* y, int n",
        "int i = blockIdx.x * 256 + threadIdx.x;\ny[i] = x[i] > 0 ? -1 : x[i];",
    ),
}
ADDED = Example(
    ("x f32 in n,m", "y f32 inout n"),
    "n = 256, m = 128",
    "def reference(x, y, *, n, m):\n    return {'y': y + x.sum(axis=1)}\n",
    "grid=[m] block=[256]",
    "const float* x, float* y, int n, int m",
    "unsafeAtomicAdd(&y[threadIdx.x], x[threadIdx.x * m + blockIdx.x]);",
)
WRONG_KERNELS = {
    "one term too few": ("product", "i < n; i++", "i < n - 1; i++"),
    "the second half of the grid": ("elementwise", "2 * x[i] + 1", "2 * x[i] + (blockIdx.x > 200 ? 2 : 1)"),
    "the last workgroup": ("elementwise", "2 * x[i] + 1", "2 * x[i] + (blockIdx.x == gridDim.x - 1 ? 2 : 1)"),
    "one output of two": ("two outputs", "x[i] - 1", "x[i] + 1"),
    "a sum that leaves out the last columns": ("a sum for each row", "i < cols", "i < cols - 44"),
    "in place": ("in place", "* 3", "* 3 + (i % 7 == 0)"),
    "NaN": ("elementwise", "2 * x[i] + 1", "sqrtf(x[i])"),
}


@pytest.fixture(scope="module")
def engine(sandbox: Sandbox, settings: Settings) -> Iterator[Engine]:
    assert sandbox
    engine = Engine(settings)
    yield engine
    engine.close()


@pytest.fixture(autouse=True)
def _sample_small_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "SAMPLE_ABOVE", 1)


def profiled(engine: Engine, example: Example, folder: Path, body: str = "") -> ProfileResult:
    result = engine.do(Profile(problem=folder_of(example, folder), source=kernel(example, body), file_name="k.hip"))
    assert result.kernels, result.reason
    assert result.kernels[0].sampled, result.warnings
    return result


@pytest.mark.parametrize("name", one_in(3, EXAMPLES))
def test_a_right_kernel_is_never_called_wrong(engine: Engine, tmp_path: Path, name: str) -> None:
    result = profiled(engine, EXAMPLES[name], tmp_path)
    assert not any(text.startswith(WRONG) for text in result.warnings), result.warnings
    assert result.findings == []
    (said,) = (text for text in result.warnings if text.startswith("sampled: "))
    assert "were judged" in said or "bytes of" in name, said


@pytest.mark.parametrize("name", one_in(3, WRONG_KERNELS))
def test_a_kernel_that_is_wrong_in_a_workgroup_of_the_sample_is_found(
    engine: Engine, tmp_path: Path, name: str
) -> None:
    of, right, wrong = WRONG_KERNELS[name]
    example = EXAMPLES[of]
    assert right in example.body
    result = profiled(engine, example, tmp_path, example.body.replace(right, wrong))
    assert result.warnings[0].startswith(WRONG)
    assert "never" not in result.warnings[0], "what others write is not missed"
    assert {"wrong_result", "nan_or_inf"} & {finding.kind for finding in result.findings}
    assert result.warnings[1].startswith("sampled: ")


def test_sums_to_which_several_workgroups_add_are_not_judged(engine: Engine, tmp_path: Path) -> None:
    (said,) = profiled(engine, ADDED, tmp_path).warnings
    assert said.endswith("outputs are not judged: by atomics, several workgroups may write an element")


def test_outputs_too_large_for_the_reference_are_not_judged(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "MOST_ELEMENTS", 1000)
    example = EXAMPLES["elementwise"]
    (said,) = profiled(engine, example, tmp_path, example.body.replace("+ 1", "+ 2")).warnings
    assert said.endswith("outputs are not judged: the arrays have more than 1,000 elements")


def test_a_reference_that_fails_leaves_the_profile_of_a_sample_as_it_is(engine: Engine, tmp_path: Path) -> None:
    example = replace(EXAMPLES["elementwise"], reference="def reference(x, *, n):\n    return {'y': 1 / 0}\n")
    (said,) = profiled(engine, example, tmp_path).warnings
    assert "outputs are not judged: reference failed in case n=100003: ZeroDivisionError" in said


def test_a_sample_that_changes_no_output_is_not_judged(engine: Engine, tmp_path: Path) -> None:
    (said,) = profiled(engine, EXAMPLES["elementwise"], tmp_path, "if (x[0] > 1e30f)\n    y[0] = 1;").warnings
    assert said.endswith("outputs are not judged: no element of them was changed")


CUT_OFF = {
    "a mask": "unsigned i = (blockIdx.x * 256 + threadIdx.x) & 0x7fff;\nif (i < n)\n    y[i] = 2 * x[i] + 1;",
    "sixteen bits": "unsigned short i = blockIdx.x * 256 + threadIdx.x;\nif (i < n)\n    y[i] = 2 * x[i] + 1;",
}


@pytest.mark.parametrize("name", CUT_OFF)
def test_an_index_that_is_cut_off_leaves_the_end_of_an_output_unjudged(
    engine: Engine, tmp_path: Path, name: str
) -> None:
    example = EXAMPLES["elementwise"]
    (said,) = profiled(engine, example, tmp_path, CUT_OFF[name]).warnings
    assert re.search(r"were judged, but nothing of y from element [\d,]+ of 100,003 on was written$", said), said
