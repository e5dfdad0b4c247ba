"""A pod without Docker on a node with 8 GPUs: jobs are subprocesses, which must see the GPU of their target alone.

The files of the driver and the device nodes are a tree in a folder; all else runs as in a pod, but for HIP itself.
"""

import os
import re
from collections.abc import Callable, Collection
from pathlib import Path

import pytest
from trees import HERE, lay_out, tree_of

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution import gpu_idle, gpus
from amdkernel_mcp.execution.bare.sandbox import BareSandbox
from amdkernel_mcp.execution.gpu_idle import GpuState, read_state, why_busy
from amdkernel_mcp.execution.open_sandbox import open_sandbox

POD = tree_of(HERE / "pod_8_gpus.toml")
SHOWN = ["sh", "-c", "echo ${ROCR_VISIBLE_DEVICES-unset} $(id -G)"]
Pod = Callable[..., Settings]


@pytest.fixture
def pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pod:
    """The settings of a pod whose devices cgroup refuses the `hidden` render nodes."""

    def enter(hidden: Collection[int] = ()) -> Settings:
        lay_out(POD, tmp_path, hidden=hidden)
        runtime = tmp_path / "runtime"
        runtime.mkdir()
        (runtime / "toolchain").write_text("none")
        for folder in (tmp_path, *tmp_path.parents):
            if folder.stat().st_uid == os.geteuid() and folder.is_relative_to(tmp_path.parents[2]):
                folder.chmod(0o755)  # jobs have a user of their own
        monkeypatch.setattr(
            gpus.local_gpus, "__defaults__", (tmp_path / "sys/class/kfd/kfd/topology/nodes", tmp_path / "dev")
        )
        monkeypatch.setattr(gpus, "_KFD", str(tmp_path / "dev/kfd"))
        monkeypatch.setattr(gpu_idle.script_words, "__defaults__", (str(tmp_path),))
        monkeypatch.setattr(
            "amdkernel_mcp.execution.bare.runtime.open_bare", lambda _, gpu=None: BareSandbox(runtime, runtime, gpu=gpu)
        )
        return load_settings({"isolation": "none", "data_dir": tmp_path / "data", "cache_dir": tmp_path / "cache"}, {})

    return enter


def test_all_gpus_are_listed_and_a_run_sees_that_of_its_target_alone(pod: Pod) -> None:
    settings = pod()
    wanted = POD.expected["target"]
    found = {one.name: one for one in Engine(settings).machine.targets().targets if one.kind == "gpu"}
    assert list(found) == [f"local:{n}" for n in range(8)]
    assert found[wanted].gpu == POD.expected["name"]
    assert len({one.gpu_id for one in found.values()}) == 8
    for index in (3, 7):
        sandbox = open_sandbox(settings, gpu=index)
        visible, *groups = sandbox.run("run", SHOWN, {}, timeout_s=60).stderr.split()
        assert visible == f"GPU-{3530822107858468864 + index:016x}"
        assert str(Path(gpus._KFD).stat().st_gid) in groups
        assert sandbox.run("compile", SHOWN, {}, timeout_s=60).stderr.startswith("unset")


def test_a_job_on_another_gpu_of_the_pod_is_not_one_on_this(pod: Pod) -> None:
    settings = pod()
    states = [read_state(open_sandbox(settings, gpu=index), f"/dev/dri/renderD{128 + index}") for index in (3, 5)]
    assert all(isinstance(state, GpuState) for state in states), states
    assert [why_busy(state) for state in states if isinstance(state, GpuState)] == [
        None, "other processes use the GPU: 4711"
    ]  # fmt: skip


def test_a_reset_takes_down_the_hive_of_the_node_also_the_part_that_the_pod_does_not_see(pod: Pod) -> None:
    engine = Engine(pod(hidden=range(131, 136)))
    assert [one.name for one in engine.machine.targets().targets if one.kind == "gpu"] == [
        "local:0",
        "local:1",
        "local:2",
    ]
    said = engine.machine.why_not_hang("local:2")
    assert said is not None
    assert re.search(r"2 more GPUs of its XGMI hive and maybe 5 nodes of the topology that are not shown here", said)
    with pytest.raises(TargetError, match="this machine has no GPU 3"):
        open_sandbox(engine._settings, gpu=3)
