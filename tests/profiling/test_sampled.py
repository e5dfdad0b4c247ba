"""What a profile says of a sample: estimates with their error, never as exact counts."""

import pytest

from amdkernel_mcp.measurement.counters import Dispatch, Sample
from amdkernel_mcp.measurement.job import Measured
from amdkernel_mcp.profiling.metrics.metric import quantity
from amdkernel_mcp.profiling.sampled import judged_outputs, remarks, sampled_workgroups, scaled


def dispatch(sample: Sample | None, *, insts: float = 100, why: str = "") -> Dispatch:
    return Dispatch("k", (64, 16, 1), (256, 1, 1), {"SQ_INSTS": insts}, sample=sample, not_sampled=why)


def test_a_launch_of_which_all_workgroups_ran_has_no_sample() -> None:
    assert sampled_workgroups([dispatch(None)], "gfx942") is None
    metrics = {"SQ_INSTS": quantity(100, "instructions", "emulated")}
    assert scaled(metrics, None) == metrics
    assert remarks("k", [dispatch(None)], None) == []


def test_the_error_of_a_sum_is_that_of_its_sampled_part() -> None:
    ran = [dispatch(Sample(96, 1024, {"SQ_INSTS": 0.02})), dispatch(None, insts=300)]
    found = sampled_workgroups(ran, "gfx942")
    assert found
    assert (found.ran, found.of) == (96 + 1024, 2048)
    assert found.errors == {"SQ_INSTS": pytest.approx(0.005)}


def test_a_scaled_count_is_modelled_and_names_its_error_but_a_static_one_stays() -> None:
    found = sampled_workgroups([dispatch(Sample(96, 1024, {"SQ_INSTS": 0.02}))], "gfx942")
    metrics = {"SQ_INSTS": quantity(100, "instructions", "emulated"), "LDS": quantity(64, "B", "static")}
    after = scaled(metrics, found)
    assert (after["SQ_INSTS"].evidence, after["SQ_INSTS"].note) == ("modelled", "scaled from a sample, ±2 %")
    assert after["LDS"] == metrics["LDS"]


def test_the_reader_is_told_how_many_workgroups_ran_and_what_was_judged() -> None:
    ran = [dispatch(Sample(96, 1024, {"SQ_INSTS": 0.02}))]
    (said,) = remarks("k", ran, sampled_workgroups(ran, "gfx942"))
    for part in ("96 of 1,024 workgroups of k", "±2 % at most", "outputs are not judged", "at least 96 %"):
        assert part in said
    judged = judged_outputs(Measured(judged_elements=24576))
    (said,) = remarks("k", ran, sampled_workgroups(ran, "gfx942"), judged)
    assert said.endswith("; the 24,576 elements that they wrote were judged")


def test_the_reader_is_told_why_a_large_launch_ran_in_full() -> None:
    assert remarks("k", [dispatch(None, why="it has few workgroups")], None) == [
        "all workgroups of k ran: it has few workgroups"
    ]
