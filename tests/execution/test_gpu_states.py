"""Whether a GPU is idle on the kinds of machine that there are: our script reads trees of the driver's files.

A file that the driver refuses to read is a folder here: cat fails on it for root as well.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from amdkernel_mcp.execution.gpu_idle import GpuState, parse_state, script_words, why_busy, why_unknown
from tests.gpu_host.sysfs import sysfs

DEVICE, PROC = "class/drm/renderD128/device", "class/kfd/kfd/proc"
MINE, OTHER = 51140, 51141  # KFD's numbers of the tree's GPUs


class Tree:
    """The /sys of a machine with two MI300X, to be changed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for path, text in sysfs().items():
            self.write(path, text)
        (root / "sys" / PROC).mkdir(parents=True)

    def write(self, path: str, text: object) -> None:
        file = self.root / "sys" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")

    def refuse(self, path: str) -> None:
        (self.root / "sys" / path).unlink(missing_ok=True)
        (self.root / "sys" / path).mkdir()

    def remove(self, *names: str) -> None:
        for name in names:
            (self.root / "sys" / DEVICE / name).unlink()

    def process(self, number: int, *, vram: dict[int, int], queues_on: tuple[int, ...] = ()) -> None:
        """As KFD lists one: memory on each GPU that it may open, and its queues."""
        for gpu, used in vram.items():
            self.write(f"{PROC}/{number}/vram_{gpu}", used)
        (self.root / "sys" / PROC / str(number) / "queues").mkdir(exist_ok=True)
        for queue, gpu in enumerate(queues_on):
            self.write(f"{PROC}/{number}/queues/{queue}/gpuid", gpu)

    def state(self) -> GpuState | str:
        words = script_words("/dev/dri/renderD128", str(self.root))
        assert words is not None
        return parse_state(subprocess.run(words, capture_output=True, text=True, check=False).stdout)

    def seen(self) -> GpuState:
        state = self.state()
        assert isinstance(state, GpuState), state
        return state


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_what_a_reset_takes_down_is_known_before_a_kernel_that_may_hang(tree: Tree) -> None:
    assert tree.seen().reset_takes_down == "1 more GPUs of its XGMI hive"
    for node in (2, 10):
        file = f"class/kfd/kfd/topology/nodes/{node}/properties"
        alone = (tree.root / "sys" / file).read_text().replace("hive_id 1", "hive_id 0\nother 1")
        tree.write(file, alone)
    assert tree.seen().reset_takes_down is None
    tree.write(f"{DEVICE}/drm/card0/card0-DP-1/enabled", "enabled")
    assert tree.seen().reset_takes_down == "the desktop on it"
    file = "class/kfd/kfd/topology/nodes/10/properties"
    tree.write(file, (tree.root / "sys" / file).read_text().replace(f"location_id {0xD100}", f"location_id {0xC100}"))
    assert tree.seen().reset_takes_down == "1 more partitions of its device and the desktop on it"
    tree.write(file, (tree.root / "sys" / file).read_text().replace("domain 0", "domain 1"))
    assert tree.seen().reset_takes_down == "the desktop on it", "that number is of a bus of another domain"


def test_nodes_that_the_driver_hides_here_may_be_of_the_same_hive(tree: Tree) -> None:
    for node in (3, 10):
        tree.write(f"class/kfd/kfd/topology/nodes/{node}/properties", "")
        tree.refuse(f"class/kfd/kfd/topology/nodes/{node}/properties")
    assert tree.seen().reset_takes_down == "maybe 2 nodes of the topology that are not shown here"


def test_the_performance_level_is_read(tree: Tree) -> None:
    assert tree.seen().performance == "auto"
    tree.remove("power_dpm_force_performance_level")
    assert tree.seen().performance is None


def test_a_gpu_at_rest_is_idle(tree: Tree) -> None:
    state = tree.seen()
    assert (why_busy(state), why_unknown(state), state.text) == (None, None, "0 % busy, 298 MiB in use, no process")


def test_a_monitor_that_holds_kfd_open_is_no_user_of_any_gpu(tree: Tree) -> None:
    tree.process(900, vram={MINE: 0, OTHER: 0})
    assert tree.seen().processes == ()


