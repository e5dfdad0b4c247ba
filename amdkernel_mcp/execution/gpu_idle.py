"""Whether a GPU is idle, and its clocks: what the driver lists of it in sysfs, read in a container that cannot open it.

KFD lists the processes that use it: those with a queue or memory on it. One that merely opened /dev/kfd, as
monitors do, is listed for every GPU, with 0 bytes. `gpu_busy_percent` is one more vote, where there is one: virtual
functions and partitions have none, and a GPU in runtime suspend, which is idle, refuses it. Without it idleness is not
known, which is a state of its own. Clocks that cannot be read are null.

Sources: Linux, drivers/gpu/drm/amd: pm/amdgpu_pm (gpu_busy_percent, EPERM while suspended; pp_dpm_sclk, pp_dpm_mclk,
hwmon's freq1_input and freq2_input), amdgpu_vram_mgr (mem_info_vram_used), amdkfd/kfd_process (proc/PID/vram_GPU,
queues/QUEUE/gpuid; kfd_init_apertures makes the former for all GPUs); drivers/base/power/sysfs (runtime_status).
"""

import re
import time
from dataclasses import dataclass, field

from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.results.kernels import Clocks

MOST_BUSY_PERCENT = 5
TIMEOUT_S = 30.0
AFTERWARDS_TRIES, AFTERWARDS_WAIT_S = 5, 0.5

# Its second argument, empty or the root of another tree, is for tests.
_SCRIPT = r"""
cd "$2/sys" || exit 1
place_of() {  # PCI domain and place in it, as gpus.place_of, of the file of a node; empty where it has none
    domain=0 bus=0 version=0
    while read -r name value; do
        case $name in domain) domain=$value ;; location_id) bus=$value ;; gfx_target_version) version=$value ;; esac
    done <$1
    case $version in 904??|905??) bus=$((bus & 0x0FFFFFF8)) ;; *) bus=$((bus & 0x0FFFFFFF)) ;; esac
    [ $bus = 0 ] || echo "$domain $bus"
}
device=class/drm/renderD$1/device
echo "node renderD$1"
for name in gpu_busy_percent mem_info_vram_used unique_id; do echo "$name $(cat $device/$name)"; done
echo "runtime_status $(cat $device/power/runtime_status)"
echo "performance $(cat $device/power_dpm_force_performance_level)"
echo "display $(cat $device/drm/card*/card*-*/enabled | grep -c '^enabled')"
for name in pp_dpm_sclk pp_dpm_mclk; do sed "s/^/$name /" $device/$name; done
for file in $device/hwmon/hwmon*/freq[12]_input; do [ -r $file ] && echo "$(basename $file) $(cat $file)"; done
echo "driver $(cat module/amdgpu/version 2>/dev/null || uname -r)"
hidden=0
for node in class/kfd/kfd/topology/nodes/*; do
    grep -q . $node/properties || hidden=$((hidden + 1))
    grep -q "^drm_render_minor $1\$" $node/properties || continue
    gpu=$(cat $node/gpu_id)
    hive=$(grep '^hive_id [1-9]' $node/properties)
    place=$(place_of $node/properties)
done
echo "gpu_id $gpu"
echo "hidden $hidden"
[ -n "$hive" ] && echo "hive $(cat class/kfd/kfd/topology/nodes/*/properties | grep -c "^$hive\$")"
[ -n "$place" ] && echo "partitions $(for node in class/kfd/kfd/topology/nodes/*; do
    place_of $node/properties; done | grep -c "^$place\$")"
ls class/kfd/kfd/proc >/dev/null && echo "processes listed"
for process in class/kfd/kfd/proc/*; do
    [ -e $process/vram_$gpu ] || continue
    used=$(cat $process/vram_$gpu) || used=unknown
    if [ "$used" != 0 ] || cat $process/queues/*/gpuid | grep -q "^$gpu\$"; then echo "process $(basename $process)"; fi
done
true
"""


