"""The keys that scripts rely on, on the real compiler and emulator: none may go, and stdout is one JSON document."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from amdkernel_mcp import bundled
from amdkernel_mcp.config import Settings
from amdkernel_mcp.execution.sandbox import Sandbox
from tests.waiting import AT_MOST_S

pytestmark = pytest.mark.sandbox
COMMAND = str(Path(sys.executable).with_name("amdkernel"))
EXAMPLE = bundled.folder("examples") / "vector_add"

COMPILE = {"ok", "arch", "seconds", "cached", "code_object", "diagnostics", "kernels"}
COMPARISON = {"compared_with", "verdict", "reason", "arch", "flags", "toolchain", "kernels", "gone", "new"}
RESOURCES = {
    "name",
    "vgpr",
    "agpr",
    "sgpr",
    "lds_bytes",
    "scratch_bytes",
    "vgpr_spills",
    "sgpr_spills",
    "wavefront_size",
    "occupancy_waves_per_simd",
    "instructions",
}
CHECK = {"verdict", "reason", "target", "evidence", "cases", "findings"}
CASE = {"case", "held_out", "verdict", "reason", "max_abs_err", "max_rel_err", "violations", "worst"}
BENCHMARK = {"verdict", "reason", "speedup", "time_us", "noise_floor", "flags"}
PROFILE = {"kernels", "diagnosis"}
KERNEL_PROFILE = {"name", "dispatches", "metrics", "bound", "hot_lines"}
DIAGNOSIS = {"finding", "because", "try", "docs"}
TARGET = {"name", "kind", "arch", "gpu", "rocm", "default", "ready"}


@pytest.fixture
def amdkernel(sandbox: Sandbox, settings: Settings) -> Any:
    """Runs a command over this test session's folders; its exit code and its one JSON document."""
    assert sandbox

    def call(*arguments: str) -> tuple[int, dict[str, Any]]:
        import os

        folders = {"AMDKERNEL_DATA_DIR": str(settings.data_dir), "AMDKERNEL_CACHE_DIR": str(settings.cache_dir)}
        ended = subprocess.run(
            [COMMAND, *arguments, "--json"], env=os.environ | folders, capture_output=True, text=True, timeout=AT_MOST_S
        )
        assert ended.stdout.count("\n") == 1, f"not one document: {ended.stdout!r}\n{ended.stderr}"
        return ended.returncode, json.loads(ended.stdout)

    return call


@pytest.mark.thorough
def test_compile(amdkernel: Any, tmp_path: Path) -> None:
    code, answer = amdkernel("compile", str(EXAMPLE / "kernels/naive.hip"))
    assert code == 0, answer
    assert set(answer) >= COMPILE
    assert set(answer["kernels"][0]) >= RESOURCES
    assert answer["code_object"].startswith("sha256:")
    code, answer = amdkernel(
        "compile", "--compare", str(EXAMPLE / "kernels/naive.hip"), str(EXAMPLE / "kernels/naive.hip")
    )
    assert (code, set(answer["comparison"])) == (0, COMPARISON)
    broken = tmp_path / "broken.hip"
    broken.write_text('extern "C" __global__ void k(float* y) {\n  y[0] = x;\n}\n')
    code, answer = amdkernel("compile", str(broken))
    assert (code, answer["ok"], answer["code_object"]) == (1, False, None)
    diagnostic = answer["diagnostics"][0]
    assert (diagnostic["severity"], diagnostic["line"], diagnostic["column"]) == ("error", 2, 10)


@pytest.mark.thorough
def test_check(amdkernel: Any) -> None:
    code, answer = amdkernel("check", "vector_add", str(EXAMPLE / "kernels/naive.hip"))
    assert set(answer) >= CHECK
    assert (code, answer["verdict"]) == (0, "correct"), answer["reason"]
    assert all(set(case) >= CASE for case in answer["cases"])
    broken = next((EXAMPLE / "kernels").glob("broken*.hip"))
    code, answer = amdkernel("check", "vector_add", str(broken))
    assert code == 1
    assert answer["verdict"] == "incorrect", answer["reason"]
    assert all({"kind", "message", "line"} <= set(finding) for finding in answer["findings"])


def test_a_bad_problem_is_wrong_input(amdkernel: Any) -> None:
    code, answer = amdkernel("check", "no_such_problem", str(EXAMPLE / "kernels/naive.hip"))
    assert code == 2
    assert list(answer["error"]) == ["message", "file", "line", "hint"]


@pytest.mark.thorough
def test_benchmark(amdkernel: Any) -> None:
    kernel = str(EXAMPLE / "kernels/naive.hip")
    code, answer = amdkernel("benchmark", "vector_add", kernel)
    assert code == 0, answer
    assert set(answer) >= BENCHMARK
    assert set(answer["speedup"]) >= {"value", "low", "high"}
    assert answer["time_us"]["evidence"] == "modelled", "an emulated time is never measured"


@pytest.mark.thorough
def test_profile(amdkernel: Any) -> None:
    code, answer = amdkernel("profile", "vector_add", str(EXAMPLE / "kernels/naive.hip"))
    assert code == 0, answer
    assert set(answer) >= PROFILE
    kernel = answer["kernels"][0]
    assert set(kernel) >= KERNEL_PROFILE
    assert all({"value", "unit", "evidence"} <= set(metric) for metric in kernel["metrics"].values())
    assert all(set(diagnosis) >= DIAGNOSIS for diagnosis in answer["diagnosis"])


@pytest.mark.thorough
def test_targets_and_doctor(amdkernel: Any) -> None:
    code, answer = amdkernel("targets")
    assert code == 0
    assert all(set(target) >= TARGET for target in answer["targets"])
    assert "emulator:gfx942" in {target["name"] for target in answer["targets"]}
    code, answer = amdkernel("doctor")
    assert code == (0 if answer["ok"] else 1)
    assert all({"name", "status", "found", "remedy"} <= set(check) for check in answer["checks"])
