"""GPUs from the topology of the kernel driver, on a tree of files as it lays one out."""

from pathlib import Path

import pytest

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.errors import TargetError, UnknownTargetError
from amdkernel_mcp.execution.gpus import DeviceNode, Gpu, arch_of, device_of, gpus_of, id_of, local_gpus, place_of
from amdkernel_mcp.execution.targets import find_target, list_targets
from amdkernel_mcp.hardware.specs import gpu_by_name


def _node(topology: Path, number: int, text: str) -> None:
    (topology / str(number)).mkdir(parents=True)
    (topology / str(number) / "properties").write_text(text)


def test_gpus_are_counted_without_the_cpus_and_only_where_a_render_node_exists(tmp_path: Path) -> None:
    topology, devices = tmp_path / "nodes", tmp_path / "dev"
    (devices / "dri").mkdir(parents=True)
    for name in ("kfd", "dri/renderD128", "dri/renderD136"):
        (devices / name).touch()
    _node(topology, 0, "cpu_cores_count 96\nsimd_count 0\ndrm_render_minor 0\ngfx_target_version 0\n")
    mi300x = "simd_count 1216\nsimd_per_cu 4\ndevice_id 29857\ngfx_target_version 90402\n"
    _node(topology, 1, f"{mi300x}drm_render_minor 128\nunique_id 123\n")
    xtx = "simd_count 192\nsimd_per_cu 2\ndevice_id 29772\ngfx_target_version 110000\n"
    _node(topology, 10, f"{xtx}drm_render_minor 136\n")
    assert [(gpu.index, gpu.arch, gpu.name, Path(gpu.render_node).name) for gpu in local_gpus(topology, devices)] == [
        (0, "gfx942", "MI300X", "renderD128"),
        (1, "gfx1100", "RX 7900 XTX", "renderD136"),
    ]


