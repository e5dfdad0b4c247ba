"""The reset of a GPU: a stand-in for AMD's tool, which is a real program, on a tree of the driver's files."""

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution.gpus import Gpu
from amdkernel_mcp.workers import reset as module
from amdkernel_mcp.workers.reset import reset
from tests.gpu_host.sysfs import sysfs
from tests.workers.server_with_workers import AMDKERNEL

TOOLS = Path(__file__).parents[1] / "gpu_host/machine"
GPUS = [Gpu(index, "gfx942", "MI300X", f"/dev/dri/renderD{128 + index}") for index in (0, 1)]


class Machine:
    """Its files, below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for path, text in sysfs().items():
            self.write(path, text)
        (root / "sys/class/kfd/kfd/proc").mkdir(parents=True)

    def write(self, path: str, text: str) -> None:
        file = self.root / "sys" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def behaves(self, how: str) -> None:
        self.write("module/amd_smi_in_a_box/behaviour", how)

    @property
    def resets(self) -> list[str]:
        log = self.root / "sys/module/amd_smi_in_a_box/resets"
        return log.read_text().split() if log.exists() else []

    def reset(self, index: int = 1, offered: Sequence[Gpu] = GPUS, path: str | None = None) -> tuple[int, str]:
        return reset(GPUS[index], offered, root=self.root, path=path or f"{TOOLS}:/usr/bin")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv("SYS_IN_A_BOX", str(tmp_path / "sys"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return Machine(tmp_path)


def test_the_tool_gets_the_pci_address_of_the_gpu(machine: Machine) -> None:
    machine.write("class/drm/renderD129/device/mem_info_vram_used", f"{900 << 20}\n")
    assert machine.reset() == (0, "GPU: 0000:d1:00.0 GPU_RESET: Successfully reset GPU")
    assert machine.resets == ["0000:d1:00.0"]
    assert (machine.root / "sys/class/drm/renderD129/device/mem_info_vram_used").read_text() == f"{298 << 20}\n"


@pytest.mark.parametrize("place", [0xD103, 0x3000D100])
def test_a_partition_has_the_address_of_its_device_and_the_others_must_be_offered(machine: Machine, place: int) -> None:
    nodes = "class/kfd/kfd/topology/nodes"
    for number, own in ((2, 0xD100), (10, place)):
        file = machine.root / f"sys/{nodes}/{number}/properties"
        text = re.sub(r"hive_id \d+", "hive_id 0", file.read_text())
        file.write_text(re.sub(r"location_id \d+", f"location_id {own}", text))
    assert machine.reset()[0] == 0
    assert machine.resets == ["0000:d1:00.0"]
    with pytest.raises(TargetError, match=r"its device, which is reset as a whole, has partitions .*: renderD128"):
        machine.reset(offered=[GPUS[1]])


@pytest.mark.parametrize("gpu", [51140, 51141])
def test_no_process_of_any_gpu_is_ended(machine: Machine, gpu: int) -> None:
    machine.write(f"class/kfd/kfd/proc/4711/vram_{gpu}", "4096")
    with pytest.raises(TargetError, match="a reset ends each process that uses a GPU, and the driver lists 4711"):
        machine.reset()
    assert machine.resets == []


def test_a_hive_with_a_gpu_that_is_not_offered_is_left_alone(machine: Machine) -> None:
    with pytest.raises(TargetError, match=r"its XGMI hive, .* has GPUs that this worker does not offer: renderD128"):
        machine.reset(1, GPUS[1:])
    assert machine.resets == []


def test_a_gpu_outside_of_a_hive_may_be_offered_alone(machine: Machine) -> None:
    for node in (2, 10):
        path = f"class/kfd/kfd/topology/nodes/{node}/properties"
        machine.write(path, sysfs()[path].replace("hive_id 1234605616436508552", "hive_id 0"))
    assert machine.reset(1, GPUS[1:])[0] == 0


def test_a_tool_that_fails_says_why(machine: Machine) -> None:
    machine.behaves("fails")
    assert machine.reset() == (1, "AMDSMI_STATUS_NO_PERM: Permission Denied")


@pytest.mark.thorough
def test_a_tool_that_hangs_is_ended(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.behaves("hangs")
    monkeypatch.setattr(module, "RESET_S", 2.0)
    assert machine.reset() == (124, "resetting")


def test_what_the_tool_prints_is_bounded(machine: Machine, tmp_path: Path) -> None:
    tool = tmp_path / "bin" / "amd-smi"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' x\necho end\n")
    tool.chmod(0o755)
    code, said = machine.reset(path=f"{tool.parent}:/usr/bin:/bin")
    assert (code, len(said), said[-4:]) == (0, 599, "xend"[-4:])


def test_without_the_tool_nothing_is_reset(machine: Machine) -> None:
    with pytest.raises(TargetError, match="amd-smi is not installed"):
        machine.reset(path="/nowhere")


@pytest.mark.parametrize("given", [("--allow-reset",), ()])
def test_a_worker_resets_no_gpu_of_another_machine(given: tuple[str, ...]) -> None:
    own = os.environ | {"AMDK_TOKEN": "t" * 30} | ({} if given else {"AMDKERNEL_ALLOW_RESET": "1"})
    command = [AMDKERNEL, "worker", "--url", "https://server.invalid", "--host", "gpu1", *given]
    ended = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith("amdkernel: a worker resets GPUs of its own machine only\n")
