"""The way of a kernel to a GPU of another machine and back: every command runs, on a GPU host in a box.

One file, because each worker of the tests has a box of its own.
"""

import gc
import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from gpu_host_box import USER, GpuHost, changed, no_container_is_left, refusal, settings_of
from gpu_host_sources import HANGS, PROGRAM, TUNABLE, TWO_LINES
from host_faults import FAULTS, Fault
from trees import HERE as TREES
from trees import served, tree_of, tree_of_archive, with_docker

from amdkernel_mcp.bringup.archive import read_archive, trees_of
from amdkernel_mcp.bringup.instructions import compared
from amdkernel_mcp.bringup.looks import LOOKS
from amdkernel_mcp.bringup.machine import Machine
from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.benchmark import Benchmark
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.engine.verbs.profile import Profile
from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution.docker.container_user import WIDE
from amdkernel_mcp.execution.remote_gpus import _ask
from amdkernel_mcp.execution.sandboxes import Sandboxes
from amdkernel_mcp.execution.targets import find_target
from amdkernel_mcp.profiling.options import ProfileOptions
from tests.one_in import one_in

pytestmark = [pytest.mark.sandbox, pytest.mark.thorough, pytest.mark.slow, pytest.mark.timeout(1800)]

EXAMPLES = Path(__file__).parents[2] / "examples"
NAIVE, BETTER = (str(EXAMPLES / f"vector_add/kernels/{name}.hip") for name in ("naive", "better"))
TAIL = str(EXAMPLES / "vector_add/kernels/broken_tail.hip")
# The GPUs of the box are emulated, so the case that would fill a real one takes minutes for each launch.
TIMED = ("--target", "gpu1:0", "--case", "n=4096")


# What a container sees of the first GPU's node, how many render nodes it has, and whether it can make one.
SHOWN = [
    "sh",
    "-c",
    "cd /sys/class/kfd/kfd/topology/nodes/2; sed -n 's/gfx_target_version //p' properties >&2 2>/dev/null ||"
    "echo refused >&2;"
    "ls /dev/dri 2>/dev/null | wc -l >&2; mknod /tmp/node c 226 128 2>/dev/null && echo made >&2 || echo refused >&2",
]


def test_setup_that_has_been_done_is_not_done_again(gpu_host: GpuHost) -> None:
    before = gpu_host.inside("docker", "images", "--quiet", "--no-trunc")
    ended = gpu_host.amdkernel("setup", "--host", "gpu1")
    assert ended.returncode == 0, ended.stderr
    assert gpu_host.inside("docker", "images", "--quiet", "--no-trunc") == before


def test_the_gpus_are_listed_in_the_order_of_their_nodes(gpu_host: GpuHost) -> None:
    found = [target for target in gpu_host.answer("targets")["targets"] if target["name"].startswith("gpu1:")]
    assert [(one["name"], one["kind"], one["arch"], one["gpu"], one["ready"]) for one in found] == [
        ("gpu1:0", "gpu", "gfx942", "MI300X", True),
        ("gpu1:1", "gpu", "gfx942", "MI300X", True),
    ]


def test_right_and_wrong_kernels_are_told_apart(gpu_host: GpuHost) -> None:
    right = gpu_host.answer("check", "vector_add", NAIVE, "--target", "gpu1:0")
    assert (right["verdict"], right["target"], right["isolation"]) == ("correct", "gpu1:0", "docker")
    assert gpu_host.answer("check", "vector_add", TAIL, "--target", "gpu1:0")["verdict"] == "incorrect"
    assert gpu_host.amdkernel("check", "vector_add", TAIL, "--target", "gpu1:1").returncode == 1


def test_the_outputs_of_a_profiled_run_are_judged(gpu_host: GpuHost, tmp_path: Path) -> None:
    idle = tmp_path / "idle.hip"
    idle.write_text(HANGS.replace("while (atomicAdd((int *)z, 0) != 12345)", "if (!n) z[0] = x[0]"))
    answer = gpu_host.answer("profile", "vector_add", str(idle), "--target", "gpu1:0")
    assert answer["warnings"][0].startswith("the outputs of this run are wrong: case "), answer["warnings"]


