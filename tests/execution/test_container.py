"""All options of a container, read without Docker."""

import json

import pytest

from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.docker.container import INIT, container_options
from amdkernel_mcp.execution.gpus import GpuDevice
from amdkernel_mcp.execution.limits import limits_for

USER = "1900000007:1900000007"
IMAGE = "sha256:" + "0" * 64
LIMITS = limits_for("compile", memory_bytes=8 << 30, cpus=4)


def test_every_protection_is_requested() -> None:
    options = container_options(IMAGE, LIMITS, {}, user=USER)
    assert (options["network_mode"], options["network_disabled"]) == ("none", True)
    assert options["read_only"] is True
    assert options["cap_drop"] == ["ALL"]
    assert options["user"] == USER
    assert options["entrypoint"][0] == INIT
    assert options["ipc_mode"] == options["cgroupns"] == "private"
    assert options["log_config"] == {"type": "none"}
    assert options["mem_limit"] == options["memswap_limit"] == 6 << 30
    assert options["pids_limit"] == 128
    assert {u["name"]: u["hard"] for u in options["ulimits"]} == {"nofile": 1024, "core": 0, "fsize": 512 << 20}
    assert all("nosuid,nodev" in tmpfs and "nr_inodes=" in tmpfs for tmpfs in options["tmpfs"].values())
    assert sum(int(tmpfs.split("size=")[1].split(",")[0]) for tmpfs in options["tmpfs"].values()) < 6 << 30


def test_nothing_opens_a_way_around_them() -> None:
    options = container_options(IMAGE, LIMITS, {}, user=USER)
    opened = {"volumes", "mounts", "privileged", "cap_add", "devices", "pid_mode", "userns_mode", "network", "ports"}
    assert not opened & set(options)


def test_the_seccomp_profile_travels_as_text_and_denies_by_default() -> None:
    no_new_privileges, seccomp = container_options(IMAGE, LIMITS, {}, user=USER)["security_opt"]
    profile = json.loads(seccomp.removeprefix("seccomp="))
    allowed = {name for rule in profile["syscalls"] for name in rule["names"] if rule["action"] == "SCMP_ACT_ALLOW"}
    assert no_new_privileges == "no-new-privileges"
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    assert not allowed & {"ptrace", "mount", "bpf", "unshare", "setns", "io_uring_setup", "keyctl", "perf_event_open"}
    assert [rule["args"] for rule in profile["syscalls"] if rule["names"] == ["socket"]] == [
        [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}]
    ]


def test_a_gpu_adds_two_devices_and_one_group_and_nothing_else() -> None:
    without = container_options(IMAGE, LIMITS, {}, user=USER)
    gpu = GpuDevice("/dev/dri/renderD129", host_gids=(110,), grace_s=LIMITS.grace_s)
    with_gpu = container_options(IMAGE, LIMITS, {}, gpu, user=USER)
    added = {key: value for key, value in with_gpu.items() if without.get(key) != value}
    assert added == {
        "devices": ["/dev/kfd:/dev/kfd:rw", "/dev/dri/renderD129:/dev/dri/renderD129:rw"],
        "group_add": ["110"],
    }


def test_who_looks_at_gpus_gets_the_right_to_read_and_nothing_to_open() -> None:
    without = container_options(IMAGE, LIMITS, {}, user=USER)
    looks = container_options(IMAGE, LIMITS, {}, user=USER, looks=True)
    added = {key: value for key, value in looks.items() if without.get(key) != value}
    assert added == {"device_cgroup_rules": ["c 226:* rw"]}


def test_an_abandoned_container_ends_within_30_seconds_whatever_a_gpu_needs() -> None:
    gpu = GpuDevice("/dev/dri/renderD129", host_gids=(110,), grace_s=60)
    assert float(container_options(IMAGE, LIMITS, {}, gpu, user=USER)["entrypoint"][1]) < 25


def test_an_image_is_named_by_its_id_only() -> None:
    with pytest.raises(SandboxError, match="a tag can move"):
        container_options("amdkernel-sandbox:latest", LIMITS, {}, user=USER)


def test_limits_fit_the_machine_of_the_daemon() -> None:
    small = limits_for("run", memory_bytes=4 << 30, cpus=2)
    assert (small.memory_bytes, small.cpus) == (3 << 30, 2.0)
    assert small.work_bytes + small.out_bytes <= 3 << 30
