"""What a change did to a profile, and a diagnosis of one topic."""

from pathlib import Path
from typing import Any, get_args

import pytest

from amdkernel_mcp.engine.profile_steps import compared, profile_recording
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.measurement.counters import CaseRun, Dispatch, Footprint
from amdkernel_mcp.profiling.brief import in_full
from amdkernel_mcp.profiling.comparison import comparison
from amdkernel_mcp.profiling.diagnosis import diagnose
from amdkernel_mcp.profiling.options import ProfileOptions, options_for
from amdkernel_mcp.profiling.profile import profile
from amdkernel_mcp.profiling.rules.emulated import RULES
from amdkernel_mcp.profiling.time_change import what_they_say
from amdkernel_mcp.results.kernels import Diagnosis, Focus, ProfileResult, Span
from tests.pages.profiles import hostile_facts
from tests.profiling.test_emulated_profile import MI300X, MIB, WAVES, counts, findings, run

RECORDING = Path(__file__).parent / "recordings/vcopy/MI200"
GOOD: dict[str, Any] = {"bytes_loaded": 1024 * WAVES, "cache_lines_loaded": 8 * WAVES}


def test_findings_that_went_came_and_stayed_are_named_with_the_figures_that_changed() -> None:
    before, after = run(cache_lines_loaded=64 * WAVES), run(cache_lines_stored=64 * WAVES)
    found = comparison(before, after, name="before.hip")
    assert "Loads are not coalesced" in [each.finding for each in found.gone]
    assert "64.0 lines" in found.gone[0].because
    assert "Stores are not coalesced" in found.new
    assert set(found.new) | set(found.stayed) == set(findings(after))
    figures = {each.metric: each for each in found.figures}
    assert figures["cache_lines_loaded"].better
    assert not figures["cache_lines_stored"].better


def launched(name: str, **changed: float) -> CaseRun:
    dispatch = Dispatch(name, (4096, 1, 1), (256, 1, 1), counts(**changed), Footprint(4 * MIB, 4 * MIB), {})
    return CaseRun("n", (dispatch,))


def kernels(*launches: CaseRun) -> ProfileResult:
    return profile(runs=launches, resources=[], source="", lines=None, gpu=MI300X, target="emulator:gfx942")


SCATTERED = {"cache_lines_loaded": 64 * WAVES}


def test_a_finding_is_gone_for_the_kernel_that_has_it_no_more_though_another_kernel_has_it() -> None:
    before = kernels(launched("dx", **SCATTERED), launched("dw", **SCATTERED))
    after = kernels(launched("dx"), launched("dw", **SCATTERED))
    found = comparison(before, after, name="before.hip")
    assert "dx: Loads are not coalesced" in [each.finding for each in found.gone]
    assert "dw: Loads are not coalesced" in found.stayed
    assert "dx: Loads are not coalesced" not in found.new


def test_the_only_kernels_of_two_files_are_the_same_kernel_under_another_name() -> None:
    found = comparison(kernels(launched("naive", **SCATTERED)), kernels(launched("tiled", **SCATTERED)), name="n.hip")
    assert (found.gone, found.new) == ([], [])
    assert "Loads are not coalesced" in found.stayed


def test_times_come_first_of_all_kernels_then_of_each_as_the_profiles_have_them() -> None:
    slow = {name: 400 * value for name, value in {**SCATTERED, "bytes_loaded": 256 * WAVES}.items()}
    before, after = kernels(launched("dx", **slow), launched("dw")), kernels(launched("dx"), launched("dw"))
    whole, *each = comparison(before, after, name="before.hip").times
    assert (whole.kernel, [row.kernel for row in each]) == (None, ["dx", "dw"])
    spans = {kernel.name: kernel.modelled_us for kernel in before.kernels}
    assert {row.kernel: row.before for row in each} == spans
    assert whole.before
    assert whole.before.low == sum(span.low for span in spans.values() if span)
    assert [row.says for row in each][1] == "not distinguished: the intervals overlap"
    assert each[0].says.startswith("faster: at least ")
    assert comparison(after, before, name="b").times[1].says.startswith("slower: at least ")
    fused = comparison(before, kernels(launched("dx")), name="b").times
    assert [(row.kernel, row.says) for row in fused[2:]] == [("dw", "only before")]


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (Span(low=30, high=40), Span(low=10, high=11.9), "faster: at least 2.52 times as fast"),
        (Span(low=10, high=11.9), Span(low=30, high=40), "slower: at least 2.52 times as long"),
        (Span(low=10, high=20), Span(low=20, high=30), "not distinguished: the intervals overlap"),
        (Span(low=7, high=7), Span(low=3, high=3), "not distinguished: timed once, so that the spread is not known"),
        (None, Span(low=3, high=4), "not distinguished: a time is not known"),
    ],
)
def test_what_two_intervals_say(before: Span | None, after: Span, says: str) -> None:
    assert what_they_say(before, after) == says