@dataclass(frozen=True)
class GpuState:
    """One look at a GPU. `processes`: those that have memory or a queue on it, for computing.

    busy_percent, vram_used_bytes: None where the driver does not show them. display: something is connected to it, so
    that its memory and activity are also those of a desktop.
    """

    busy_percent: int | None
    vram_used_bytes: int | None
    unique_id: str
    driver: str
    processes: tuple[str, ...]
    clocks: Clocks = field(default_factory=Clocks)
    suspended: bool = False
    display: bool = False
    performance: str | None = None
    """The performance level, such as `auto`; None where the driver does not show it."""
    hive: int = 1
    partitions: int = 1
    """How many GPUs its XGMI hive has, and how many partitions its device; 1: it is alone, or that is not shown."""
    hidden: int = 0
    """How many nodes of the topology this reader is refused, as in a pod with some of its machine's GPUs."""

    @property
    def reset_takes_down(self) -> str | None:
        """What a reset of it ends besides the work on it: the driver resets all GPUs of a hive; None: nothing is known.

        Source: Linux, drivers/gpu/drm/amd/amdgpu/amdgpu_device.c, amdgpu_device_gpu_recover.
        """
        found = [f"{self.hive - 1} more GPUs of its XGMI hive"] if self.hive > 1 else []
        found += [f"{self.partitions - 1} more partitions of its device"] if self.partitions > 1 else []
        found += ["the desktop on it"] if self.display else []
        found += [f"maybe {self.hidden} nodes of the topology that are not shown here"] if self.hidden else []
        return " and ".join(found) or None

    @property
    def text(self) -> str:
        """As one line of an answer."""
        who = f"processes {', '.join(self.processes)}" if self.processes else "no process"
        busy = "activity not known" if self.busy_percent is None else f"{self.busy_percent} % busy"
        used = "memory in use not known" if self.vram_used_bytes is None else f"{self.vram_used_bytes >> 20} MiB in use"
        return f"{'suspended' if self.suspended else busy}, {used}, {who}"


def read_state(sandbox: Sandbox, render_node: str) -> GpuState | str:
    """The state of the GPU, or why it cannot be known. Raises SandboxError."""
    words = script_words(render_node)
    if words is None:
        return f"{render_node} is not a render node"
    return parse_state(sandbox.run("look", words, {}, timeout_s=TIMEOUT_S).stderr)


def script_words(render_node: str, root: str = "") -> list[str] | None:
    """The command that prints what `parse_state` reads; None for another path. `root`: of another tree."""
    minor = re.search(r"renderD(\d+)$", render_node)
    return None if minor is None else ["sh", "-c", _SCRIPT, "sh", minor[1], root]


def parse_state(printed: str) -> GpuState | str:
    """What the script printed."""
    found = dict(re.findall(r"^(\w+) (\S+)$", printed, re.MULTILINE))
    missing = [name for name in ("gpu_id", "processes") if not found.get(name)]
    if missing:
        return f"the driver's files do not show whether the GPU is idle: {', '.join(missing)} cannot be read"
    suspended = found.get("runtime_status") == "suspended"
    return GpuState(
        0 if suspended else _number(found.get("gpu_busy_percent")),
        _number(found.get("mem_info_vram_used")),
        found.get("unique_id") or found.get("node", ""),
        found.get("driver", "unknown"),
        tuple(re.findall(r"^process (\d+)$", printed, re.MULTILINE)),
        Clocks(sclk_mhz=_clock(printed, "sclk", 1), mclk_mhz=_clock(printed, "mclk", 2)),
        suspended=suspended,
        display=found.get("display", "0") != "0",
        performance=found.get("performance"),
        hive=_number(found.get("hive")) or 1,
        partitions=_number(found.get("partitions")) or 1,
        hidden=_number(found.get("hidden")) or 0,
    )


def _number(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"[0-9]{1,18}", text) else None


def _clock(printed: str, name: str, sensor: int) -> float | None:
    """MHz of the level that the driver marks with a star, else of the sensor, which counts in Hz. 0: not known."""
    if level := re.search(rf"^pp_dpm_{name} \w+: *(\d{{1,6}}) ?[Mm][Hh]z \*", printed, re.MULTILINE):
        mhz = float(level[1])
    elif read := re.search(rf"^freq{sensor}_input (\d{{1,12}})$", printed, re.MULTILINE):
        mhz = int(read[1]) / 1e6
    else:
        return None
    return mhz or None


def why_busy(state: GpuState) -> str | None:
    """Why nothing may be timed on it now."""
    if state.processes:
        return f"other processes use the GPU: {', '.join(state.processes[:5])}"
    if state.busy_percent is not None and state.busy_percent > MOST_BUSY_PERCENT:
        return f"the GPU is {state.busy_percent} % busy with the work of others"
    return None


def why_unknown(state: GpuState) -> str | None:
    """Why it is not known whether others use it now, though nothing shows that they do."""
    if state.busy_percent is None:
        return "the driver of this GPU does not show its activity: whether it is idle cannot be known here"
    return None


def why_not_hang(target: str, state: GpuState | str) -> str | None:
    """Why nothing that may hang is started on it unasked: a reset of it takes down more than its work, or may do so."""
    if isinstance(state, str):
        return f"it is not known what a reset of {target} would take down: {state}"
    others = state.reset_takes_down
    return f"a reset of {target} would take down {others}" if others else None


def state_afterwards(sandbox: Sandbox, render_node: str) -> GpuState | str:
    """The state after a run of ours, whose own traces take a moment to go. Raises SandboxError."""
    state = read_state(sandbox, render_node)
    for _ in range(AFTERWARDS_TRIES - 1):
        if isinstance(state, str) or why_busy(state) is None:
            break
        time.sleep(AFTERWARDS_WAIT_S)
        state = read_state(sandbox, render_node)
    return state
