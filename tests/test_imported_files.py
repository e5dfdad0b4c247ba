"""The files that a kernel in Python imports travel with its text, and are found again where it is compiled."""

import subprocess
import sys
from pathlib import Path

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.imported_files import BEGIN, PACKAGE, with_imported_files
from amdkernel_mcp.kernel_source import read_kernel
from amdkernel_mcp.languages.table import language_of

KERNEL = """import triton
from project.ops.shared import scale as factor
from .near import add
from project.runtime import device
import torch


@triton.jit
def kernel(x):
    from project.late import late
"""
FILES = {
    "pyproject.toml": "",
    "project/__init__.py": "raise SystemExit('importing all of the project')\n",
    "project/late.py": "late = 1\n",
    "project/runtime/__init__.py": "import vendor_of_theirs\ndevice = 'gpu'\n",
    "project/ops/__init__.py": "",
    "project/ops/shared.py": "from ..deep import base\n\nscale = base * 2\n\ndef host():\n    import project.unused\n",
    "project/ops/near.py": "def add(a, b):\n    return a + b\n",
    "project/deep.py": "base = 21\n",
    "project/unused.py": "",
    "outside.py": "",
}


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    for name, text in {**FILES, "project/ops/kernel.py": KERNEL}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "project/ops/kernel.py"


def carried(text: str) -> list[str]:
    return [line.removeprefix(BEGIN) for line in text.splitlines() if line.startswith(BEGIN)]


def test_the_files_that_a_kernel_imports_follow_its_own_lines(kernel: Path) -> None:
    text = read_kernel(kernel).source
    assert text.startswith(KERNEL)
    assert carried(text) == [
        "project/ops/shared.py",
        "project/ops/near.py",
        "project/runtime/__init__.py",
        "project/late.py",
        "project/deep.py",
    ]
    assert f"\n{PACKAGE}project.ops\n" in text
    assert with_imported_files(kernel, text) == text, "a text that has its files already"


def test_nothing_outside_of_the_project_is_read(kernel: Path) -> None:
    (kernel.parents[2] / "pyproject.toml").unlink()
    text = KERNEL.replace("project.ops.shared", "outside")
    assert carried(with_imported_files(kernel, text)) == ["near.py"]
    alone = kernel.with_name("alone.py")
    assert with_imported_files(alone, "import triton, os, numpy\n") == "import triton, os, numpy\n"
    (kernel.parents[2] / "pyproject.toml").touch()
    near = kernel.with_name("near.py")
    near.unlink()
    near.symlink_to("/etc/hostname")
    assert "project/ops/near.py" not in carried(with_imported_files(kernel, KERNEL))


def test_a_plan_next_to_a_kernel_in_python_is_its_plan(kernel: Path) -> None:
    kernel.with_name("kernel.py.plan").write_text("; amdkernel: launch kernel grid=[4] types=[*f32]\n")
    source = read_kernel(kernel).source
    plan = language_of(source, "kernel.py").read_plan(source)
    assert [(launch.kernel, launch.line) for launch in plan.launches] == [("kernel", KERNEL.count("\n") + 1)]


def test_of_imports_that_depend_on_a_package_that_is_not_here_those_that_work_are_taken(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("""import vendor_of_theirs
if vendor_of_theirs.version() >= (3, 0):
    try:
        from math import tanh
    except ModuleNotFoundError:
        from vendor_of_theirs import tanh
else:
    from vendor_of_theirs.old import tanh
""")
    (tmp_path / "candidate_module.py").write_bytes((folder("sandbox") / "languages/candidate_module.py").read_bytes())
    script = """import candidate_module, types
module = types.ModuleType("kernel")
candidate_module.run_candidate(module)
print(module.tanh.__module__, module.tanh(0.0))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "math 0.0"


def test_what_is_carried_is_imported_where_the_kernel_is_compiled(kernel: Path, tmp_path: Path) -> None:
    place = tmp_path / "sandbox"
    place.mkdir()
    (place / "kernel.py").write_text(read_kernel(kernel).source.replace("import triton\n", "import types as triton\n"))
    (place / "candidate_module.py").write_bytes((folder("sandbox") / "languages/candidate_module.py").read_bytes())
    script = """import candidate_module, types
module = types.ModuleType("kernel")
candidate_module.sys.meta_path.insert(0, candidate_module.HostOnly())
failed = candidate_module.run_candidate(module)
print(module.factor, module.add(1, 2), module.device, [str(each) for each in failed])
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=place, capture_output=True, text=True, check=True)
    no_jit = "AttributeError: module 'types' has no attribute 'jit'"
    assert done.stdout.strip() == f'42 3 gpu ["{no_jit}"]'
