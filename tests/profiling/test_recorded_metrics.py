"""Metrics of real recordings against rocprof-compute's own figures and against what a copy must do."""

import csv
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from amdkernel_mcp.profiling.import_recording import import_recording

RECORDINGS = Path(__file__).parent / "recordings"
WORKLOADS = ("vcopy/MI100", "vcopy/MI200", "no_roof/MI300X_A1")


def expected() -> list[dict[str, str]]:
    with (RECORDINGS / "expected.csv").open() as stream:
        return list(csv.DictReader(stream))


@cache
def metrics(workload: str, rule: Any = "mean_of_ratios"):
    return import_recording(RECORDINGS / workload, rule=rule).kernels[0].metrics


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize(
    ("rule", "column"), [("mean_of_ratios", "value_mean_of_ratios"), ("ratio_of_sums", "value_ratio_of_sums")]
)
def test_every_figure_agrees_to_a_thousandth(workload, rule, column):
    wrong = []
    for row in expected():
        if row["workload"] != workload or (rule == "ratio_of_sums" and not row[column]):
            continue
        got = metrics(workload, rule)[row["metric"]]
        want = float(row[column]) if row[column] else None
        if got.unit != row["unit"] or got.value != (want if want is None else pytest.approx(want, rel=1e-3)):
            wrong.append((row["metric"], got, want))
    assert not wrong


@pytest.mark.parametrize("workload", WORKLOADS)
def test_what_rocprof_compute_prints_is_what_we_print(workload):
    for row in expected():
        if row["workload"] == workload and row["value_rocprof_compute"]:
            got = metrics(workload)[row["metric"]]
            assert got.value == pytest.approx(float(row["value_rocprof_compute"]), rel=1e-3), row["metric"]
            assert got.evidence == "measured"


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_copy_of_8_mib_reads_8_mib(workload):
    by_sums = metrics(workload, "ratio_of_sums")
    total = by_sums["L2-Fabric Read BW"].value * by_sums["Kernel Time"].value
    assert total == pytest.approx(8 * 2**20, rel=0.003)
    assert metrics(workload)["SQ_WAVES"].value == 16384


def test_lds_conflicts_of_a_kernel_without_lds_are_not_zero_but_unknown():
    conflicts = metrics("vcopy/MI200")["LDS Bank Conflicts/Access"]
    assert conflicts.value is None
    assert conflicts.evidence == "not_measured"


def test_an_occupancy_with_the_denominator_of_another_pass_says_so():
    found = metrics("no_roof/MI300X_A1")
    assert "another pass" in found["Wavefront Occupancy, % of peak"].note
    right = found["Wavefront Occupancy, same-pass denominator, % of peak"]
    assert 27 < right.value < 29


def test_percentages_diluted_by_an_idle_front_end_are_lower_bounds():
    assert "lower bound" in metrics("no_roof/MI300X_A1")["VALU Utilization"].note
    assert metrics("vcopy/MI200")["VALU Utilization"].note is None


@pytest.mark.parametrize("workload", WORKLOADS)
def test_no_verdict_is_drawn_from_a_kernel_this_short(workload):
    result = import_recording(RECORDINGS / workload)
    assert result.kernels[0].bound is None
    assert not any("bound by" in row.finding and "no verdict" not in row.finding for row in result.diagnosis)


def test_no_matrix_counters_on_an_mi100_means_no_flop_metric():
    assert "FLOP rate" not in metrics("vcopy/MI100")
    assert metrics("vcopy/MI200")["FLOP rate"].value == 0
