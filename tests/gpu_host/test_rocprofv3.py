"""The stand-in for rocprofv3 accepts what our profiles ask for, refuses what the real one would, and writes when it
would."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from amdkernel_mcp.profiling.rocprofv3 import commands, listed_counters, missing_counters

START = ("-f", "csv", "-d", "{folder}", "-o", "out_%pid%")


ARCHITECTURES = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
LACKING = {"gfx1201": ["SQ_INST_CYCLES_VALU", "TCP_REQ", "TCP_REQ_MISS"]}  # of our metrics, in ROCm 7.0


@pytest.fixture(scope="module")
def rocprofv3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in in a folder."""
    folder, sources = tmp_path_factory.mktemp("rocm"), Path(__file__).parent / "rocm"
    for name in ("rocprofv3", "counters.txt"):
        shutil.copy(sources / name, folder)
    (folder / "rocprofv3-avail").symlink_to("rocprofv3")
    library = str(folder / "librocprofv3-in-a-box.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, str(sources / "rocprofv3_tool.c")], check=True)
    return folder / "rocprofv3"


def run(
    rocprofv3: Path, *words: str, into: Path | None = None, arch: str = "gfx942"
) -> subprocess.CompletedProcess[str]:
    words = tuple(word.format(folder=into or rocprofv3.parent / "recorded") for word in words)
    environment = os.environ | {"ROCM_IN_A_BOX_STUB_OPTIONS": f"arch={arch}"}
    return subprocess.run(
        [sys.executable, rocprofv3, *words], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_pass_asks_for_counters_of_the_architecture(rocprofv3: Path, arch: str) -> None:
    has = listed_counters(run(rocprofv3.with_name("rocprofv3-avail"), "list", "--pmc", arch=arch).stdout)
    assert missing_counters(arch, has) == LACKING.get(arch, [])
    planned = commands(arch, folder="{folder}", program=["true"], kernels=["f(int*)", "g"], available=has)
    assert len(planned) > 1
    ended = [run(rocprofv3, *command[1:], arch=arch) for command in planned]
    assert [(one.returncode, one.stderr) for one in ended] == [(0, "")] * len(planned)


def test_a_counter_of_another_architecture_is_refused(rocprofv3: Path) -> None:
    for arch, other in (("gfx942", "GL2C_HIT"), ("gfx1100", "TCC_HIT_sum"), ("gfx90a", "TCC_EA0_RDREQ_sum")):
        ended = run(rocprofv3, *START, "--pmc", other, "--", "true", arch=arch)
        assert (ended.returncode, f"no counter of {arch} is called {other}" in ended.stderr) == (1, True), ended.stderr


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
    rocprofv3: Path, tmp_path: Path, ending: str, written: int
) -> None:
    program = tmp_path / "program.py"
    program.write_text(LAUNCH + ending)
    ended = run(rocprofv3, *START, "--kernel-trace", "--", sys.executable, str(program), into=tmp_path)
    assert len(list(tmp_path.glob("out_*_kernel_trace.csv"))) == written, ended.stderr


def test_a_trace_has_kernels_that_no_expression_asked_for_and_counters_have_not(
    rocprofv3: Path, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"{LAUNCH}launch()")
    for what, kernels in ((["--kernel-trace"], 2), (["--pmc", "SQ_WAVES"], 0)):
        words = (*START, "--kernel-include-regex", "another", *what, "--", sys.executable, str(program))
        assert run(rocprofv3, *words, into=tmp_path / what[0]).returncode == 0
        [file] = (tmp_path / what[0]).iterdir()
        assert file.read_text().count("\n") == 1 + kernels, file.read_text()


def test_a_pass_of_the_counters_that_a_release_lacks_is_refused_as_a_whole(rocprofv3: Path) -> None:
    planned = commands("gfx1201", folder="{folder}", program=["true"], kernels=["k"])
    ended = [run(rocprofv3, *command[1:], arch="gfx1201") for command in planned]
    assert [one.returncode for one in ended] == [1, 1, 0], "both passes of counters have an unknown one"
    assert "no counter of gfx1201 is called" in ended[0].stderr


@pytest.mark.parametrize("printed", ["", "rocprofv3-avail: command not found", "Agent 0 gfx942"])
def test_what_is_no_list_of_counters_says_nothing_about_them(printed: str) -> None:
    assert listed_counters(printed) is None
    asked = commands("gfx942", folder="f", program=["true"], kernels=["k"], available=listed_counters(printed))
    assert asked == commands("gfx942", folder="f", program=["true"], kernels=["k"])
