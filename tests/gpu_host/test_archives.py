"""An archive of a bring-up is the machine: what the product reads of it is what it read of the tree itself.

Each constructed machine is laid out in a folder, read by the script of a bring-up as each reader would read it,
archived, scrubbed, and laid out again from the archive alone. The box serves such an archive (test_gpu_host.py).
"""

import errno
import json
import os
import re
import runpy
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from trees import COUNTERS, HERE, Tree, lay_out, tree_of, tree_of_archive

from amdkernel_mcp.bringup.archive import write_archive
from amdkernel_mcp.bringup.looks import LOOKS
from amdkernel_mcp.bringup.machine import Machine
from amdkernel_mcp.bringup.reading import read_tree
from amdkernel_mcp.bundled import folder
from amdkernel_mcp.execution import gpus as gpus_module
from amdkernel_mcp.execution.gpu_idle import GpuState, parse_state, script_words, why_busy, why_not_hang, why_unknown
from amdkernel_mcp.execution.gpus import Gpu, device_of, local_gpus, visible_device
from amdkernel_mcp.execution.remote_gpus import TOPOLOGY, gpus_in
from amdkernel_mcp.profiling.rocprofv3 import listed_counters, missing_counters
from tests.one_in import one_in

READ = runpy.run_path(str(folder("sandbox") / "bringup/read_tree.py"))
HEALTH = Path(__file__).parents[2] / "deploy/slurm/amdkernel-gpu-health.sh"
PROFILER = runpy.run_path(str(HERE.parent / "rocm/rocprofv3"), run_name="box")
FAMILIES = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
NUMBERS = re.compile(r"\b(?:GPU-)?[0-9a-f]{16}\b")
ABOUT_THE_TREE = ("driver", "nodes", "topology", "activity", "performance", "neighbours", "cgroup")
RENDER = {"mode": 0o660, "group": "render", "gid": 44110, "open": "opened"}


def reading(root: Path, tree: Tree, hidden: Collection[int] = ()) -> bytes:
    """What a reader sees of a tree in a folder: the driver's errno for a refused file, which is a folder there.

    hidden: the render nodes that the devices cgroup refuses to this reader.
    """
    document: dict[str, Any] = READ["main"]("", str(root))
    marks = [f"drm_render_minor {minor}\n" for minor in hidden]
    nodes = {Path(path).parent for path, text in tree.files.items() if any(mark in text for mark in marks)}
    for path, entry in document["entries"].items():
        below = Path(path.removeprefix("/sys/"))
        if str(below) in tree.errnos:
            entry.clear()
            entry["errno"] = errno.errorcode[tree.errnos[str(below)]]
        elif below.parent in nodes and below.name in ("properties", "gpu_id", "name"):
            entry.clear()
            entry["errno"] = "EPERM"
    document["nodes"] = {path: dict(RENDER) for path in document["nodes"] if "*" not in path}
    if tree.nodes is not None:
        document["nodes"] = {
            path: RENDER | {"mode": mode, "gid": 0 if roots else 44110, "group": "root" if roots else "render"}
            for path, (mode, roots) in tree.nodes.items()
        }
    return json.dumps(document | {"names": ["mi-lab-7", "hal"], "kernel": "6.8.0"}).encode()


def readings(root: Path, tree: Tree) -> dict[str, bytes]:
    every = tree.minors
    seen = {"host": [], "container": every, "rule": [], "device": every[1:]}
    return {f"readings/{reader}.json": reading(root, tree, hidden) for reader, hidden in seen.items()}


