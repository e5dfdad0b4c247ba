"""What Slurm's commands print, what goes wrong with them, and what is submitted."""

import subprocess
from pathlib import Path

import pytest

from amdkernel_mcp.config import SlurmSettings, load_settings
from amdkernel_mcp.database.holder import new_holder
from amdkernel_mcp.errors import SettingsError, TargetError, UnknownTargetError
from amdkernel_mcp.execution.gpus import Gpu
from amdkernel_mcp.execution.targets import find_target, list_targets
from amdkernel_mcp.hardware.target import is_emulated
from amdkernel_mcp.jobs.request import Request, is_gpu
from amdkernel_mcp.slurm.batch_script import batch_script, sbatch_options
from amdkernel_mcp.slurm.commands import (
    Comment,
    NoAnswerError,
    SlurmCommands,
    SlurmError,
    read_jobs,
    read_nodes,
)
from amdkernel_mcp.slurm.device import allocated_gpu, gres_indices

SETTINGS = SlurmSettings(gres={"gfx942": "gpu:mi300x"}, url="https://server", token_file="/etc/amdkernel/token")
COMMENT = Comment("00112233aabbccdd", 3, new_holder())
GPUS = [Gpu(0, "gfx942", "MI300X", "/dev/dri/renderD136"), Gpu(1, "gfx942", "MI300X", "/dev/dri/renderD128")]
JOB = """JobId=7 JobName=amdkernel
   NodeList=gpu1
   JOB_GRES=gpu:mi300x:1
     Nodes=gpu1 CPU_IDs=0 Mem=500 GRES=gpu:mi300x:1(IDX:{index})
"""


def test_jobs_of_ours_are_known_by_their_comment_and_others_are_left_out() -> None:
    printed = f"7|RUNNING|gpu1|None|{COMMENT}\n8|PENDING||launch_failed_requeued_held|{COMMENT}\n"
    printed += "9|RUNNING|gpu2|None|(null)\n10|RUNNING|gpu2|None|amdkernel,tail\nslurm_load_jobs warning\n"
    jobs = read_jobs(printed)
    assert [(each.id, each.state, each.comment) for each in jobs] == [
        ("7", "RUNNING", COMMENT),
        ("8", "PENDING", COMMENT),
    ]
    assert jobs[1].reason == "launch failed requeued held"


def test_a_node_that_is_in_two_partitions_is_one_node() -> None:
    nodes = read_nodes(
        "gpu1|drained*|gpu:mi300x:8(S:0-1)|Prolog error\ngpu1|drained*|x|Prolog error\ngpu2|mixed|x|none\n"
    )
    assert [(each.name, each.is_down, each.reason) for each in nodes] == [
        ("gpu1", True, "Prolog error"),
        ("gpu2", False, ""),
    ]


def test_a_token_that_cannot_be_made_while_the_controller_starts_is_not_a_refusal(tmp_path: Path) -> None:
    said = "squeue: error: create_external: failed to create token; Protocol authentication error"
    with pytest.raises(NoAnswerError, match="authentication error"):
        _pretending(tmp_path, f"echo '{said}' >&2; exit 1").jobs()


def test_a_controller_that_does_not_answer_is_not_a_refusal(tmp_path: Path) -> None:
    away = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
    with pytest.raises(NoAnswerError, match="Unable to contact"):
        _pretending(tmp_path, f"echo '{away}' >&2; exit 1").jobs()
    with pytest.raises(SlurmError, match="invalid partition") as refused:
        _pretending(tmp_path, "echo 'sbatch: error: invalid partition specified: x' >&2; exit 1").submit("", [])
    assert not isinstance(refused.value, NoAnswerError)


def test_a_command_that_hangs_ends_as_an_answer_that_did_not_come(tmp_path: Path) -> None:
    with pytest.raises(NoAnswerError, match="did not end"):
        _pretending(tmp_path, "exec sleep 60", timeout_s=0.3).jobs()


@pytest.mark.parametrize("end", ["exit 141", "kill -PIPE $$", "exit 137"])
def test_a_command_that_a_signal_ended_is_an_answer_that_did_not_come(tmp_path: Path, end: str) -> None:
    """141: of SIGPIPE, where the controller was killed while squeue wrote to it."""
    with pytest.raises(NoAnswerError, match=r"squeue: ended by signal \d+"):
        _pretending(tmp_path, end).jobs()


def test_a_submission_without_an_id_is_an_answer_that_did_not_come(tmp_path: Path) -> None:
    with pytest.raises(NoAnswerError):
        _pretending(tmp_path, "echo what").submit("", [])
    assert _pretending(tmp_path, "echo '141;cluster'").submit("", []) == "141"


def test_commands_that_are_not_installed_are_named_with_the_remedy() -> None:
    with pytest.raises(SlurmError, match="/nowhere/ssh cannot be run") as refused:
        SlurmCommands("/nowhere/ssh login1").jobs()
    assert refused.value.hint is not None