@pytest.mark.soak
def test_each_gpu_has_a_container_with_its_own_render_node(gpu_host: GpuHost, monkeypatch: pytest.MonkeyPatch) -> None:
    sandboxes = opened_here(gpu_host, monkeypatch)
    try:
        for index in (0, 1):
            sandbox = sandboxes.of(find_target(f"gpu1:{index}", settings_of(gpu_host)))
            done = sandbox.run("run", ["sh", "-c", "ls /dev/dri; id -G"], {}, timeout_s=30)
            node, own, render = done.stderr.split()
            assert (node, render) == (f"renderD{128 + index}", "44110")
            assert int(own) in WIDE
            assert "dri" not in sandbox.run("compile", ["ls", "/dev"], {}, timeout_s=30).stderr
            shown = {kind: sandbox.run(kind, SHOWN, {}, timeout_s=30).stderr.split() for kind in ("compile", "look")}
            assert shown == {"compile": ["refused", "0", "refused"], "look": ["90402", "0", "refused"]}, "as by KFD"
    finally:
        sandboxes.close()


@pytest.fixture
def slow_launches(gpu_host: GpuHost) -> Iterator[None]:
    """Launches take ten times as long as else by the simulated clock: a second of work is made of fewer of them."""
    options = "arch=gfx942,residency=1,clock=simulated,clock_seed=1,clock_scale=100"
    with changed(gpu_host, f"echo {options} >/machine/options", "rm /machine/options"):
        yield


@pytest.mark.usefixtures("slow_launches")
def test_times_come_from_events_and_are_called_measured(gpu_host: GpuHost) -> None:
    answer = gpu_host.answer("benchmark", "vector_add", BETTER, "--baseline", NAIVE, *TIMED)
    assert answer["verdict"] in ("faster", "slower", "inconclusive"), answer
    assert answer["time_us"]["evidence"] == "measured"
    assert answer["time_us"]["value"] > 0
    assert answer["baseline_time_us"]["value"] > 0
    assert answer["timing"]["kernel_trace"] == "agrees", answer["timing"]
    assert answer["timing"]["input_sets"] == [2]
    clocks = {"sclk_mhz": 132, "mclk_mhz": 900}  # what the files of the box say
    assert (answer["timing"]["clocks_before"], answer["timing"]["clocks_after"]) == (clocks, clocks)
    assert answer["code_object"] != answer["baseline_code_object"]
    alone = gpu_host.answer("benchmark", "vector_add", BETTER, *TIMED)
    assert (alone["verdict"], alone["time_us"]["evidence"]) == ("inconclusive", "measured"), alone
    assert alone["time_us"]["value"] == pytest.approx(answer["time_us"]["value"], rel=0.1)
    assert alone["code_object"] == answer["code_object"]


@pytest.mark.soak
@pytest.mark.usefixtures("slow_launches")
def test_a_sweep_times_its_rows_in_turns_with_the_default_values(gpu_host: GpuHost, tmp_path: Path) -> None:
    kernel = tmp_path / "tunable.hip"
    kernel.write_text(TUNABLE)
    answer = gpu_host.answer("tune", "vector_add", str(kernel), *TIMED)
    rows = {row["values"]["BLOCK"]: row for row in answer["rows"]}
    assert answer["evidence"] == "measured", answer
    assert answer["best"]["BLOCK"] in ("64", "256")
    assert (rows["7"]["verdict"], rows["7"]["rank"]) == ("incorrect", None)
    assert rows["256"]["default"]
    for block in ("64", "256"):
        assert rows[block]["verdict"] == "correct"
        assert rows[block]["time_us"]["evidence"] == "measured", rows[block]
    assert rows["64"]["ratio"]["low"] <= rows["64"]["ratio"]["value"] <= rows["64"]["ratio"]["high"]
    assert not any(row["cached"] for row in answer["rows"])


