"""The wheel has everything that the product needs, and works without a checkout."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def run(*command: str | Path, cwd: Path, timeout: float = 300) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, timeout=timeout
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.thorough
def test_the_wheel_carries_tools_sandbox_documentation_sources_and_examples(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for part in (
        "py.typed",
        "stdio/handshake.json",
        "pages/templates/home.html",
        "pages/static/page.css",
        "_bundled/tools/check_kernel.py",
        "_bundled/sandbox/runner/run_job.py",
        "_bundled/sandbox/emulator/emulator.h",
        "_bundled/sandbox/image/seccomp.json",
        "_bundled/docs_index/vocabulary.toml",
        "_bundled/examples/row_softmax/problem.toml",
        "_bundled/docs/problems.md",
        "_bundled/cookbook/first-mfma-gemm/guide.md",
    ):
        assert f"amdkernel_mcp/{part}" in names, f"the wheel lacks {part}"


@pytest.mark.sandbox
@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_wheel_works_in_an_empty_environment_from_any_directory(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    binaries = tmp_path / "venv" / "bin"
    run(binaries / "python", "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path, timeout=500)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "twice.hip").write_text(
        "// amdkernel: launch twice grid=[1] block=[64]\n"
        'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }\n'
    )
    compiled = json.loads(run(binaries / "amdkernel", "compile", "twice.hip", "--json", cwd=elsewhere))
    assert [kernel["name"] for kernel in compiled["kernels"]] == ["twice"]
    targets = json.loads(run(binaries / "amdkernel", "targets", "--json", cwd=elsewhere))
    assert "emulator:gfx942" in [target["name"] for target in targets["targets"]]
