"""Whether a GPU is idle, and its clocks: what the driver lists of it in sysfs, read in a container that cannot open it.

Sources: Linux, drivers/gpu/drm/amd: pm/amdgpu_pm (gpu_busy_percent, pp_dpm_sclk, pp_dpm_mclk, hwmon's freq1_input and
freq2_input), amdgpu_vram_mgr (mem_info_vram_used) and amdkfd/kfd_process (proc/PID/vram_GPU). What cannot be read
counts as busy; clocks that cannot be read are null.
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
device=class/drm/renderD$1/device
for name in gpu_busy_percent mem_info_vram_used unique_id; do echo "$name $(cat $device/$name)"; done
for name in pp_dpm_sclk pp_dpm_mclk; do sed "s/^/$name /" $device/$name; done
for file in $device/hwmon/hwmon*/freq[12]_input; do [ -r $file ] && echo "$(basename $file) $(cat $file)"; done
echo "driver $(cat module/amdgpu/version 2>/dev/null || uname -r)"
for node in class/kfd/kfd/topology/nodes/*; do
    grep -q "^drm_render_minor $1\$" $node/properties && gpu=$(cat $node/gpu_id)
done
echo "gpu_id $gpu"
ls class/kfd/kfd/proc >/dev/null && echo "processes listed"
for file in class/kfd/kfd/proc/*/vram_$gpu; do [ -e "$file" ] && echo "process $(basename $(dirname $file))"; done
true
"""


@dataclass(frozen=True)
class GpuState:
    """One look at a GPU. `processes`: those that have opened it for computing."""

    busy_percent: int
    vram_used_bytes: int
    unique_id: str
    driver: str
    processes: tuple[str, ...]
    clocks: Clocks = field(default_factory=Clocks)

    @property
    def text(self) -> str:
        """As one line of an answer."""
        who = f"processes {', '.join(self.processes)}" if self.processes else "no process"
        return f"{self.busy_percent} % busy, {self.vram_used_bytes >> 20} MiB in use, {who}"


def read_state(sandbox: Sandbox, render_node: str) -> GpuState | str:
    """The state of the GPU, or why it cannot be known. Raises SandboxError."""
    minor = re.search(r"renderD(\d+)$", render_node)
    if minor is None:
        return f"{render_node} is not a render node"
    done = sandbox.run("look", ["sh", "-c", _SCRIPT, "sh", minor[1], ""], {}, timeout_s=TIMEOUT_S)
    return parse_state(done.stderr)


def parse_state(printed: str) -> GpuState | str:
    """What the script printed."""
    found = dict(re.findall(r"^(\w+) (\S+)$", printed, re.MULTILINE))
    wanted = ("gpu_busy_percent", "mem_info_vram_used", "unique_id", "gpu_id", "processes")
    missing = [name for name in wanted if not found.get(name)]
    numbers = [found.get(name, "") for name in wanted[:2]]
    if missing or not all(number.isdigit() for number in numbers):
        what = ", ".join(missing) or "numbers"
        return f"the driver's files do not show whether the GPU is idle: {what} cannot be read"
    return GpuState(
        int(numbers[0]),
        int(numbers[1]),
        found["unique_id"],
        found.get("driver", "unknown"),
        tuple(re.findall(r"^process (\d+)$", printed, re.MULTILINE)),
        Clocks(sclk_mhz=_clock(printed, "sclk", 1), mclk_mhz=_clock(printed, "mclk", 2)),
    )


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
    if state.busy_percent > MOST_BUSY_PERCENT:
        return f"the GPU is {state.busy_percent} % busy with the work of others"
    return None


def state_afterwards(sandbox: Sandbox, render_node: str) -> GpuState | str:
    """The state after a run of ours, whose own traces take a moment to go. Raises SandboxError."""
    state = read_state(sandbox, render_node)
    for _ in range(AFTERWARDS_TRIES - 1):
        if isinstance(state, str) or why_busy(state) is None:
            break
        time.sleep(AFTERWARDS_WAIT_S)
        state = read_state(sandbox, render_node)
    return state
