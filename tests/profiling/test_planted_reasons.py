"""Kernels with one planted reason each, and kernels that are fine: what their diagnosis says first.

`make bench` prints the table. The files in planted/ say what each kernel does.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from amdkernel_mcp.config import Settings
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.execution.targets import find_target
from benchmarks.planted_kernels import FOLDER, TITLES, Ran, run_file

pytestmark = pytest.mark.sandbox

GATE = ("lds.hip",)
FILES = [
    pytest.param(path, id=path.stem, marks=pytest.mark.slow if path.name in GATE else pytest.mark.thorough)
    for path in sorted(FOLDER.glob("*.hip"))
]


@pytest.fixture(scope="module")
def run(sandbox: Sandbox, settings: Settings) -> Callable[[Path], Ran]:
    target = find_target("emulator:gfx942", settings)
    return cache(lambda path: run_file(path, sandbox, target, settings.cache_dir))


@pytest.mark.parametrize("path", FILES)
def test_the_planted_reason_is_among_the_first_three_findings(run: Callable[[Path], Ran], path: Path) -> None:
    ran = run(path)
    for kernel, (kind, reason) in ran.kernels.items():
        if kind == "planted":
            rank = ran.rank(kernel)
            assert rank in (1, 2, 3), f"{kernel}: {reason} is not named first by {ran.findings(kernel)}"


@pytest.mark.parametrize("path", FILES)
def test_no_false_finding_is_first_for_a_control(run: Callable[[Path], Ran], path: Path) -> None:
    ran = run(path)
    for kernel, (kind, _) in ran.kernels.items():
        if kind == "control":
            assert ran.is_fine(kernel), f"{kernel}: {ran.profile(kernel).diagnosis[0]}"


@pytest.mark.thorough
def test_nine_in_ten_cures_are_seen_as_an_improvement(run: Callable[[Path], Ran]) -> None:
    ran = run(FOLDER / "cures.hip")
    gains = {kernel: ran.gain_of(kernel) for kernel in ran.cures}
    unseen = {kernel: gain for kernel, gain in gains.items() if gain is None or gain.low <= 1}
    assert len(gains) >= 10
    assert len(unseen) <= 0.1 * len(gains), unseen


@pytest.mark.thorough
def test_nine_in_ten_planted_reasons_are_the_first_finding(run: Callable[[Path], Ran]) -> None:
    everything = [run(path) for path in sorted(FOLDER.glob("*.hip")) if path.name != "held_out.hip"]
    ranks = {name: ran.rank(name) for ran in everything for name, (kind, _) in ran.kernels.items() if kind == "planted"}
    late = {name: rank for name, rank in ranks.items() if rank != 1}
    assert len(ranks) >= 30
    assert len(late) <= 0.1 * len(ranks), late


def test_each_planted_kernel_has_a_reason_that_some_finding_names() -> None:
    text = "\n".join(path.read_text() for path in FOLDER.glob("*.hip"))
    reasons = {line.split(": ")[1] for line in text.splitlines() if line.startswith("// planted: ")}
    assert reasons == TITLES.keys()
