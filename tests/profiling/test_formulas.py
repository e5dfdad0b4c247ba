"""The formula language, the figures of the GPUs, the passes of rocprofv3, and the page that documents all of it."""

from collections import Counter
from pathlib import Path

import pytest

from amdkernel_mcp.errors import UnknownTargetError
from amdkernel_mcp.expressions import Formula
from amdkernel_mcp.hardware.specs import all_gpus, gpu_by_name, lookup
from amdkernel_mcp.profiling.metrics.recorded import ARCHITECTURES, definitions
from amdkernel_mcp.profiling.metrics.reference import filled
from amdkernel_mcp.profiling.rocprofv3 import (
    ACCUMULATED,
    ALONE,
    LIMITS,
    block_of,
    commands,
    plan_passes,
    wanted_counters,
)

REPOSITORY = Path(__file__).parents[2]


def test_a_formula_is_arithmetic_over_names():
    assert Formula("100 * a / (b - -c)").value({"a": 1, "b": 1, "c": 1}) == 50
    assert Formula("max(a, min(b, 3))").value({"a": 1, "b": 5}) == 3
    assert Formula("max(a, b)").names == {"a", "b"}


def test_an_absent_name_and_a_zero_denominator_have_no_value():
    assert Formula("a / b").value({"a": 1}) is None
    assert Formula("a / b").value({"a": 1, "b": 0}) is None
    assert Formula("a * 0").value({}) is None


@pytest.mark.parametrize("text", ["a +", "a ** 2", "a.b", "[a]", "a if b else c", "'a'", "f(a)", "lambda: 0"])
def test_what_is_no_arithmetic_is_refused(text):
    with pytest.raises(ValueError, match=r"expected|ends too early|cannot be a name|no function"):
        Formula(text).value({"a": 1, "b": 1, "c": 1})


@pytest.mark.parametrize(
    ("name", "found"),
    [("MI300X", "MI300X"), ("AMD Instinct MI300X", "MI300X"), ("gfx942", "MI300X"), ("MI300X_A1", "MI300X"),
     ("gfx942:sramecc+:xnack-", "MI300X"), ("mi250x", "MI250X (per GCD)"), ("AMD Radeon RX 7900 XTX", "RX 7900 XTX")],
)  # fmt: skip
def test_a_gpu_is_found_by_the_names_that_people_and_tools_use(name, found):
    assert gpu_by_name(name).name == found


def test_the_cu_count_tells_parts_of_one_gfx_apart():
    assert lookup("gfx942", cus=228).name == "MI300A"
    assert lookup("gfx90a", cus=104).name == "MI210"
    with pytest.raises(UnknownTargetError, match="H100"):
        gpu_by_name("H100")


def test_peaks_are_those_of_the_data_sheets():
    assert gpu_by_name("MI300X").peak_flops("matrix_f16") == pytest.approx(1307.4e12, rel=1e-3)
    assert gpu_by_name("MI350X").peak_flops("matrix_f6f4") == pytest.approx(9227.5e12, rel=1e-3)
    assert gpu_by_name("MI300X").peak_flops("matrix_f6f4") is None
    assert all(gpu.source and gpu.confidence for gpu in all_gpus())


@pytest.mark.parametrize("gfx", ARCHITECTURES)
def test_metric_names_are_unique_and_formulas_parse(gfx):
    names = [
        definition.name for definition in definitions(gfx) if all(formula.names for formula in definition.formulas)
    ]
    assert len(set(names)) == len(definitions(gfx))


def test_an_unknown_architecture_has_no_formulas_of_another():
    assert all(definition.fallback and not definition.text for definition in definitions("gfx1250"))
    assert definitions("gfx1200") == definitions("gfx1201") != definitions("gfx1100")
    assert definitions("gfx940") == definitions("gfx942")


@pytest.mark.parametrize("gfx", ARCHITECTURES)
def test_no_pass_asks_for_more_than_a_block_can_count(gfx):
    passes = plan_passes(wanted_counters(gfx))
    for one in passes:
        assert one[0] == "GRBM_GUI_ACTIVE"
        assert all(n <= LIMITS.get(block, 1) for block, n in Counter(map(block_of, one)).items()), one
    counters = {counter for group in wanted_counters(gfx) for counter in group}
    assert counters <= {counter for one in passes for counter in one}


@pytest.mark.parametrize(("gfx", "counters"), [
    ("gfx1100", {"SQ_WAVE_CYCLES", "SQ_WAIT_ANY", "GL2C_HIT", "SQC_LDS_BANK_CONFLICT", "GL2C_MC_WRREQ", "LdsLatency"}),
    ("gfx1201", {"SQ_WAVE_CYCLES", "SQ_WAIT_ANY", "GL2C_HIT", "SQC_LDS_BANK_CONFLICT", "SQ_INST_CYCLES_VALU"}),
    ("gfx942", {"MeanOccupancyPerCU", "VmemLatency", "LdsLatency", "SQ_WAIT_ANY", "TCC_EA0_RDREQ_sum"}),
])  # fmt: skip
def test_a_profile_asks_for_occupancy_latency_and_caches_on_each_architecture(gfx, counters):
    assert counters <= {counter for one in plan_passes(wanted_counters(gfx)) for counter in one}


def test_a_counter_that_accumulates_is_alone_in_its_pass():
    for one in plan_passes(wanted_counters("gfx942")):
        assert not ACCUMULATED & set(one) or len(one) == 2, one


def test_fetch_size_is_counted_alone_and_a_ratio_within_one_pass():
    for one in plan_passes([["FETCH_SIZE"], ["WRITE_SIZE"], ["SQ_WAVES"]]):
        assert not ALONE & set(one) or len(one) == 2
    ratio = ["TCC_HIT_sum", "TCC_MISS_sum"]
    assert any(set(ratio) <= set(one) for one in plan_passes([["TCC_REQ_sum"], ["TCC_EA0_RDREQ_sum"], ratio]))


def test_time_comes_from_a_run_of_its_own_and_the_program_after_two_dashes():
    *counting, trace = commands("gfx942", folder="/out", program=["run", "it"], kernels=["k<float>(int*)", "other"])
    assert "--kernel-trace" in trace
    assert "--pmc" not in trace
    for command in (*counting, trace):
        assert command[-3:] == ["--", "run", "it"]
        assert "k<float>\\(int\\*\\)|other" in command


def test_the_documentation_of_the_metrics_is_what_is_computed():
    page = (REPOSITORY / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert filled(page) == page, "run: python -m amdkernel_mcp.profiling.metrics.reference docs/metrics.md"