def printed_counters(tree: Tree, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What the profiler of the box lists on this machine, which is the archive's own text where it has one."""
    monkeypatch.setenv(PROFILER["PREFIX"] + "OPTIONS", f"arch={tree.arch}")
    monkeypatch.setattr("sys.argv", ["rocprofv3-avail", "list", "--pmc"])
    served = SimpleNamespace(exists=lambda: COUNTERS in tree.files, read_text=lambda: tree.files[COUNTERS])
    for name, value in (("AVAILABLE", served), ("behaviour", lambda: "honest")):
        monkeypatch.setitem(PROFILER["list_counters"].__globals__, name, value)
    monkeypatch.setitem(PROFILER["known_counters"].__globals__, "__file__", str(HERE.parent / "rocm/rocprofv3"))
    PROFILER["list_counters"]()
    return capsys.readouterr().out


@dataclass(frozen=True)
class Seen:
    """All that the product makes of a machine's files."""

    listed: list[tuple[object, ...]]
    here: list[tuple[object, ...]]
    states: list[object]
    jobs: list[object]
    probes: Mapping[str, tuple[str, str]]
    lacking: list[str]


def seen(root: Path, tree: Tree, documents: Mapping[str, bytes], printed: str) -> Seen:
    """By the product's own scripts and functions, on a tree in a folder. Numbers of GPUs are left out."""

    def of(gpu: Gpu, among: list[Gpu]) -> tuple[object, ...]:
        node = gpu.render_node.removeprefix(str(root))
        ids = (gpu.unique_id is not None, bool(gpu.device_id), "-" in (gpu.device_id or ""))
        return gpu.index, gpu.arch, gpu.name, node, *ids, NUMBERS.sub("N", visible_device(gpu, among))

    listing = subprocess.run(["sh", "-c", TOPOLOGY, "sh", str(root)], capture_output=True, text=True, check=True)
    found, refused = gpus_in(listing.stdout + listing.stderr)
    here = local_gpus(root / "sys/class/kfd/kfd/topology/nodes", root / "dev")
    states: list[object] = []
    for minor in tree.minors:
        words = script_words(f"/dev/dri/renderD{minor}", str(root))
        assert words is not None
        ended = subprocess.run(words, capture_output=True, text=True, check=False)
        state = parse_state(ended.stdout + ended.stderr)
        if isinstance(state, GpuState):
            driver = state.driver if "module/amdgpu/version" in tree.files else "of the kernel"
            state = replace(state, unique_id=NUMBERS.sub("N", state.unique_id), driver=driver)
            states += [why_busy(state), why_unknown(state)]
        states += [state, why_not_hang("gpu1:0", state)]
    jobs = []
    for index in range(len(tree.minors)):
        environment = os.environ | {"AMDKERNEL_SYS": str(root / "sys"), "SLURM_JOB_GPUS": str(index)}
        ended = subprocess.run(["sh", str(HEALTH)], env=environment, capture_output=True, text=True, check=False)
        jobs.append((ended.returncode, ended.stderr))
    trees = {name.split("/")[1].split(".")[0]: read_tree(data, name) for name, data in documents.items()}
    machine = SimpleNamespace(
        index=0, host="gpu1", target="gpu1:0", at_a_shell="", has_containers=True, tree=trees.__getitem__, settings=None
    )
    probes = {}
    for probe in LOOKS:
        if probe.id in ABOUT_THE_TREE:
            answer = probe.run(cast(Machine, machine))
            probes[probe.id] = (answer.status, answer.found)
    lacking = missing_counters(tree.arch, listed_counters(printed))
    listed = [*(of(gpu, list(found)) for gpu in found), (refused,)]
    return Seen(listed, [of(gpu, here) for gpu in here], states, list(jobs), probes, lacking)


def archived(tmp_path: Path, documents: Mapping[str, bytes], tree: Tree, printed: str) -> Path:
    said = {"rootless": ["name=rootless"], "userns": ["name=userns"]}.get(tree.daemon, ["name=seccomp"])
    info = {} if tree.daemon == "none" else {"docker_info.json": json.dumps({"SecurityOptions": said}).encode()}
    files = {"bringup.json": b"{}", **documents, **info, "counters.txt": printed.encode()}
    return write_archive(tmp_path / "archive", "machine", files, ["mi-lab-7", "hal"])


@pytest.mark.parametrize(
    "file",
    one_in(4, (pytest.param(file, id=file.stem) for file in sorted(HERE.glob("*.toml"))), others=pytest.mark.thorough),
)
def test_a_machine_from_its_archive_has_the_same_targets_idleness_probes_and_counters(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("amdkernel_mcp.bringup.looks._listed", lambda machine: _gpus_of(machine.tree("host")))
    tree = tree_of(file)
    printed = printed_counters(tree, monkeypatch, capsys)
    lay_out(tree, tmp_path / "itself")
    documents = readings(tmp_path / "itself", tree)
    first = seen(tmp_path / "itself", tree, documents, printed)
    again = tree_of_archive(archived(tmp_path, documents, tree, printed))
    lay_out(again, tmp_path / "again")
    second = seen(
        tmp_path / "again", again, readings(tmp_path / "again", again), printed_counters(again, monkeypatch, capsys)
    )
    assert second == first
    assert (again.arch, again.daemon) == (tree.arch, tree.daemon)
    assert len(first.listed) - 1 == len(tree.minors) > 0
    assert first.listed[0][2] == tree.expected["name"], "the tree itself is read"


def _gpus_of(tree: Any) -> list[Gpu]:
    return gpus_module.gpus_of(list(tree.topology().values()))


def test_an_archive_keeps_who_may_open_the_device_nodes_and_whether_rules_have_an_effect(tmp_path: Path) -> None:
    tree = replace(tree_of(HERE / "mi300x_spx.toml"), nodes={"/dev/kfd": (0o600, True)})
    minors = tree_of(HERE / "mi300x_spx.toml").minors
    lay_out(replace(tree, nodes=None), tmp_path / "itself")
    entries = {f"/dev/dri/renderD{minor}": (0o660, False) for minor in minors[1:]}  # one of them is not there
    tree = replace(tree, nodes={**(tree.nodes or {}), **entries})
    documents = {f"readings/{reader}.json": reading(tmp_path / "itself", tree, hidden)
                 for reader, hidden in (("host", ()), ("rule", minors))}  # fmt: skip
    again = tree_of_archive(archived(tmp_path, documents, tree, "PMC: GRBM_GUI_ACTIVE"))
    assert again.nodes == tree.nodes
    assert again.files["module/cgroup_in_a_box/behaviour"] == "no rules\n"
    assert not [path for path in again.errnos if "/nodes/" in path], "KFD's rule is the box's own"
    lay_out(again, tmp_path / "again")
    kfd = tmp_path / "again/dev/kfd"
    assert kfd.stat().st_mode & 0o777 == 0o600
    with pytest.raises(Exception, match="/dev/kfd has mode 600"):
        device_of(
            Gpu(0, "gfx942", "MI300X", "/dev/dri/renderD128"),
            [gpus_module.DeviceNode("/dev/kfd", 0, kfd.stat().st_mode)],
        )


NAMES = r"mem_info_\w+|gpu_busy_percent|unique_id|pp_dpm_\w+|runtime_status|gpuid|gpu_id|properties|power_dpm_\w+"


def test_the_files_that_the_product_reads_are_files_that_a_bringup_reads() -> None:
    """By their names in the scripts: a file that is read and not archived would not be there on the served machine."""
    looks = " ".join(script_words("/dev/dri/renderD1") or [])
    names = rf"\b(?:{NAMES}|enabled|freq\[12\]_input|vram_|amdgpu/version)"
    wanted = {name for script in (looks, TOPOLOGY, HEALTH.read_text()) for name in re.findall(names, script)}
    read = " ".join(READ["FILES"])
    assert len(wanted) >= 12, wanted
    assert [name for name in wanted if name.replace("[12]", "*") not in read] == []


def test_a_node_of_64_partitions_is_read_as_a_whole(tmp_path: Path) -> None:
    files = {"class/kfd/kfd/topology/nodes/0/properties": "drm_render_minor 0\n"}
    for number in range(64):
        device = f"class/drm/renderD{128 + number}/device"
        files[f"class/kfd/kfd/topology/nodes/{number + 1}/properties"] = f"drm_render_minor {128 + number}\n"
        files |= {f"{device}/{name}": "0\n" for name in READ["OF_A_DEVICE"] if "*" not in name}
        files |= {f"{device}/fw_version/fw{each}": "0x1\n" for each in range(60)}
        files |= {f"{device}/drm/card{number}/card{number}-DP-1/enabled": "disabled\n"}
    lay_out(Tree(files), tmp_path)
    found = READ["main"]("", str(tmp_path))["entries"]
    assert sum(path.endswith("/enabled") for path in found) == 64
    assert {path.removeprefix("/sys/") for path in found} >= set(files)
