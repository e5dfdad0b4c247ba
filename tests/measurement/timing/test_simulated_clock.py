"""The simulated GPU clock: each effect is visible, and one seed gives one history."""

from dataclasses import fields, replace

import numpy as np
import pytest

from amdkernel_mcp.measurement.timing.simulated_clock import QUIET, Parameters, SimulatedGpu, read_parameters


def gpu(seed: float = 1, buffer_sets: float = 1, **changes: float) -> SimulatedGpu:
    """A GPU without noise, except for the changes."""
    quiet = replace(read_parameters(), **QUIET)
    return SimulatedGpu(replace(quiet, **changes), seed=int(seed), buffer_sets=int(buffer_sets))


def times(device: SimulatedGpu, us: float, count: int, *, batch: int = 1) -> np.ndarray:
    return device.run([us] * count, kernels=[0] * count, batch=batch)


def test_one_seed_gives_one_history_and_another_seed_another() -> None:
    noisy = read_parameters()
    first, again, other = (times(SimulatedGpu(noisy, seed=seed), 300, 50) for seed in (7, 7, 8))
    assert (first == again).all()
    assert (first != other).any()


def test_every_parameter_has_a_unit_and_a_basis() -> None:
    import tomllib
    from importlib.resources import files

    text = files("amdkernel_mcp.measurement.timing").joinpath("simulated_clock.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    assert set(tables) == {field.name for field in fields(Parameters)}
    for name, table in tables.items():
        assert set(table) == {"value", "unit", "basis"}, name
        assert table["basis"].split(":")[0] in ("reported", "documented", "assumed"), name


def test_without_noise_a_time_is_the_duration_and_the_overhead() -> None:
    device = gpu()
    overhead_us = device.parameters.event_overhead
    assert times(device, 300, 100).mean() == pytest.approx(300 + overhead_us, abs=0.1)
    batch_us = 20 * 10 + overhead_us + 19 * device.parameters.launch_gap
    assert times(device, 10, 100, batch=20).mean() == pytest.approx(batch_us, abs=0.1)


def test_event_times_are_whole_ticks_and_differ_by_one() -> None:
    assert set(times(gpu(), 10.4, 200)) == {15.0, 16.0}


def test_an_idle_gpu_is_slow_for_at_least_400_ms_and_then_steady() -> None:
    device = gpu(idle_clock=0.5)
    first = times(device, 1000, 100)
    assert first[0] == pytest.approx(2005, rel=0.01), "half the clock takes twice as long"
    assert (np.diff(first) <= 1).all(), "a rising clock shortens each launch"
    device.work(300e3 - device.now_us)
    assert times(device, 1000, 1)[0] > 1100, "the ramp takes 400 ms or more"
    device.work(1e6)
    assert times(device, 1000, 100).mean() == pytest.approx(1005, abs=0.1)


def test_a_long_gap_lowers_the_clock_and_a_short_one_does_not() -> None:
    device = gpu(idle_clock=0.5)
    device.work(1e6)
    device.idle(5e3)
    assert times(device, 1000, 1)[0] == pytest.approx(1005, abs=1)
    device.idle(1e6)
    assert times(device, 1000, 1)[0] > 1900


def test_drift_steps_and_a_neighbour_slow_neighbouring_launches_alike() -> None:
    for effect in ({"drift": 0.05}, {"thermal_step_size": 0.05}, {"neighbour_slowdown": 0.5}):
        found = times(gpu(**effect), 1000, 10_000)
        assert found.std() / found.mean() > 0.01, effect
        assert np.median(abs(np.diff(found))) < found.std() / 2, f"{effect}: 0.95 of it where neighbours do not matter"


def test_outliers_are_rare_and_long() -> None:
    found = times(gpu(tail_probability=0.03), 1000, 5000) / 1005
    assert np.median(found) == pytest.approx(1, abs=0.001)
    assert 0.02 < (found > 1.04).mean() < 0.04
    assert found.max() > 1.5


def test_a_buffer_set_has_its_own_time_and_rotation_visits_all() -> None:
    found = times(gpu(buffer_sets=4, placement=0.05, event_resolution=0.001), 1000, 8)
    assert len(set(found.round(1))) == 4
    assert found[:4] == pytest.approx(found[4:], abs=0.01)


def test_a_time_beyond_the_history_is_an_error() -> None:
    device = gpu()
    device.idle(121e6)
    with pytest.raises(ValueError, match="ends after"):
        times(device, 10, 1)
