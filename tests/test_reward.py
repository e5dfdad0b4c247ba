"""What a record brings: the formula of docs/reward.md, and that nothing but a correct kernel brings anything."""

from math import inf, log, nan
from typing import Any

import pytest

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.reward import CAP, CORRECT, RewardOptions, reward, rewards

NAIVE, FAST = "a" * 64, "b" * 64


def benchmark(low: object = 2.0, *, evidence: str = "measured", verdict: str = "faster", **more: Any) -> dict[str, Any]:
    answer = {"speedup": {"value": 2.5, "low": low, "high": 3}, "time_us": {"value": 1, "evidence": evidence}}
    return {
        "verb": "benchmark",
        "verdict": verdict,
        "source": FAST,
        "baseline": NAIVE,
        "target": "local:0",
        "answer": answer | more,
        "options": {},
    }


def check(verdict: str = "correct", **answer: Any) -> dict[str, Any]:
    return {"verb": "check", "verdict": verdict, "source": FAST, "answer": answer, "options": {}, "target": "local:0"}


def of_speedup(low: float) -> float:
    return CORRECT + (1 - CORRECT) * min(1, log(low) / log(CAP))


@pytest.mark.parametrize(
    "verdict",
    ["incorrect", "invalid", "crashed", "timeout", "deadlock", "not_emulated", "not_measured", "", None, "Correct", 7],
)
def test_all_but_correct_brings_nothing(verdict: Any) -> None:
    for record in (check(verdict), benchmark(verdict=verdict), check() | {"verb": "compile", "verdict": verdict}):
        assert reward(record).value == 0


@pytest.mark.parametrize("verb", ["compile", "profile", "tune_row", "check_program", "", None])
def test_records_that_prove_nothing_bring_nothing(verb: Any) -> None:
    assert reward(check() | {"verb": verb}).value == 0
    assert reward(benchmark() | {"verb": verb}).value == 0


def test_correct_alone_brings_its_share() -> None:
    assert reward(check()).value == CORRECT
    for verdict in ("slower", "inconclusive"):
        assert reward(benchmark(verdict=verdict)).value == CORRECT


@pytest.mark.parametrize("low", [1.01, 2.0, 5.0, 10.0])
def test_a_measured_speed_up_counts_by_its_lower_end(low: float) -> None:
    found = reward(benchmark(low))
    assert found.value == pytest.approx(of_speedup(low))
    assert f"{low:.3g} to " in found.because
    assert "of which the low end counts" in found.because


def test_the_reward_is_capped() -> None:
    assert reward(benchmark(1e9)).value == 1.0
    assert reward(benchmark(4.0), RewardOptions(cap=4)).value == 1.0


@pytest.mark.parametrize("low", [nan, inf, -3, 0, 1, None, "9", True, [5]])
def test_a_number_that_is_none_brings_no_more_than_correct(low: object) -> None:
    assert reward(benchmark(low)).value == CORRECT


def test_modelled_times_count_only_if_asked() -> None:
    record = benchmark(evidence="modelled")
    assert reward(record).value == CORRECT
    assert reward(record, RewardOptions(modelled=True)).value == pytest.approx(of_speedup(2.0))
    for evidence in ("emulated", "static", "not_measured", ""):
        assert reward(benchmark(evidence=evidence), RewardOptions(modelled=True)).value == CORRECT


@pytest.mark.parametrize(
    "record",
    [
        benchmark(flags=["suspicious"]),
        benchmark() | {"baseline": None},
        benchmark() | {"baseline": FAST},
        benchmark() | {"answer": None},
    ],
    ids=["suspicious", "no baseline", "itself", "no answer"],
)
def test_a_speed_up_without_a_proof_brings_no_more_than_correct(record: dict[str, Any]) -> None:
    assert reward(record).value == CORRECT


def test_a_baseline_and_a_problem_can_be_required() -> None:
    assert reward(benchmark(), RewardOptions(baseline=NAIVE)).value > CORRECT
    assert reward(benchmark(), RewardOptions(baseline="c" * 64)).value == CORRECT
    hashes = {"problem": "sha256:p"}
    assert reward(check(hashes=hashes), RewardOptions(problem="sha256:p")).value == CORRECT
    assert reward(check(hashes=hashes), RewardOptions(problem="sha256:q")).value == 0
    assert reward(check(), RewardOptions(problem="sha256:q")).value == 0


def test_inputs_that_were_known_before_bring_nothing() -> None:
    assert reward(check(seeds={"replayed": True})).value == 0
    assert reward(check() | {"options": {"seeds": [1, 2]}}).value == 0
    assert reward(check(seeds={"replayed": False})).value == CORRECT


def test_a_sweep_is_correct_where_it_has_a_best_row_and_is_compared_with_itself_only() -> None:
    sweep = benchmark(best={"TILE": "1"}) | {"verb": "tune", "baseline": None}
    assert reward(sweep).value == CORRECT
    assert reward(benchmark(best=None) | {"verb": "tune"}).value == 0


def profile(**metrics: tuple[float, str]) -> dict[str, Any]:
    named = {name.replace("_", " "): {"value": value, "evidence": kind} for name, (value, kind) in metrics.items()}
    return check() | {"verb": "profile", "verdict": "profiled", "answer": {"kernels": [{"metrics": named}]}}


HALF = profile(VALU_Lane_Utilization=(50.0, "emulated"), Request_Amplification=(2.0, "emulated"))


def test_shaping_lies_within_the_share_of_correct() -> None:
    half = RewardOptions(shaping=0.5)
    assert [each.value for each in rewards([check(), HALF], half)] == [pytest.approx(CORRECT * 0.75), 0]
    perfect = profile(VALU_Lane_Utilization=(100.0, "emulated"))
    assert reward(check(), half, profile=perfect).value == CORRECT
    assert reward(check(), half).value == pytest.approx(CORRECT / 2), "without a profile its share is not earned"
    assert reward(check("incorrect"), half, profile=perfect).value == 0
    assert reward(check(), profile=HALF).value == CORRECT, "off unless asked"


def test_a_profile_of_another_kernel_or_with_wrong_outputs_or_modelled_shapes_nothing() -> None:
    options = RewardOptions(shaping=1.0)
    assert reward(check(), options, profile=HALF | {"source": NAIVE}).value == 0
    wrong = HALF | {"answer": HALF["answer"] | {"findings": [{"kind": "wrong_result"}]}}
    assert reward(check(), options, profile=wrong).value == 0
    modelled = profile(Load_Coalescing=(100.0, "modelled"))
    assert reward(check(), options, profile=modelled).value == 0
    assert reward(check(), RewardOptions(shaping=1.0, modelled=True), profile=modelled).value == CORRECT


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"verb": []},
        benchmark() | {"verdict": []},
        benchmark(flags=3),
        {"verb": "check", "verdict": "correct", "answer": [1]},
    ],
)
def test_a_record_of_an_unexpected_form_is_no_error(record: dict[str, Any]) -> None:
    assert 0 <= reward(record).value <= CORRECT


@pytest.mark.parametrize(
    "given", [{"correct": 0}, {"correct": 1.1}, {"cap": 1}, {"cap": nan}, {"shaping": -0.1}, {"shaping": 2}]
)
def test_options_out_of_bounds_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        RewardOptions(**given)