@pytest.mark.parametrize(
    ("behaviour", "kernel_trace", "said"),
    one_in(
        3,
        [
            ("stretches 1.2", "disagrees", "times as long as in the trace"),
            ("missing", "not_measured", "the sandbox image of gpu1:0 has no rocprofv3"),
            ("fails", "not_measured", "could not be locked for profiling"),
        ],
    ),
)
@pytest.mark.usefixtures("slow_launches")
def test_a_profiler_that_lies_or_fails_leaves_times(
    gpu_host: GpuHost, behaviour: str, kernel_trace: str, said: str
) -> None:
    switch = "/machine/sys/module/rocprofv3_in_a_box/behaviour"
    with changed(gpu_host, f"echo {behaviour} >{switch}", f"echo honest >{switch}"):
        answer = gpu_host.answer("benchmark", "vector_add", NAIVE, *TIMED)
    assert (answer["verdict"], answer["time_us"]["evidence"]) == ("inconclusive", "measured"), answer
    assert (answer["timing"]["kernel_trace"], said in answer["timing"]["kernel_trace_note"]) == (kernel_trace, True)
    assert ("trace_disagrees" in answer["flags"]) == (kernel_trace == "disagrees")


def test_a_profile_has_the_counts_of_all_cases_and_their_times(gpu_host: GpuHost) -> None:
    answer = gpu_host.answer("profile", "vector_add", NAIVE, "--target", "gpu1:0")
    assert (answer["target"], answer["isolation"]) == ("gpu1:0", "docker")
    [kernel] = answer["kernels"]
    metrics = {name: metric["value"] for name, metric in kernel["metrics"].items()}
    assert metrics["Kernel Time, shortest"] < metrics["Kernel Time, longest"], "the cases have 1,000 and 4,096 elements"
    assert metrics["L2-Fabric Read BW"] > 0
    assert metrics["GUI_ACTIVE time / Kernel Time"] == pytest.approx(1, abs=0.01), "the passes belong to each other"


@pytest.mark.soak
def test_a_whole_program_runs_on_the_gpu_and_on_one_of_a_hive_where_it_was_asked_for(
    gpu_host: GpuHost, tmp_path: Path
) -> None:
    (tmp_path / "program.hip").write_text(PROGRAM)
    run = ("run", str(tmp_path / "program.hip"), "--target", "gpu1:1")
    refused = gpu_host.amdkernel(*run)
    assert (refused.returncode, "1 more GPUs of its XGMI hive" in refused.stderr) == (2, True), refused.stderr
    ended = gpu_host.amdkernel(*run, "--hang")
    assert (ended.returncode, ended.stdout) == (0, "it's 42\n"), ended.stderr