def test_the_time_of_a_comparison_is_no_figure_of_its_own() -> None:
    found = comparison(run(cache_lines_loaded=64 * WAVES), run(), name="k.hip")
    assert not {"Modelled Time", "Kernel Time"} & {each.metric for each in found.figures}


def test_a_profile_is_the_same_as_itself() -> None:
    found = comparison(run(**GOOD), run(**GOOD), name="k.hip")
    assert (found.gone, found.new, found.figures) == ([], [], [])


def test_a_kernel_that_could_not_be_profiled_is_a_warning_and_not_a_difference() -> None:
    options = ProfileOptions(compare_to="void k() {}", compare_file="other.hip")
    answer = compared(run(**GOOD), options, lambda: ProfileResult(reason="it does not compile"))
    assert answer.comparison is None
    assert answer.warnings == ["not compared with other.hip: it does not compile"]


def test_two_recordings_are_compared() -> None:
    options = options_for(None, RECORDING)
    found = profile_recording(RECORDING, gpu=None, options=options).comparison
    assert found is not None
    assert found.compared_with == "MI200"
    assert found.times[0].evidence == "measured"
    assert found.times[0].before == found.times[0].after
    assert (found.gone, found.new) == ([], [])


def test_a_path_is_a_kernel_by_its_suffix(tmp_path: Path) -> None:
    kernel = tmp_path / "k.hip"
    kernel.write_text("void k() {}\n")
    assert options_for("lds", kernel) == ProfileOptions("lds", "void k() {}\n", "k.hip")
    assert options_for(None, tmp_path).compare_with_recording
    with pytest.raises(InputError):
        options_for(None, tmp_path / "missing.hip")


@pytest.mark.parametrize("topic", get_args(Focus))
def test_a_diagnosis_with_a_focus_asks_the_rules_of_this_topic_alone(topic: Focus) -> None:
    rows = diagnose(hostile_facts(), topic)
    assert {row.topic for row in rows if row.topic} <= {topic}
    assert any(rule.topic == topic for rule in RULES)
    assert rows, "what is not found is ruled out"


def test_what_may_cost_most_time_is_first_also_where_another_kernel_takes_longer() -> None:
    large = {name: 40 * value for name, value in counts().items()}
    queue = {"TCC_ATOMIC_sum": WAVES, "atomics_on_one_line": WAVES, "bytes_atomic": 256 * WAVES}
    long, short = launched("long", **large | {"SQ_WAVES": WAVES}), launched("short", **queue)
    result = kernels(long, short)
    assert [kernel.name for kernel in result.kernels] == ["long", "short"]
    rows = [row for row in result.diagnosis if "Ruled out" not in row.finding]
    assert rows[0].finding == "short: Atomics take turns on few addresses"
    assert any(row.finding.startswith("long: ") for row in rows[1:])
    assert "Ruled out" in result.diagnosis[-1].finding
    assert "Ruled out" in result.diagnosis[-2].finding


def test_a_finding_that_hardly_changes_the_time_is_only_named() -> None:
    row = Diagnosis.model_validate({"finding": "f", "because": "b", "try": "t"})
    gains = [Span(low=1, high=1.1), Span(low=1, high=3), Span(low=1.1, high=1.1), None]
    assert [each.gain for each in in_full([row.model_copy(update={"gain": gain}) for gain in gains])] == gains[1:]


def test_a_gain_is_an_interval_in_which_the_launch_has_its_part() -> None:
    rows = [row for row in diagnose(hostile_facts()) if row.gain]
    assert rows
    for row in rows:
        assert row.gain is not None
        assert 1 <= row.gain.low <= row.gain.high <= 20