def test_a_job_on_the_other_gpu_is_not_one_on_this(tree: Tree) -> None:
    tree.process(901, vram={MINE: 0, OTHER: 9 << 30}, queues_on=(OTHER, OTHER))
    assert why_busy(tree.seen()) is None


def test_memory_or_a_queue_on_this_gpu_makes_a_user(tree: Tree) -> None:
    tree.process(902, vram={MINE: 4096, OTHER: 0})
    tree.process(903, vram={MINE: 0, OTHER: 0}, queues_on=(OTHER, MINE))
    assert tree.seen().processes == ("902", "903")
    assert why_busy(tree.seen()) == "other processes use the GPU: 902, 903"


def test_a_process_whose_memory_cannot_be_read_counts_as_a_user(tree: Tree) -> None:
    tree.process(904, vram={OTHER: 0})
    tree.refuse(f"{PROC}/904/vram_{MINE}")
    assert tree.seen().processes == ("904",)


def test_a_suspended_gpu_is_idle_though_its_sensors_answer_nothing(tree: Tree) -> None:
    tree.write(f"{DEVICE}/power/runtime_status", "suspended")
    for name in ("gpu_busy_percent", "pp_dpm_sclk", "pp_dpm_mclk"):
        tree.refuse(f"{DEVICE}/{name}")
    state = tree.seen()
    assert (why_busy(state), why_unknown(state)) == (None, None)
    assert state.text == "suspended, 298 MiB in use, no process"
    tree.process(905, vram={MINE: 4096})
    assert why_busy(tree.seen()) is not None, "it wakes up for that process"


def test_a_virtual_function_without_activity_is_not_known_to_be_idle(tree: Tree) -> None:
    tree.remove("gpu_busy_percent", "mem_busy_percent")
    state = tree.seen()
    assert why_busy(state) is None
    assert (
        why_unknown(state)
        == "the driver of this GPU does not show its activity: whether it is idle cannot be known here"
    )
    assert state.text == "activity not known, 298 MiB in use, no process"


def test_a_partition_has_its_processes_alone(tree: Tree) -> None:
    tree.remove("gpu_busy_percent", "mem_info_vram_used", "unique_id", "pp_dpm_sclk", "pp_dpm_mclk")
    state = tree.seen()
    assert (why_busy(state), state.vram_used_bytes, state.unique_id) == (None, None, "renderD128")
    assert state.text == "activity not known, memory in use not known, no process"
    tree.process(906, vram={MINE: 4096})
    assert why_busy(tree.seen()) == "other processes use the GPU: 906"


@pytest.mark.parametrize(("second", "partitions"), [(0xC101, 2), (0x1000C100, 2), (0xD100, 1)])
def test_the_partitions_of_a_device_are_counted_however_the_driver_numbers_them(
    tree: Tree, second: int, partitions: int
) -> None:
    nodes = tree.root / "sys/class/kfd/kfd/topology/nodes"
    gpus = [file for file in sorted(nodes.glob("*/properties")) if "drm_render_minor 0" not in file.read_text()]
    for file, place in zip(gpus[:2], (0xC100, second), strict=True):
        file.write_text(re.sub(r"location_id \d+", f"location_id {place}", file.read_text()))
    assert tree.seen().partitions == partitions


@pytest.mark.parametrize(("enabled", "display"), [("enabled", True), ("disabled", False)])
def test_a_display_is_seen_by_its_connector(tree: Tree, enabled: str, *, display: bool) -> None:
    tree.write(f"{DEVICE}/drm/card0/card0-DP-1/enabled", enabled)
    assert tree.seen().display is display


def test_what_says_nothing_about_processes_says_nothing_about_idleness(tree: Tree) -> None:
    shutil.rmtree(tree.root / "sys" / PROC)
    assert tree.state() == "the driver's files do not show whether the GPU is idle: processes cannot be read"
    tree.refuse("class/kfd/kfd/topology/nodes/2/gpu_id")
    assert "gpu_id, processes" in str(tree.state())
