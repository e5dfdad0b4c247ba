"""What `amdkernel run --profile` shows of one kernel: nothing of the others, and no option that the command lacks."""

import pytest

from amdkernel_mcp.cli.show.program_profile import show_program_profile
from tests.profiling.test_program_profile import profiled, record


def test_of_one_kernel_its_own_findings_are_shown_and_each_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    profile = profiled([record("scale", read=1 << 30), record("total", groups=1)], [])
    show_program_profile(profile, kernel="total", as_json=False)
    shown = capsys.readouterr().err
    assert "scale" in shown.partition("waves:")[0], "the table has all kernels"
    assert "scale" not in shown.partition("waves:")[2]
    assert "total: " in shown.partition("waves:")[2]
    assert all("total: " in line for line in shown.splitlines() if line.startswith("●") or "Ruled out" in line)


def test_the_rest_is_where_this_command_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    show_program_profile(profiled([record("a")], []), kernel="a", as_json=False)
    shown = capsys.readouterr().err
    assert "(--json has all)" in shown
    assert "--html" not in shown


def test_microseconds_are_written_in_one_way(capsys: pytest.CaptureFixture[str]) -> None:
    show_program_profile(profiled([record("a")], []), kernel="a", as_json=False)
    shown = capsys.readouterr().err
    assert " us" in shown
    assert "µs" not in shown