def test_a_shell_at_the_other_end_gets_each_argument_whole(tmp_path: Path) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\nshift\nexec sh -c "$*"\n')
    ssh.chmod(0o755)
    assert SlurmCommands(f"{ssh} login1").run("printf", "%s;", "a b", "$HOME", "c'd") == "a b;$HOME;c'd;"


def test_the_batch_script_is_a_shell_script_whatever_the_settings_say() -> None:
    odd = SETTINGS.model_copy(update={"amdkernel": "/opt/a b/amdkernel", "token_file": "/etc/$(id)"})
    script = batch_script(odd, "00112233aabbccdd.3.secret")
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)
    assert "'/opt/a b/amdkernel' slurm gpu" in script
    assert "--token-file '/etc/$(id)' --once 00112233aabbccdd.3.secret" in script


def test_the_comment_has_the_key_and_not_the_secret_and_the_account_is_the_users() -> None:
    settings = SETTINGS.model_copy(update={"account": "amdk-{user}", "options": ["--qos=interactive"]})
    options = sbatch_options(settings, "gfx942", "Ann Löw", COMMENT)
    assert f"--comment={COMMENT}" in options
    assert "--gres=gpu:mi300x:1" in options
    assert "--account=amdk-ann_l_w" in options
    assert options[-1] == "--qos=interactive"


def test_the_device_is_slurms_index_among_the_render_nodes_in_ascending_order() -> None:
    found = [allocated_gpu(JOB.format(index=index), "gpu1", GPUS, lambda _: False).index for index in (0, 1)]
    assert found == [1, 0]


def test_where_the_cgroup_of_a_job_hides_the_other_gpus_it_has_the_one_that_is_shown() -> None:
    one = [Gpu(0, "gfx942", "MI300X", "/dev/dri/renderD160")]
    assert allocated_gpu(JOB.format(index=5), "gpu1", one, lambda _: False, hidden=7) == one[0]
    with pytest.raises(TargetError, match="gave GPU 5, and the driver of gpu1 lists 1"):
        allocated_gpu(JOB.format(index=5), "gpu1", one, lambda _: False)


def test_nothing_runs_on_a_device_that_the_jobs_cgroup_refuses() -> None:
    with pytest.raises(TargetError, match="its cgroup refuses /dev/dri/renderD128"):
        allocated_gpu(JOB.format(index=0), "gpu1", GPUS, lambda _: True)


@pytest.mark.parametrize(("index", "said"), [("0-1", "GPUs 0, 1"), ("5", "lists 2"), ("", "no GPU")])
def test_a_job_with_another_number_of_gpus_is_refused(index: str, said: str) -> None:
    with pytest.raises(TargetError, match=said):
        allocated_gpu(JOB.format(index=index), "gpu1", GPUS, lambda _: False)
    assert gres_indices(JOB.format(index="0,2-3"), "gpu1") == [0, 2, 3]
    assert gres_indices(JOB.format(index="0"), "gpu10") == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('gres = {mi300x = "gpu"}', "not an architecture"),
        ('gres = {gfx942 = "gpu:mi300x --x"}', "not a gres"),
        ("gres = {}", "at least one"),
        ('gres = {gfx942 = "gpu"}\npartion = "gpu"', "slurm.partion"),
    ],
)
def test_a_wrong_setting_is_named_with_file_and_line(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[slurm]\nurl = "https://s"\ntoken_file = "/t"\n{line}\n')
    with pytest.raises(SettingsError, match=said) as refused:
        load_settings(environ={"AMDKERNEL_CONFIG": str(file), "HOME": str(tmp_path)})
    assert refused.value.file == str(file)


def test_the_targets_of_slurm_are_those_of_its_settings(tmp_path: Path) -> None:
    settings = load_settings({"slurm": SETTINGS.model_dump()}, {"HOME": str(tmp_path)})
    assert find_target("slurm:gfx942", settings).arch == "gfx942"
    with pytest.raises(UnknownTargetError, match="slurm:gfx90a"):
        find_target("slurm:gfx90a", settings)
    listed = next(each for each in list_targets(settings) if each.name == "slurm:gfx942")
    assert not listed.ready
    assert "amdkernel serve" in (listed.note or "")


def _pretending(folder: Path, script: str, timeout_s: float = 20.0) -> SlurmCommands:
    """Slurm's commands that do what the script says."""
    program = folder / "run"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return SlurmCommands(str(program), timeout_s)


def test_a_gpu_of_slurm_is_not_an_emulated_one() -> None:
    assert not is_emulated("slurm:gfx942")
    assert not is_emulated("SLURM:gfx942")
    request = Request("benchmark", {"target": "slurm:gfx942"})
    assert is_gpu(request.lane("emulator:gfx942"))
