"""What the kernel driver lists of two MI300X, as text files by their path below /sys.

Two CPUs and two GPUs; the numbers of the nodes are apart, as on a machine where partitions come and go. Source: Linux,
drivers/gpu/drm/amd/amdkfd/kfd_topology.c and drivers/gpu/drm/amd/pm/amdgpu_pm.c.
"""

CPU_NODES, GPU_NODES = (0, 1), (2, 10)
FIRST_MINOR = 128
HIVE = 1234605616436508552
EMPTY = ("fs/cgroup", "class/kfd/kfd/proc")
"""Folders: where runc mounts the cgroups; the processes that use a GPU."""

_CPU = """cpu_cores_count 96
simd_count 0
mem_banks_count 1
drm_render_minor 0
gfx_target_version 0
unique_id 0
num_xcc 0
"""
_GPU = """cpu_cores_count 0
simd_count 1216
mem_banks_count 1
caches_count 502
io_links_count 1
max_waves_per_simd 8
lds_size_in_kb 64
wave_front_size 64
array_count 32
simd_arrays_per_engine 1
cu_per_simd_array 10
simd_per_cu 4
gfx_target_version 90402
vendor_id 4098
device_id 29857
drm_render_minor {minor}
hive_id {hive}
location_id {place}
domain 0
max_engine_clk_fcompute 2100
local_mem_size 0
unique_id {unique}
num_xcc 8
max_engine_clk_ccompute 3700
"""
_DEVICE = {
    "gpu_busy_percent": "0\n",
    "mem_busy_percent": "0\n",
    "mem_info_vram_total": f"{192 << 30}\n",
    "mem_info_vram_used": f"{298 << 20}\n",
    "current_compute_partition": "SPX\n",
    "pp_dpm_sclk": "0: 132Mhz *\n1: 2100Mhz\n",
    "pp_dpm_mclk": "0: 900Mhz *\n1: 1300Mhz\n",
    "power_dpm_force_performance_level": "auto\n",
}


def sysfs(machine: int = 1) -> dict[str, str]:
    """All files. Each machine's GPUs have numbers of their own."""
    nodes = "class/kfd/kfd/topology/nodes"
    files = {f"{nodes}/{number}/properties": _CPU for number in CPU_NODES}
    files["module/amdgpu/version"] = "6.16.6\n"
    files["module/rocprofv3_in_a_box/behaviour"] = "honest\n"  # ours: switches for tests
    files["module/amd_smi_in_a_box/behaviour"] = "honest\n"
    files["module/cgroup_in_a_box/behaviour"] = "honest\n"
    files["module/amdgpu/srcversion"] = "0123456789ABCDEF0123456\n"
    for index, number in enumerate(GPU_NODES):
        minor, unique = FIRST_MINOR + index, 0x1A2B3C4D5E6F7000 + 0x10 * (machine - 1) + index
        files[f"{nodes}/{number}/properties"] = _GPU.format(
            minor=minor, unique=unique, place=0xC100 + 0x1000 * index, hive=HIVE
        )
        files[f"{nodes}/{number}/gpu_id"] = f"{51140 + index}\n"
        files[f"{nodes}/{number}/name"] = "ip discovery\n"
        for place in (f"class/drm/renderD{minor}/device", f"class/drm/card{index}/device"):
            files |= {f"{place}/{name}": text for name, text in _DEVICE.items()}
            files[f"{place}/unique_id"] = f"{unique:016x}\n"
    return files
