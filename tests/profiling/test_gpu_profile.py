"""The command lines of a profile on a GPU, and the import of what comes back. No GPU takes part."""

import subprocess
from pathlib import Path

import pytest

from amdkernel_mcp.errors import ProfileFileError, TargetError
from amdkernel_mcp.execution.runner.gpu_profile import FOLDER, record_profile, script
from amdkernel_mcp.execution.runner.job import runner_command
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.profiling.import_recording import import_files
from amdkernel_mcp.profiling.rocprofv3 import commands
from amdkernel_mcp.runner_protocol.job import RunnerJob

COUNTERS = (Path(__file__).parent / "recordings" / "rocprofv3" / "counter_collection.csv").read_bytes()
GPU = Target("local:0", "gpu", "gfx942", "MI300X", index=0)


def test_every_pass_runs_our_runner_under_rocprofv3():
    program = runner_command(GPU, RunnerJob("gfx942", b"", ()))
    runs = commands(GPU.arch, folder=FOLDER, program=program, kernels=["softmax", "scale<int>"])
    assert len(runs) > 2
    for run in runs:
        program = run[run.index("--") + 1 :]
        assert run[0] == "rocprofv3"
        assert "python3" in program
        assert not any("emulator" in word for word in program), "a GPU's profile must not load the emulator"


def test_the_script_gives_each_word_to_the_program_as_it_is(tmp_path):
    words = ["printf", "%s\\n", "@OUT@/profile/pass_1", "k<float>(int*)", "it's", ""]
    printed = subprocess.run(
        ["sh", "-c", script([words]).split(" ", 4)[4]], env={"OUT": str(tmp_path / "o u t"), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert printed.stdout.splitlines() == [f"{tmp_path}/o u t/profile/pass_1", "k<float>(int*)", "it's", ""]


@pytest.mark.sandbox
def test_an_image_without_rocprofv3_is_named(sandbox: Sandbox):
    runs = commands(GPU.arch, folder=FOLDER, program=["true"], kernels=["k"])
    with pytest.raises(TargetError, match=r"^the sandbox image of local:0 has no rocprofv3$"):
        record_profile(sandbox, GPU, RunnerJob("gfx942", b"", ()), runs)


def test_what_comes_back_is_imported():
    answer = import_files({"profile/pass_1/out_counter_collection.csv": COUNTERS}, gpu="MI300X")
    assert {kernel.metrics["SQ_WAVES"].value for kernel in answer.kernels} == {16384}


def test_names_from_the_sandbox_do_not_leave_the_folder(tmp_path):
    with pytest.raises(ProfileFileError, match="has no"):
        import_files({"../x.csv": COUNTERS, f"{tmp_path}/y.csv": COUNTERS}, gpu="MI300X")
    assert not list(tmp_path.iterdir())