def test_a_killed_command_leaves_nothing_on_the_host_and_the_next_one_runs(gpu_host: GpuHost, tmp_path: Path) -> None:
    (tmp_path / "hangs.hip").write_text(HANGS)
    command = gpu_host.command("check", "vector_add", str(tmp_path / "hangs.hip"), "--target", "gpu1:0", "--hang")
    running = subprocess.Popen(command, env=gpu_host.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while "run_job.py" not in gpu_host.inside("ps", "ax", "-o", "args"):
        assert running.poll() is None, "it ended before its kernel ran"
        time.sleep(0.2)
    running.kill()
    running.wait()
    while "run_job.py" in gpu_host.inside("ps", "ax", "-o", "args"):
        time.sleep(0.2)
    assert gpu_host.answer("check", "vector_add", NAIVE, "--target", "gpu1:0")["verdict"] == "correct"
    no_container_is_left(gpu_host)


@pytest.mark.soak
def test_a_gpu_that_a_hung_kernel_leaves_changed_is_quarantined_until_it_is_released(
    gpu_host: GpuHost, tmp_path: Path
) -> None:
    (tmp_path / "hangs.hip").write_text(HANGS)
    command = gpu_host.command(
        "check", "vector_add", str(tmp_path / "hangs.hip"), "--target", "gpu1:1", "--json", "--hang"
    )
    running = subprocess.Popen(command, env=gpu_host.environment, stdout=subprocess.PIPE, text=True)
    while "run_job.py" not in gpu_host.inside("ps", "ax", "-o", "args"):
        assert running.poll() is None, "it ended before its kernel ran"
        time.sleep(0.2)
    process = "/machine/sys/class/kfd/kfd/proc/4711"
    with changed(gpu_host, f"mkdir {process} && echo 4096 >{process}/vram_51141", f"rm -r {process}"):
        said, _ = running.communicate()
        assert json.loads(said)["verdict"] == "timeout", said
        message, hint = refusal(gpu_host, *CHECK[:-1], "gpu1:1")
        [listed] = [one for one in gpu_host.answer("targets")["targets"] if one["name"] == "gpu1:1"]
    left = "60 s later the driver lists processes that were not there before: 4711"
    assert message.startswith("gpu1:1 is quarantined: ")
    assert left in message
    assert (listed["ready"], left in listed["quarantine"]) == (False, True)
    assert gpu_host.answer(*CHECK)["verdict"] == "correct", "the other GPU is not concerned"
    assert f"amdkernel admin gpus release {listed['gpu_id']}" in hint
    assert gpu_host.answer("admin", "gpus", "release", listed["gpu_id"])["gpus"][0]["state"] == "usable"
    again = gpu_host.answer(*CHECK[:-1], "gpu1:1")
    assert again.get("verdict") == "correct", again


# docker-py leaves the socket of a connect that fails to the garbage collector.
@pytest.mark.soak
@pytest.mark.filterwarnings("ignore:.*unclosed <socket:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_tunnel_that_ended_is_opened_again(gpu_host: GpuHost, monkeypatch: pytest.MonkeyPatch) -> None:
    sandboxes = opened_here(gpu_host, monkeypatch)
    target = find_target("gpu1:0", settings_of(gpu_host))
    try:
        first = sandboxes.of(target)
        assert first.run("run", ["true"], {}, timeout_s=30).exit_code == 0
        gpu_host.inside("pkill", "-u", str(USER), "sshd")
        while first.is_connected():
            time.sleep(0.1)
        again = sandboxes.of(target)
        assert again is not first
        assert again.run("run", ["true"], {}, timeout_s=30).exit_code == 0
    finally:
        sandboxes.close()
        gc.collect()  # while these warnings are ignored


def opened_here(host: GpuHost, monkeypatch: pytest.MonkeyPatch) -> Sandboxes:
    """The sandboxes of this process, with the box as `gpu1`."""
    monkeypatch.setenv("PATH", host.environment["PATH"])
    return Sandboxes(settings_of(host))


# ---- a host that is not as it should be: the box is broken and repaired ----

CHECK = ("check", "vector_add", NAIVE, "--target", "gpu1:0")


def test_a_key_that_the_host_does_not_know_is_named_by_ssh(bare_gpu_host: GpuHost) -> None:
    known = "/machine/authorized_keys"
    with changed(bare_gpu_host, f"mv {known} {known}.away", f"mv {known}.away {known}"):
        message, hint = refusal(bare_gpu_host, *CHECK)
    assert "Permission denied (publickey)" in message
    assert hint == "try `ssh gpu1 true`"


@pytest.mark.soak
def test_a_host_key_that_changed_is_refused(bare_gpu_host: GpuHost) -> None:
    known = bare_gpu_host.folder / "known_hosts"
    was = known.read_text()
    known.write_text(was.replace(was.split()[2], (bare_gpu_host.folder / "user_key.pub").read_text().split()[1]))
    try:
        message, _ = refusal(bare_gpu_host, *CHECK)
    finally:
        known.write_text(was)
    assert "Host key verification failed" in message


def test_a_host_that_is_not_there_is_named_with_its_url(bare_gpu_host: GpuHost) -> None:
    bare_gpu_host.inside("sh", "-c", "kill $(cat /run/sshd.pid)")
    try:
        message, hint = refusal(bare_gpu_host, *CHECK)
    finally:
        bare_gpu_host.inside("/usr/sbin/sshd", "-f", "/machine/sshd_config")
    assert message.startswith("ssh to ssh://gpu1 fails: ")
    assert hint == "try `ssh gpu1 true`"


@pytest.mark.soak
def test_a_docker_daemon_that_does_not_run_is_not_looked_for_on_this_machine(bare_gpu_host: GpuHost) -> None:
    stop = "kill $(cat /run/dockerd.pid); while [ -e /run/dockerd.pid ]; do sleep 0.1; done"
    with changed(bare_gpu_host, stop, "/machine/start-docker"):
        message, hint = refusal(bare_gpu_host, *CHECK)
    assert message.startswith("the Docker daemon of ssh://gpu1 does not answer")
    assert hint == "try `ssh gpu1 docker info`"


@pytest.mark.soak
def test_a_user_who_may_not_use_docker_there_gets_the_same_answer(bare_gpu_host: GpuHost) -> None:
    with changed(bare_gpu_host, "chgrp root /run/docker.sock", "chgrp docker /run/docker.sock"):
        message, hint = refusal(bare_gpu_host, *CHECK)
    assert "your user there may not use its socket" in message
    assert hint == "try `ssh gpu1 docker info`"


def test_a_host_without_the_image_names_setup(bare_gpu_host: GpuHost) -> None:
    with_another = bare_gpu_host.amdkernel(*CHECK, "--json", AMDKERNEL_IMAGE="no-such-image:1")
    error = json.loads(with_another.stdout)["error"]
    assert "has not been built" in error["message"]
    assert error["hint"] == "`amdkernel setup --host gpu1` builds it"


@pytest.mark.soak
def test_a_kfd_that_only_root_may_open_is_named_with_its_mode(gpu_host: GpuHost) -> None:
    with changed(gpu_host, "chmod 600 /dev/kfd", "chmod 660 /dev/kfd"):
        message, hint = refusal(gpu_host, *CHECK)
    assert message == "/dev/kfd has mode 600, so that root alone may open it"
    assert "chmod 660 /dev/kfd" in hint


def test_a_host_without_the_driver_says_so_in_check_and_targets(gpu_host: GpuHost) -> None:
    kfd = "/machine/sys/class/kfd"
    with changed(gpu_host, f"mv {kfd} {kfd}.away", f"mv {kfd}.away {kfd}"):
        message, hint = refusal(gpu_host, *CHECK, code=2)
        targets = gpu_host.answer("targets")["targets"]
    assert message == "there is no target 'gpu1:0': gpu1 answers, but its kernel driver lists no AMD GPU"
    assert "amdgpu" in hint
    [listed] = [target for target in targets if target["name"] == "gpu1:0"]
    assert not listed["ready"]
    assert "lists no AMD GPU" in listed["note"]


def test_a_driver_that_refuses_to_show_its_gpus_is_not_said_to_be_missing(gpu_host: GpuHost) -> None:
    nodes = "/machine/sys/class/kfd/kfd/topology/nodes"
    with changed(gpu_host, f"chmod 0 {nodes}/*/properties", f"chmod 755 {nodes}/*/properties"):
        message, hint = refusal(gpu_host, *CHECK)
    assert message == "the kernel driver of gpu1 shows none of its GPUs to a container: 4 nodes cannot be read"
    assert "ssh gpu1 'cat /sys/class/kfd/kfd/topology/nodes/*/gpu_id'" in hint


def test_a_gpu_that_the_host_does_not_have_is_answered_with_those_it_has(gpu_host: GpuHost) -> None:
    message, hint = refusal(gpu_host, *CHECK[:-1], "gpu1:2", code=2)
    assert message.startswith("there is no target 'gpu1:2'")
    assert hint == "known are gpu1:0, gpu1:1"


EMULATOR_TESTS = Path(__file__).parents[1] / "sandbox/emulator"
BRINGUP = ("bringup", "gpu1:0", "--watch", "0")


def test_a_bringup_of_a_host_that_is_as_it_should_be_keeps_every_promise(gpu_host: GpuHost, tmp_path: Path) -> None:
    answer = gpu_host.answer(*BRINGUP, "--to", str(tmp_path))
    found = {probe["id"]: (probe["status"], probe["found"]) for probe in answer["probes"] if probe["id"] != "line"}
    assert [name for name, (status, _) in found.items() if status != "pass"] == ["sampling"], found
    assert set(answer["promises"].values()) == {"holds"}, answer["promises"]
    assert "1 more GPUs of its XGMI hive" in found["neighbours"][1]
    assert re.search(r"[1-9]\d* of a child that calls exec, 0 of a forked one", found["children"][1]), found
    assert found["fault"][1] == "it is crashed; the next kernel is correct"
    files = read_archive(Path(answer["archive"]))
    trees = trees_of(files)
    assert {reader: (len(tree.gpus()), tree.refused()) for reader, tree in trees.items()} == {
        "host": (2, 0),
        "container": (0, 2),
        "rule": (2, 0),
        "device": (1, 1),
    }
    assert trees["container"].errno("/sys/class/kfd/kfd/topology/nodes/2/properties") == "EPERM"
    whole = b"".join(files.values()).decode()
    for secret in ("gpu1", "127.0.0.1", f"{0x1A2B3C4D5E6F7000}", "1a2b3c4d5e6f7000", gpu_host.name):
        assert secret not in whole, whole[max(0, whole.find(secret) - 200) :][:400]


@pytest.mark.parametrize("file", list(with_docker()))
def test_a_constructed_machine_is_listed_checks_benchmarks_and_profiles_as_it_should(
    gpu_host: GpuHost, monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    """Through the whole product, in this process; what is right there is in the file."""
    monkeypatch.setenv("PATH", gpu_host.environment["PATH"])
    tree = tree_of(file)
    wanted = tree.expected
    kernel = {"problem": "vector_add", "target": wanted["target"]}
    naive = kernel | {"source": Path(NAIVE).read_text(), "file_name": "naive.hip"}
    tail = kernel | {"source": Path(TAIL).read_text(), "file_name": "broken_tail.hip"}
    _ask.cache_clear()  # the GPUs of the tree before
    engine = Engine(settings_of(gpu_host))
    try:
        with served(gpu_host, tree):
            listed = {one.name: one.gpu for one in engine.machine.targets().targets if one.name.startswith("gpu1:")}
            assert (len(listed), listed[wanted["target"]]) == (len(tree.minors), wanted["name"]), listed
            if "refused" in wanted:
                with pytest.raises(TargetError, match=re.escape(wanted["refused"])):
                    engine.do(Check(**naive))
                return
            wrong = engine.do(Check(**tail, options=CheckOptions(seed_count=1)))
            timed = engine.do(Benchmark(**naive, case="n=4096"))
            profiled = engine.do(Profile(**naive, options=ProfileOptions(case="n=4096")))
    finally:
        engine.close()
        _ask.cache_clear()
    assert wrong.verdict == "incorrect", wrong.reason
    if wanted["busy"]:
        assert (timed.verdict, timed.flags) == ("not_measured", ["not_idle"]), timed.reason
        assert "other processes use the GPU: 4711" in timed.reason
    else:
        assert (timed.verdict, timed.time_us.evidence) == ("inconclusive", "measured"), timed.reason
        assert ("idle_unknown" in timed.flags) != wanted["idle_known"], timed.flags
        assert timed.timing is not None
        assert (timed.timing.kernel_trace, timed.timing.queue_filled) == ("agrees", True), timed.timing
    said = [warning for warning in profiled.warnings if "this rocprofv3 has no" in warning]
    assert [wanted["lacking"] in warning for warning in said] == [True] if "lacking" in wanted else not said, said
    metrics = profiled.kernels[0].metrics
    assert sum(metric.evidence == "measured" for metric in metrics.values()) >= 25, metrics


@pytest.mark.soak
def test_the_archive_of_a_bringup_is_a_machine_that_the_box_can_be(gpu_host: GpuHost, tmp_path: Path) -> None:
    suspended = tree_of(TREES / "rx7900xtx_suspended.toml")
    with served(gpu_host, suspended):
        first = gpu_host.answer(*BRINGUP, "--to", str(tmp_path / "first"))
    recorded = tree_of_archive(Path(first["archive"]))
    with served(gpu_host, recorded):
        second = gpu_host.answer(*BRINGUP, "--to", str(tmp_path / "second"))
    looks = {probe.id for probe in LOOKS} - {"line", "disk"}  # those are of the box and of the minute
    found = [
        {each["id"]: (each["status"], each["found"] if each["id"] in looks | {"counters"} else "") for each in probes}
        for probes in (first["probes"], second["probes"])
    ]
    assert found[0] == found[1]
    assert first["promises"] == second["promises"]
    assert "suspended: it counts as idle, and its activity answers EPERM" in found[1]["activity"][1]


def test_instructions_run_on_the_gpu_and_a_difference_is_named(
    gpu_host: GpuHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the GPU of the box leaves is the emulator's, so a case with another expectation is the difference."""
    for name in ("PATH", "AMDKERNEL_CONFIG"):
        monkeypatch.setenv(name, gpu_host.environment[name])
    test = tmp_path / "test_two_lines.py"
    test.write_text(TWO_LINES.format(emulator=str(EMULATOR_TESTS)))
    machine = Machine(settings_of(gpu_host), "gpu1", 0)
    finding = compared(machine, [test])
    assert (finding.status, finding.found) == (
        "fail",
        "1 tests have the emulator's results, 1 differ: test_a_line_leaves_what_is_expected[v_add_u32 v2, v0, v1-4]",
    ), machine.said["instructions.txt"].decode()
    assert b"gpu1:0 left 3" in machine.said["instructions.txt"]


@pytest.mark.parametrize("fault", one_in(6, (pytest.param(fault, id=fault.name) for fault in FAULTS)))
def test_a_planted_fault_is_found_and_its_fix_is_named(gpu_host: GpuHost, tmp_path: Path, fault: Fault) -> None:
    with changed(gpu_host, fault.plant, fault.mend):
        answer = gpu_host.answer(*BRINGUP, "--to", str(tmp_path), "--only", fault.probe)
    [probe] = answer["probes"]
    assert (probe["status"], fault.found in probe["found"]) == (fault.status, True), probe
    assert fault.fix in probe["next"], probe


def test_a_kernel_that_never_ends_is_started_where_it_was_asked_for_and_then_refused(
    gpu_host: GpuHost, tmp_path: Path
) -> None:
    [display] = [fault for fault in FAULTS if fault.name == "display"]
    hang = ("bringup", "gpu1:0", "--hang", "--only", "hang", "--to", str(tmp_path))
    with changed(gpu_host, display.plant, display.mend):
        [left_out] = gpu_host.answer(*hang)["probes"]
    assert left_out["found"].startswith("not tried: a kernel that hangs would take down 1 more GPUs of its XGMI hive")
    [probe] = gpu_host.answer(*hang)["probes"]
    assert (probe["status"], probe["found"]) == ("pass", "it is timeout; the next kernel is correct"), probe
    (tmp_path / "hangs.hip").write_text(f"// again\n{HANGS}")
    message, hint = refusal(gpu_host, "check", "vector_add", str(tmp_path / "hangs.hip"), *CHECK[3:], code=2)
    assert "a reset of gpu1:0 would take down 1 more GPUs of its XGMI hive" in message
    assert "--hang" in hint


@pytest.mark.soak
def test_a_kernel_that_may_hang_is_tried_on_the_emulator_before_a_gpu_of_a_hive(
    gpu_host: GpuHost, tmp_path: Path
) -> None:
    stuck = HANGS.replace("(atomicAdd((int *)z, 0) != 12345)", "(__hip_atomic_load((int *)z, 0, 4) != 12345)")
    (tmp_path / "stuck.hip").write_text(stuck)
    message, _ = refusal(gpu_host, "check", "vector_add", str(tmp_path / "stuck.hip"), *CHECK[3:], code=2)
    assert "this kernel did not end before (timeout on emulator:gfx942)" in message


def test_the_doctor_of_a_host_looks_and_starts_nothing_on_its_gpus(gpu_host: GpuHost) -> None:
    with changed(gpu_host, "chmod 600 /dev/kfd", "chmod 660 /dev/kfd"):
        answer = gpu_host.answer("doctor", "--host", "gpu1")
    checks = {check["name"]: check for check in answer["checks"] if check["name"] != "line"}
    assert [name for name, check in checks.items() if check["status"] == "missing"] == ["nodes"], checks
    assert checks["topology"]["found"] == "GPUs by reader: host 2, container 0 (2 refused), rule 2"
    assert not answer["ok"]
