"""The stand-in for rocprofv3 accepts what our profiles ask for, and refuses what the real one would."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rocm_image import counters_of_gfx942

from amdkernel_mcp.profiling.rocprofv3 import commands

START = ("-f", "csv", "-d", "{folder}", "-o", "out_%pid%")


@pytest.fixture
def rocprofv3(tmp_path: Path) -> Path:
    shutil.copy(Path(__file__).parent / "rocm" / "rocprofv3", tmp_path)
    (tmp_path / "counters.txt").write_text("\n".join(counters_of_gfx942()))
    return tmp_path / "rocprofv3"


def run(rocprofv3: Path, *words: str) -> subprocess.CompletedProcess[str]:
    words = tuple(word.format(folder=rocprofv3.parent / "recorded") for word in words)
    return subprocess.run([sys.executable, rocprofv3, *words], capture_output=True, text=True, check=False)


def test_every_pass_of_a_profile_is_accepted(rocprofv3: Path) -> None:
    planned = commands("gfx942", folder="{folder}", program=["true"], kernels=["f(int*)", "g"])
    assert len(planned) > 2
    for command in planned:
        ended = run(rocprofv3, *command[1:])
        assert (command[0], ended.returncode, ended.stderr) == ("rocprofv3", 0, "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*START, "--pmc", "SQ_WAVES", "true"), "the application follows"),
        ((*START, "--pmc", "SQ_WAVES", "--"), "no application"),
        ((*START, "--stats", "--pmc", "SQ_WAVES", "--", "true"), "unrecognized arguments: --stats"),
        ((*START, "--", "true"), "nothing to record"),
        ((*START, "--pmc", "SQ_WAVE", "--", "true"), "no counter of gfx942 is called SQ_WAVE"),
        ((*START, "--pmc", "FETCH_SIZE", "SQ_WAVES", "--", "true"), "counted alone"),
        ((*START, "--pmc", "TD_TD_BUSY_sum", "TD_TC_STALL_sum", "TD_LOAD_WAVEFRONT_sum", "--", "true"), "exceed"),
        (("-f", "rocpd", *START[2:], "--kernel-trace", "--", "true"), "invalid choice"),
    ],
)
def test_what_the_real_one_refuses_is_refused(rocprofv3: Path, words: tuple[str, ...], said: str) -> None:
    ended = run(rocprofv3, *words)
    assert ended.returncode != 0
    assert said in ended.stderr
