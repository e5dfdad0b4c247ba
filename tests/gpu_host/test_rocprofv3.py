"""The stand-in for rocprofv3 accepts what our profiles ask for, refuses what the real one would, and writes when it
would."""

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from rocm_image import counters_of_gfx942

from amdkernel_mcp.profiling.rocprofv3 import commands, listed_counters, missing_counters, wanted_counters

START = ("-f", "csv", "-d", "{folder}", "-o", "out_%pid%")


@pytest.fixture
def rocprofv3(tmp_path: Path) -> Path:
    return installed(tmp_path, "gfx942", counters_of_gfx942())


def installed(folder: Path, arch: str, counters: Iterable[str]) -> Path:
    """The stand-in in a folder, for a GPU of this architecture with these counters."""
    sources = Path(__file__).parent / "rocm"
    shutil.copy(sources / "rocprofv3", folder)
    (folder / "rocprofv3-avail").symlink_to("rocprofv3")
    (folder / "counters.txt").write_text("\n".join([arch, *counters]))
    library = str(folder / "librocprofv3-in-a-box.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, str(sources / "rocprofv3_tool.c")], check=True)
    return folder / "rocprofv3"


def counters_of_rdna4_in_rocm_7_0() -> set[str]:
    """What our metrics ask for, without what counter_defs.yaml of ROCm 7.0 does not define for gfx1201."""
    wanted = {name for group in wanted_counters("gfx1201") for name in group}
    return (wanted | {"GRBM_GUI_ACTIVE"}) - {"TCP_REQ", "TCP_REQ_MISS", "SQ_INST_CYCLES_VALU"}


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


# What a program does at its end, and how many of its processes rocprofv3 writes files for. `launch` does what the
# emulator's library does in a launch: it writes a line about it to a file called by the process.
LAUNCH = """
import json, os, signal, subprocess, sys
def launch():
    line = {"kernel": "k", "clock_us": [1, 2], "counters": {}, "grid": [1, 1, 1], "block": [64, 1, 1], "lds_bytes": 0}
    with open(os.environ["ROCM_IN_A_BOX_STUB_REPORT"].replace("%p", str(os.getpid())), "a") as file:
        file.write(json.dumps(line) + chr(10))
if sys.argv[1:]:
    launch()
    sys.exit()
"""


@pytest.mark.parametrize(
    ("ending", "written"),
    [
        ("launch()", 1),
        ("launch(); sys.exit(3)", 1),
        ("launch(); os._exit(0)", 0),
        ("launch(); os.kill(os.getpid(), signal.SIGKILL)", 0),
        ("launch(); os.abort()", 1),
        ("launch(); os.fork() or launch()", 1),
        ("os.fork() or (launch(), sys.exit(0)); os.wait()", 0),
        ("subprocess.run([sys.executable, __file__, 'again'])", 1),
        ("pass", 0),
    ],
)
def test_a_process_leaves_files_only_where_it_ends_through_exit_and_was_not_forked(
    rocprofv3: Path, ending: str, written: int
) -> None:
    program = rocprofv3.parent / "program.py"
    program.write_text(LAUNCH + ending)
    ended = run(rocprofv3, *START, "--kernel-trace", "--", sys.executable, str(program))
    assert len(list((rocprofv3.parent / "recorded").glob("out_*_kernel_trace.csv"))) == written, ended.stderr


def test_a_pass_of_the_counters_that_a_release_lacks_is_refused_as_a_whole(tmp_path: Path) -> None:
    tool = installed(tmp_path, "gfx1201", counters_of_rdna4_in_rocm_7_0())
    planned = commands("gfx1201", folder="{folder}", program=["true"], kernels=["k"])
    ended = [run(tool, *command[1:]) for command in planned]
    assert [one.returncode for one in ended] == [1, 1, 0], "both passes of counters have an unknown one"
    assert "no counter of gfx1201 is called" in ended[0].stderr


def test_no_pass_asks_for_a_counter_that_the_tool_does_not_list(tmp_path: Path) -> None:
    tool = installed(tmp_path, "gfx1201", counters_of_rdna4_in_rocm_7_0())
    listed = run(tool.with_name("rocprofv3-avail"), "list", "--pmc")
    has = listed_counters(listed.stdout)
    assert missing_counters("gfx1201", has) == ["SQ_INST_CYCLES_VALU", "TCP_REQ", "TCP_REQ_MISS"]
    planned = commands("gfx1201", folder="{folder}", program=["true"], kernels=["k"], available=has)
    assert [run(tool, *command[1:]).stderr for command in planned] == [""] * len(planned)
    assert len(planned) > 1


def test_every_counter_that_we_want_is_found_in_the_list(rocprofv3: Path) -> None:
    listed = run(rocprofv3.with_name("rocprofv3-avail"), "list", "--pmc")
    assert missing_counters("gfx942", listed_counters(listed.stdout)) == []


@pytest.mark.parametrize("printed", ["", "rocprofv3-avail: command not found", "Agent 0 gfx942"])
def test_what_is_no_list_of_counters_says_nothing_about_them(printed: str) -> None:
    assert listed_counters(printed) is None
    asked = commands("gfx942", folder="f", program=["true"], kernels=["k"], available=listed_counters(printed))
    assert asked == commands("gfx942", folder="f", program=["true"], kernels=["k"])
