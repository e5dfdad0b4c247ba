"""What a change did to a profile, and a diagnosis of one topic."""

from pathlib import Path
from typing import Any, get_args

import pytest

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.profile_steps import compared, profile_recording
from amdkernel_mcp.profiling.comparison import comparison
from amdkernel_mcp.profiling.diagnosis import diagnose
from amdkernel_mcp.profiling.options import ProfileOptions, options_for
from amdkernel_mcp.profiling.rules.emulated import RULES
from amdkernel_mcp.results.kernels import Focus, ProfileResult
from tests.pages.profiles import hostile_facts
from tests.profiling.test_emulated_profile import WAVES, findings, run

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


def test_a_gain_is_an_interval_in_which_the_launch_has_its_part() -> None:
    rows = [row for row in diagnose(hostile_facts()) if row.gain]
    assert rows
    for row in rows:
        assert row.gain is not None
        assert 1 <= row.gain.low <= row.gain.high <= 20
