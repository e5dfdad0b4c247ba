"""The noise floor of a GPU: stored, refreshed, and of one GPU and one ROCm only."""

from pathlib import Path

import pytest

from amdkernel_mcp.measurement.timing.noise_floors import OLDEST_S, NoiseFloors

SPEEDUPS = [1.0, 1.001, 0.999, 1.002, 0.996, 1.0, 1.001, 1.003]


def test_a_floor_is_known_after_eight_runs_and_survives_the_process(tmp_path: Path) -> None:
    floors = NoiseFloors(tmp_path, "local 1a2b")
    assert (floors.missing("7.2"), floors.floor("7.2")) == (8, None)
    floors.add(SPEEDUPS[:5], "7.2")
    assert (floors.missing("7.2"), floors.floor("7.2")) == (3, None)
    floors.add(SPEEDUPS[5:], "7.2")
    again = NoiseFloors(tmp_path, "local 1a2b")
    assert again.floor("7.2") == pytest.approx(1 / 0.996 - 1)


def test_another_gpu_another_rocm_and_old_runs_do_not_count(tmp_path: Path) -> None:
    floors = NoiseFloors(tmp_path, "local 1a2b")
    floors.add(SPEEDUPS, "7.2", now_s=1000.0)
    assert floors.floor("7.2", now_s=1000.0 + OLDEST_S - 1) is not None
    assert floors.missing("7.2", now_s=1000.0 + OLDEST_S + 1) == 8
    assert floors.missing("7.1", now_s=1000.0) == 8
    assert NoiseFloors(tmp_path, "local 1a2c").missing("7.2", now_s=1000.0) == 8


@pytest.mark.parametrize(
    "content", ["", "{", "[1]", '[{"speedup": "a"}]', '[{"speedup": -1, "at_s": 0, "rocm": "7.2"}]']
)
def test_a_damaged_file_is_measured_again(tmp_path: Path, content: str) -> None:
    floors = NoiseFloors(tmp_path, "local 1a2b")
    floors.add(SPEEDUPS, "7.2")
    next((tmp_path / "noise_floors").iterdir()).write_text(content)
    assert floors.missing("7.2") == 8
