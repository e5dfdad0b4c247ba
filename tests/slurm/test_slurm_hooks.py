"""The health hooks of deploy/slurm, on files as the kernel driver lists them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from sysfs import EMPTY, sysfs

HOOKS = Path(__file__).parents[2] / "deploy" / "slurm"
GIB = 1 << 30


@pytest.fixture
def sys_folder(tmp_path: Path) -> Path:
    """Two idle GPUs."""
    folder = tmp_path / "sys"
    for path, text in sysfs().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    for path in EMPTY:
        (folder / path).mkdir(parents=True, exist_ok=True)
    return folder


def test_idle_gpus_and_a_job_without_a_gpu_pass(sys_folder: Path) -> None:
    assert _prolog(sys_folder, "0,1") == (0, "")
    assert _prolog(sys_folder, "") == (0, "")


def test_a_process_fails_the_gpu_that_it_uses_and_no_other(sys_folder: Path) -> None:
    (sys_folder / "class/kfd/kfd/proc/4711").mkdir()
    (sys_folder / "class/kfd/kfd/proc/4711/vram_51141").write_text("1")
    assert _prolog(sys_folder, "0") == (0, "")
    assert _prolog(sys_folder, "1") == (1, "amdkernel: process 4711 uses renderD129\n")


def test_a_monitor_that_holds_kfd_open_fails_no_gpu_and_a_queue_fails_its_own(sys_folder: Path) -> None:
    process = sys_folder / "class/kfd/kfd/proc/900"
    (process / "queues/0").mkdir(parents=True)
    for gpu in (51140, 51141):
        (process / f"vram_{gpu}").write_text("0\n")
    (process / "queues/0/gpuid").write_text("51141\n")
    assert _prolog(sys_folder, "0") == (0, "")
    assert _prolog(sys_folder, "1") == (1, "amdkernel: process 900 uses renderD129\n")


def test_a_partition_whose_memory_the_driver_does_not_list_has_its_processes(sys_folder: Path) -> None:
    (sys_folder / "class/drm/renderD128/device/mem_info_vram_used").unlink()
    assert _prolog(sys_folder, "0") == (0, "")


def test_leaked_memory_fails_the_gpu_up_to_the_limit_of_the_site(sys_folder: Path, tmp_path: Path) -> None:
    (sys_folder / "class/drm/renderD128/device/mem_info_vram_used").write_text(f"{9 * GIB}\n")
    assert _prolog(sys_folder, "0") == (1, "amdkernel: 9216 MiB are in use on renderD128\n")
    installed = tmp_path / "etc"
    shutil.copytree(HOOKS, installed)
    (installed / "amdkernel-health.conf").write_text("AMDKERNEL_IDLE_VRAM_MIB=10000\n")
    assert _prolog(sys_folder, "0", installed) == (0, "")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("class/drm/renderD128/device", "the driver's files of renderD128 cannot be read"),
        ("class/kfd/kfd/topology/nodes/2/gpu_id", "the driver's files of renderD128 cannot be read"),
        ("class/kfd/kfd/topology", "GPU 0 is not among the driver's GPUs"),
        ("class/kfd/kfd/proc", "the driver does not list its processes"),
    ],
)
def test_what_cannot_be_read_counts_as_busy(sys_folder: Path, path: str, said: str) -> None:
    missing = sys_folder / path
    shutil.rmtree(missing) if missing.is_dir() else missing.unlink()
    assert _prolog(sys_folder, "0") == (1, f"amdkernel: {said}\n")


@pytest.mark.thorough
def test_the_epilog_waits_for_its_gpus_and_fails_when_they_do_not_come_back(sys_folder: Path) -> None:
    busy = sys_folder / "class/kfd/kfd/proc/4711"
    busy.mkdir()
    (busy / "vram_51140").write_text("1")
    begun = ["sh", "-c", f"sleep 1.5; rm -r {busy}"]
    with subprocess.Popen(begun):
        code, said = _run("amdkernel-epilog.sh", sys_folder, "0", HOOKS, AMDKERNEL_RECOVERY_S="20")
    assert code == 0
    assert "process 4711" in said
    busy.mkdir()
    (busy / "vram_51140").write_text("1")
    assert _run("amdkernel-epilog.sh", sys_folder, "0", HOOKS, AMDKERNEL_RECOVERY_S="1")[0] == 1


def _prolog(sys_folder: Path, gpus: str, hooks: Path = HOOKS) -> tuple[int, str]:
    return _run("amdkernel-prolog.sh", sys_folder, gpus, hooks)


def _run(hook: str, sys_folder: Path, gpus: str, hooks: Path, **settings: str) -> tuple[int, str]:
    own = {"PATH": os.environ["PATH"], "AMDKERNEL_SYS": str(sys_folder), "SLURM_JOB_GPUS": gpus, "SLURM_JOB_ID": "0"}
    ended = subprocess.run([hooks / hook], env=own | settings, capture_output=True, text=True, timeout=60, check=False)
    return ended.returncode, ended.stderr
