"""What waves wait for is named by samples and traces, and nothing is named that they do not show."""

import pytest

from amdkernel_mcp.profiling.readers.kernel_code import Cost, KernelCode, Method, Place
from amdkernel_mcp.profiling.rules.waits import diagnose_waits, interval, waited_for


def stochastic(*rows: tuple[str, str, int]) -> KernelCode:
    """Instruction, reason and number of samples; an empty reason is an issued instruction."""
    costs = {}
    for line, (text, reason, number) in enumerate(rows, start=1):
        reasons = {reason: number} if reason else {}
        cost = Cost(samples=number, stalled=number if reason else 0, reasons=reasons)
        costs[Place(text, f"k.hip:{line}", 1, 8 * line)] = cost
    return KernelCode("k", "stochastic samples", costs)


def findings(code: KernelCode) -> list[str]:
    return [found.finding.removeprefix("k: ") for found in diagnose_waits(code)]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("s_waitcnt vmcnt(2)", "memory"),
        ("s_waitcnt lgkmcnt(0)", "lds"),
        ("s_waitcnt vmcnt(0) lgkmcnt(0)", "data"),
        ("s_waitcnt_vscnt null, 0x0", "stores"),
        ("s_wait_loadcnt 0x0", "memory"),
        ("s_wait_loadcnt_dscnt 0x0", "data"),
        ("s_wait_dscnt 0x0", "lds"),
        ("s_wait_storecnt 0x0", "stores"),
        ("s_barrier", "barrier"),
        ("s_barrier_wait 0xffff", "barrier"),
        ("s_waitcnt expcnt(0)", "other"),
        ("v_add_f32 v0, v0, v1", None),
    ],
)
def test_an_instruction_says_what_it_waits_for(text: str, what: str | None) -> None:
    assert waited_for(text) == what


@pytest.mark.parametrize(
    ("text", "reason", "finding"),
    [
        ("s_waitcnt vmcnt(0)", "WAITCNT", "Waves wait for loads from memory"),
        ("s_waitcnt lgkmcnt(0)", "WAITCNT", "Waves wait for LDS or scalar loads"),
        ("s_barrier", "BARRIER_WAIT", "Waves wait at barriers"),
        ("global_load_dword v0, v1, s[0:1]", "ARBITER_WIN_EX_STALL", "Waves queue for the memory pipe"),
        ("ds_read_b32 v0, v1", "ARBITER_NOT_WIN", "Waves queue for the LDS pipe"),
        ("v_mfma_f32_16x16x16_f16 a[0:3], v0, v1, 0", "ARBITER_NOT_WIN", "Waves queue for the matrix cores"),
        ("v_add_f32 v0, v0, v1", "ARBITER_NOT_WIN", "Waves queue for the vector ALU"),
        ("v_add_f32 v0, v0, v1", "ALU_DEPENDENCY", "Waves wait for results of their own instructions"),
        ("v_add_f32 v0, v0, v1", "NO_INSTRUCTION_AVAILABLE", "Waves wait for instructions"),
    ],
)
def test_a_reason_that_dominates_is_the_finding(text: str, reason: str, finding: str) -> None:
    assert findings(stochastic((text, reason, 600), ("v_mul_f32 v0, v0, v1", "", 400))) == [finding]


def test_a_kernel_whose_waves_issue_has_no_finding() -> None:
    assert findings(stochastic(("v_add_f32 v0, v0, v1", "", 700), ("s_waitcnt vmcnt(0)", "WAITCNT", 200))) == []


def test_a_large_share_of_few_samples_is_not_a_finding() -> None:
    assert findings(stochastic(("s_barrier", "BARRIER_WAIT", 19), ("v_add_f32 v0, v0, v1", "", 41))) == []
    assert findings(stochastic(("s_barrier", "BARRIER_WAIT", 1900), ("v_add_f32 v0, v0, v1", "", 4100)))


def test_waits_of_many_kinds_are_named_together() -> None:
    rows = [("s_barrier", "BARRIER_WAIT", 150), ("s_waitcnt vmcnt(0)", "WAITCNT", 200)]
    code = stochastic(*rows, ("v_add_f32 v0, v0, v1", "ALU_DEPENDENCY", 150), ("v_mul_f32 v0, v0, v1", "", 500))
    (found,) = diagnose_waits(code)
    assert "none dominates" in found.finding
    assert "Waves wait for loads from memory (20%)" in found.because
    assert found.places[0] == "k.hip:2"


def test_where_the_memory_is_at_its_limit_more_loads_in_flight_are_not_advised() -> None:
    code = stochastic(("s_waitcnt vmcnt(0)", "WAITCNT", 600), ("v_add_f32 v0, v0, v1", "", 400))
    (found,) = diagnose_waits(code, bandwidth_bound=True)
    assert "move fewer bytes" in found.try_
    assert "issue these loads earlier" not in found.try_


@pytest.mark.parametrize("method", ["host-trap samples", "stochastic samples"])
def test_a_sample_at_an_instruction_that_does_not_wait_is_no_wait_without_a_reason(method: Method) -> None:
    code = KernelCode("k", method, {Place("v_add_f32 v0, v0, v1"): Cost(samples=500)})
    assert diagnose_waits(code) == []


def test_idle_cycles_of_a_trace_are_gaps_whose_reason_is_not_guessed() -> None:
    code = KernelCode("k", "thread trace", {Place("v_add_f32 v0, v0, v1"): Cost(hits=9, latency=4000, idle=6000)})
    assert "Waves pause before their instructions are taken" in findings(code)[0]


def test_the_interval_of_a_share_holds_it_and_shrinks_with_samples() -> None:
    few, many = interval(30, 100), interval(3000, 10_000)
    assert few[0] < 0.3 < few[1]
    assert many[1] - many[0] < (few[1] - few[0]) / 5
    assert interval(0, 10)[0] == 0
    assert interval(10, 10)[1] == 1
