"""Twelve faults of a GPU host, each as the real thing shows itself, with the probe that finds it and the fix it names.

`plant` and `mend` are commands of the box's root. None of them was seen on a machine with a GPU; the sources are named.
"""

from dataclasses import dataclass

from trees import AS_ITSELF, AS_OTHER_DAEMON

_DRM = "/machine/sys/class/drm/renderD128/device"
_SSHD = "kill $(cat /run/sshd.pid); while [ -e /run/sshd.pid ]; do sleep 0.1; done; "
_START_SSHD = "/usr/sbin/sshd -f /machine/sshd_config -E /run/sshd.log"


@dataclass(frozen=True)
class Fault:
    """One fault. `probe` answers with `status`; `found` and `fix` are parts of its sentence and of the next command."""

    name: str
    plant: str
    mend: str
    probe: str
    status: str
    found: str
    fix: str


def _written(file: str, text: str, honest: str) -> tuple[str, str]:
    return f"echo '{text}' >{file}", f"echo '{honest}' >{file}"


_BEHAVIOUR = "/machine/sys/module/{}_in_a_box/behaviour"

FAULTS = (
    # Without AMD's udev rule devtmpfs makes the node for root alone. Source: ROCm documentation, "Configuring
    # permissions for GPU access"; Linux, kfd_chardev.c, which sets no mode.
    Fault("wrong group", "chgrp root /dev/kfd; chmod 600 /dev/kfd", "chgrp render /dev/kfd; chmod 660 /dev/kfd",
          "nodes", "fail", "/dev/kfd has mode 600 and the group root", "sudo chgrp render /dev/kfd"),
    # The daemon's rule gives no right where its own cgroup has none. Source: Linux, security/device_cgroup.c,
    # parent_has_perm, and for v2 cgroup-bpf: a program of an ancestor that refuses is final.
    Fault("cgroup", *_written(_BEHAVIOUR.format("cgroup"), "no rules", "honest"),
          "cgroup", "fail", "2 nodes of the topology are refused", "--device-cgroup-rule='c 226:* rmw'"),
    # The driver lists the GPU and the container or virtual machine has no node of it. Source: ROCm documentation,
    # "Running ROCm Docker containers": --device /dev/kfd --device /dev/dri.
    Fault("no render node", "mv /dev/dri/renderD128 /dev/away", "mv /dev/away /dev/dri/renderD128",
          "nodes", "fail", "/dev/dri/renderD128 is not there, though the driver lists the GPU", "--device /dev/dri"),
    # Source: Linux 6.15, amdgpu_pm.c, amdgpu_pm_get_access_if_active: -EPERM while the device is in runtime suspend.
    Fault("suspended",
          f"mkdir -p {_DRM}/power; echo suspended >{_DRM}/power/runtime_status;"
          "echo '1 /sys/class/drm/renderD128/device/gpu_busy_percent' >/machine/errnos",
          f"rm -r {_DRM}/power; : >/machine/errnos",
          "activity", "pass", "suspended: it counts as idle, and its activity answers EPERM", "echo on >"),
    # Source: Linux, amdgpu_pm.c: gpu_busy_percent has ATTR_FLAG_BASIC | ATTR_FLAG_ONEVF, so that a virtual function of
    # several has no such file; amdsmi issues 196 and 197 for MI300X.
    Fault("virtual function", f"mv {_DRM}/gpu_busy_percent /machine/away", f"mv /machine/away {_DRM}/gpu_busy_percent",
          "activity", "unknown", "no gpu_busy_percent: a virtual function", "bare metal"),
    # amdgpu-dkms of ROCm 6.0. Source: its package version, 1:6.3.6.
    Fault("old driver", *_written("/machine/sys/module/amdgpu/version", "6.3.6", "6.16.6"),
          "driver", "fail", "amdgpu 6.3.6 is older than 6.10.5", "install amdgpu 30.10 or newer"),
    # Source: `docker info` of a rootless daemon, SecurityOptions; moby, daemon/info.go.
    Fault("rootless", AS_OTHER_DAEMON.format("rootless"), AS_ITSELF,
          "docker", "fail", "it runs without root", "a Docker daemon that runs as root"),
    # Source: rocprofiler-sdk, counters/ioctl.cpp: the message when KFD answers EPERM to who lacks CAP_PERFMON.
    Fault("counting refused", *_written(_BEHAVIOUR.format("rocprofv3"), "fails", "honest"),
          "profiled", "fail", "rocprofv3 may not lock the GPU", "docker run --cap-add=PERFMON"),
    # Source: ROCm 7.0's counter_defs.yaml lacks three counters of gfx1201; here one of gfx942.
    Fault("missing counter", *_written(_BEHAVIOUR.format("rocprofv3"), "lacks TCC_HIT_sum", "honest"),
          "counters", "fail", "counters of our metrics are missing: TCC_HIT_sum", "an image with rocprofv3"),
    # Source: Linux, drm_sysfs.c, enabled_show: `enabled` where a connector has an encoder.
    Fault("display", f"mkdir -p {_DRM}/drm/card0/card0-DP-1; echo enabled >{_DRM}/drm/card0/card0-DP-1/enabled",
          f"rm -r {_DRM}/drm", "neighbours", "fail", "the desktop on 1 of its connectors", "a GPU without a display"),
    # The host's user sees the file system of Docker's folder full, here one of 64 KiB.
    Fault("full disk",
          f"{_SSHD} unshare -m sh -c 'mount -t tmpfs -o size=64k none /data && exec {_START_SSHD}'",
          f"{_SSHD} {_START_SSHD}", "disk", "fail", "a full disk: 0.0 GiB free at /data", "docker system df"),
    # What is sent is read at 128 KiB a second, so that ssh's window fills as behind a slow line.
    Fault("slow line", f"{_SSHD} {_START_SSHD} -o ForceCommand=/machine/slow-line", f"{_SSHD} {_START_SSHD}",
          "line", "fail", "a slow line, ", "in a checkout on gpu1"),
)  # fmt: skip
