"""The simulated GPU clock behind HIP's events gives the series of measurement/timing/simulated_clock.py."""

import json
import re
import tomllib
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.measurement.timing.simulated_clock import SimulatedGpu, read_parameters

SAMPLES, BUFFER_SETS, SEED = 2000, 4, 5
BUILD = 'hipcc -O1 --offload-arch=gfx942 -Wno-unused-command-line-argument clock.hip -o "$OUT/clock"'
RUN = """
chmod +x clock
export LD_LIBRARY_PATH=/opt/amdkernel/emulator
for seed in {seeds}; do
    AMDKERNEL_EMULATOR_REPORT=$OUT/$seed.%p.report AMDKERNEL_EMULATOR_OPTIONS=clock=simulated,clock_seed=$seed \\
        ./clock {samples} >$OUT/$seed.times
done
"""


@pytest.fixture(scope="module")
def printed(sandbox: Sandbox) -> dict[str, str]:
    source = (Path(__file__).parent / "clock.hip").read_bytes()
    built = sandbox.run("compile", ["sh", "-c", BUILD], {"clock.hip": source}, timeout_s=300)
    assert built.exit_code == 0, built.stderr
    script = RUN.format(samples=SAMPLES, seeds=f"{SEED} {SEED + 1}")
    done = sandbox.run("run", ["sh", "-c", script], built.files, timeout_s=300)
    assert done.exit_code == 0, done.stderr
    return {name: content.decode() for name, content in done.files.items()}


def times_us(printed: dict[str, str], seed: int) -> list[float]:
    return [float(line.split()[1]) for line in printed[f"{seed}.times"].splitlines()]


def full_clock_us(report: str) -> list[float]:
    """Of each launch, from what it executed: sandbox/emulator/hip/clock/clock.c."""
    counters = [json.loads(line)["counters"] for line in report.splitlines()]
    return [2 + 0.01 * each["SQ_INSTS"] + 1e-5 * (each["bytes_loaded"] + each["bytes_stored"]) for each in counters]


def test_events_have_the_times_of_the_python_clock(printed: dict[str, str]) -> None:
    [report] = [text for name, text in printed.items() if re.fullmatch(rf"{SEED}\.\d+\.report", name)]
    true_us = full_clock_us(report)
    gpu = SimulatedGpu(read_parameters(), seed=SEED, buffer_sets=BUFFER_SETS)
    expected = [float(gpu.run([us], kernels=[i % 2])[0]) for i, us in enumerate(true_us)]
    found = times_us(printed, SEED)
    assert gpu.now_us > 1e6, "the ramp, several bursts and the drift are part of it"
    assert max(abs(np.subtract(found, expected))) <= 1, "one tick, where the two round differently"
    assert np.mean(np.not_equal(found, expected)) < 0.001


def test_the_report_has_start_and_end_of_each_launch_on_that_clock(printed: dict[str, str]) -> None:
    [report] = [text for name, text in printed.items() if re.fullmatch(rf"{SEED}\.\d+\.report", name)]
    spans = [json.loads(line)["clock_us"] for line in report.splitlines()]
    between_events = np.subtract(times_us(printed, SEED), [end - start for start, end in spans])
    assert abs(between_events - read_parameters().event_overhead).max() <= 1, (
        "they differ by the cost of the events, and a tick"
    )


def test_another_seed_is_another_history(printed: dict[str, str]) -> None:
    assert times_us(printed, SEED) != times_us(printed, SEED + 1)


def test_both_clocks_have_the_same_parameters() -> None:
    text = files("amdkernel_mcp.measurement.timing").joinpath("simulated_clock.toml").read_text(encoding="utf-8")
    ours = {name: float(table["value"]) for name, table in tomllib.loads(text).items()}
    definitions = (folder("sandbox") / "emulator/hip/clock/parameters.def").read_text(encoding="utf-8")
    assert {name: float(value) for name, value in re.findall(r"^P\((\w+), ([\d.]+)\)$", definitions, re.M)} == ours