@pytest.mark.parametrize(
    ("version", "device_id", "simds", "per_cu", "name"),
    [
        (90402, 0x74A1, 1216, 4, "MI300X"),
        (90402, 0x74B5, 1216, 4, "MI300X"),  # a virtual function
        (90402, 0x74A0, 912, 4, "MI300A"),
        (90402, 0x74A2, 320, 4, "MI308X"),
        (90402, 0x74A5, 1216, 4, "MI325X"),
        (90010, 0x740F, 416, 4, "MI210"),
        (90010, 0x7408, 440, 4, "MI250X"),
        (90500, 0x75A0, 1024, 4, "MI350X"),
        (90500, 0x75A3, 1024, 4, "MI355X"),
        (110000, 0x744C, 192, 2, "RX 7900 XTX"),
        (110000, 0x744C, 168, 2, "RX 7900 XT"),
        (110000, 0x744C, 160, 2, "RX 7900 GRE"),
        (110000, 0x7448, 192, 2, "W7900"),
        (120001, 0x7550, 128, 2, "RX 9070 XT"),
        (120001, 0x7550, 112, 2, "RX 9070"),
        (120001, 0x7551, 128, 2, "R9700"),
        (90402, 0x74A1, 152, 4, "MI300X, 38 of 304 CUs"),  # one of eight partitions
        (90402, 0x74FF, 1216, 4, "gfx942 with 304 CUs"),
        (120001, 0x7550, 96, 2, "gfx1201 with 48 CUs"),
        (110001, 0x747E, 120, 2, "gfx1101"),
    ],
)
def test_a_gpu_is_called_by_its_device_id_and_cus(
    version: int, device_id: int, simds: int, per_cu: int, name: str
) -> None:
    node = {"gfx_target_version": version, "device_id": device_id, "simd_count": simds, "simd_per_cu": per_cu}
    [gpu] = gpus_of([node | {"drm_render_minor": 128}])
    assert gpu.name == name
    if name != "gfx1101":
        figures = gpu_by_name(name)
        assert (figures.gfx, figures.cus) == (gpu.arch, simds // per_cu)
        assert figures.has_roofs == ("CUs" not in name)


PARTITION = {"gfx_target_version": 90402, "device_id": 0x74A1, "simd_count": 152, "simd_per_cu": 4, "domain": 0}
OWN = "1a2b3c4d5e6f7000"
# kfd_topology_add_device: the number of the partition is in the bits of the function; in 2024 in the highest ones.
PLACES = ([0xC100, 0xC101], [0xC100, 0x1000C100])


@pytest.mark.parametrize("of_the_driver", [
    [0x1A2B3C4D5E6F7000, 0x1A2B3C4D5E6F7000],  # older drivers: that of the device for each partition
    [0xAAAA000011112222, 0xBBBB000011112222],  # newer ones: that of an XCD
    [0, 0],
])  # fmt: skip
@pytest.mark.parametrize("places", PLACES)
def test_the_id_of_a_partition_survives_a_driver_that_numbers_it_anew(
    of_the_driver: list[int], places: list[int]
) -> None:
    nodes = [
        PARTITION | {"drm_render_minor": 128 + n, "location_id": place, "unique_id": number}
        for n, (number, place) in enumerate(zip(of_the_driver, places, strict=True))
    ]
    gpus = gpus_of(nodes, numbers={128: OWN})
    assert [id_of(gpu, "gpu1") for gpu in gpus] == [f"{OWN}-0", f"{OWN}-1"]


def test_functions_of_one_slot_are_partitions_of_what_can_be_partitioned_alone() -> None:
    """A virtual machine may put two Radeons at one slot."""
    pair = [{"location_id": place, "domain": 0, "gfx_target_version": 110000} for place in (0x0300, 0x0301)]
    assert place_of(pair[0]) != place_of(pair[1])
    assert place_of(PARTITION | {"location_id": 0}) is None


def test_the_id_of_a_whole_gpu_is_the_number_of_its_device_then_that_of_the_topology_then_its_place() -> None:
    node = PARTITION | {"simd_count": 1216, "drm_render_minor": 128, "location_id": 0xC100, "unique_id": 0xAAAA}
    other = node | {"drm_render_minor": 129, "location_id": 0xD100, "unique_id": 0xBBBB}
    ids = [id_of(gpu, "gpu1") for gpu in gpus_of([node, other], numbers={128: OWN, 129: "cat: no such file"})]
    assert ids == [OWN, "000000000000bbbb"]
    [unnamed] = gpus_of([node | {"unique_id": 0}])
    assert id_of(unnamed, "gpu1") == "gpu1/dev/dri/renderD128"


def test_an_old_driver_that_names_no_device_gives_no_product() -> None:
    [gpu] = gpus_of([{"gfx_target_version": 90402, "drm_render_minor": 128}])
    assert gpu.name == "gfx942 (part not known)"


def test_without_the_driver_there_is_no_gpu(tmp_path: Path) -> None:
    assert local_gpus(tmp_path / "none", tmp_path) == []


@pytest.mark.parametrize(("version", "arch"), [(90010, "gfx90a"), (90500, "gfx950"), (120001, "gfx1201")])
def test_the_version_is_written_as_the_compiler_writes_it(version: int, arch: str) -> None:
    assert arch_of(version) == arch


def test_the_emulator_is_the_default_target() -> None:
    settings = load_settings(environ={})
    assert find_target(None, settings).arch == "gfx942"
    assert [target.name for target in list_targets(settings) if target.default] == ["emulator:gfx942"]


def test_an_unknown_target_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownTargetError) as caught:
        find_target("emulator:gfx90", load_settings(environ={}))
    assert "emulator:gfx942" in str(caught.value.hint)


def test_an_unknown_target_of_the_settings_is_said_to_be_theirs() -> None:
    with pytest.raises(UnknownTargetError, match="'gpu9:0', which is `default_target` in the settings") as caught:
        find_target(None, load_settings({"default_target": "gpu9:0"}, environ={}))
    assert "under [hosts]" in str(caught.value.hint)


def test_a_host_without_an_index_is_answered_with_its_first_gpu() -> None:
    settings = load_settings({"hosts": {"gpu1": "ssh://gpu1.invalid"}}, environ={})
    with pytest.raises(UnknownTargetError) as caught:
        find_target("gpu1", settings)
    assert "gpu1:0" in str(caught.value.hint)


GPU = Gpu(0, "gfx942", "MI300X", "/dev/dri/renderD128")


def test_a_container_gets_the_group_of_each_node_once() -> None:
    kfd, render = DeviceNode("/dev/kfd", 44, 0o20660), DeviceNode(GPU.render_node, 110, 0o20660)
    assert device_of(GPU, [kfd, render]).host_gids == (44, 110)
    assert device_of(GPU, [kfd, kfd]).host_gids == (44,)
    assert device_of(GPU, [DeviceNode("/dev/kfd", 0, 0o20666), render]).host_gids == (110,)


def test_a_node_that_only_root_may_open_is_an_error_with_the_command_that_helps() -> None:
    with pytest.raises(TargetError, match="/dev/kfd has mode 600") as caught:
        device_of(GPU, [DeviceNode("/dev/kfd", 0, 0o20600)])
    assert "chmod 660 /dev/kfd" in str(caught.value.hint)
