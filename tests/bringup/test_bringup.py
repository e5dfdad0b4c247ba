"""A bring-up without a machine: failures that stop nothing, promises, and an archive without names."""

import json
import shutil
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from rich.console import Console

from amdkernel_mcp.bringup import runs
from amdkernel_mcp.bringup.archive import read_archive, trees_of, write_archive
from amdkernel_mcp.bringup.looks import LOOKS, activity, cgroup_version, neighbours
from amdkernel_mcp.bringup.machine import Machine
from amdkernel_mcp.bringup.probe import Finding, Probe, promises_of
from amdkernel_mcp.bringup.reading import Tree, read_tree
from amdkernel_mcp.bringup.run import TRIED, bringup
from amdkernel_mcp.bringup.runs import Bench, hang
from amdkernel_mcp.bundled import folder
from amdkernel_mcp.cli import main
from amdkernel_mcp.cli.show.machine import show_checks
from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.errors import InputError, SandboxError, ToolchainError
from amdkernel_mcp.results.bringup import BringupResult, ProbeStatus
from amdkernel_mcp.results.machine import DoctorCheck, DoctorResult

NODE = "/sys/class/kfd/kfd/topology/nodes/2/properties"
DEVICE = "/sys/class/drm/renderD128/device"
LEVEL = "power_dpm_force_performance_level"
BEFORE_SETUP = {
    "cgroup": "unknown",
    "topology": "unknown",
    "listed": "unknown",
    "activity": "pass",
    "performance": "pass",
}
UNIQUE = 0x1A2B3C4D5E6F7000


def reading(**entries: Mapping[str, object]) -> bytes:
    """The document of a reader of a machine with one MI300X, whose names and numbers are in it."""
    files: dict[str, Mapping[str, object]] = {
        NODE: {"text": f"simd_count 1216\nunique_id {UNIQUE}\nhive_id 12345678901\ndrm_render_minor 128\n"},
        f"{DEVICE}/unique_id": {"text": f"{UNIQUE:016x}\n"},
        f"{DEVICE}/gpu_busy_percent": {"errno": "EPERM"},
        **entries,
    }
    whole = {"entries": files, "nodes": {"/dev/kfd": {"errno": "ENOENT"}}, "kernel": "6.8.0", "cgroup": 2}
    return json.dumps(whole | {"groups": ["render"], "root": False, "space": {}, "names": ["hal", "mx9.lab"]}).encode()


def test_an_errno_is_what_the_reader_got_and_a_refused_node_is_no_missing_one() -> None:
    tree = read_tree(reading(**{NODE.replace("/2/", "/3/"): {"errno": "EPERM"}}), "rule")
    assert (tree.errno(f"{DEVICE}/gpu_busy_percent"), tree.text(f"{DEVICE}/gpu_busy_percent")) == ("EPERM", None)
    assert tree.errno(f"{DEVICE}/power/control") == "ENOENT"
    assert (len(tree.gpus()), tree.refused()) == (1, 1)
    assert tree.device_node("/dev/kfd") is None


def machine_of(*gpus: str) -> SimpleNamespace:
    """A machine whose first GPU is looked at; of each GPU, its properties besides those that all have."""
    files = {
        NODE.replace("/2/", f"/{number}/"): {"text": f"simd_count 152\ndrm_render_minor {128 + number}\n{own}"}
        for number, own in enumerate(gpus)
    }
    tree = read_tree(json.dumps(json.loads(reading()) | {"entries": files}).encode(), "host")
    return SimpleNamespace(index=0, has_containers=False, target="local:0", at_a_shell="", tree=lambda _: tree)


@pytest.mark.parametrize(
    ("other", "found", "kind"),
    [
        ("location_id 49408\ndomain 0\n", "a reset would take down 1 more partitions", "a partition"),
        ("location_id 49408\ndomain 1\n", "alone: no hive, no other partition, no display", "a virtual function"),
        ("location_id 53504\ndomain 0\n", "alone: no hive, no other partition, no display", "a virtual function"),
    ],
)
def test_a_partition_has_the_bus_number_of_another_one_in_the_same_pci_domain(
    other: str, found: str, kind: str
) -> None:
    machine = cast(Machine, machine_of("location_id 49408\ndomain 0\n", other))
    assert neighbours(machine).found == found
    assert activity(machine).found.startswith(f"no gpu_busy_percent: {kind}")


def test_a_machine_before_its_set_up_is_looked_at_by_its_host_and_the_remedy_is_said_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The third step of docs/bringup.md: nothing was sent yet, and one must know whether it is worth it."""
    host = machine_of("location_id 49408\ndomain 0\ngfx_target_version 90402\nsimd_per_cu 4\ndevice_id 29857\n")
    files = {f"{DEVICE}/{name}": {"text": text} for name, text in (("gpu_busy_percent", "3"), (LEVEL, "auto"))}
    host.tree("host").files.update(files)

    def tree(reader: str) -> Tree:
        if reader != "host":
            raise ToolchainError("the sandbox image has not been built", hint="`amdkernel setup --host mx9` builds it")
        return cast(Tree, host.tree(reader))

    machine = SimpleNamespace(**vars(host) | {"has_containers": True, "tree": tree, "host": "mx9"})
    found = {look.id: look.run(cast(Machine, machine)) for look in LOOKS if look.id in BEFORE_SETUP}
    assert {name: each.status for name, each in found.items()} == BEFORE_SETUP
    assert found["listed"].found.endswith("by the files of the host: mx9:0 MI300X, 38 of 304 CUs (gfx942)")
    assert found["activity"].found.startswith("3 % busy")
    checks = [
        DoctorCheck(name=name, status="warning", found=each.found, remedy=each.next) for name, each in found.items()
    ]
    show_checks(Console(file=sys.stdout, width=200), DoctorResult(ok=True, checks=checks))
    assert capsys.readouterr().out.count("see the probe `image`") == 1


def test_gpus_without_a_place_on_a_bus_are_not_partitions_of_one() -> None:
    assert neighbours(cast(Machine, machine_of("", ""))).found == "alone: no hive, no other partition, no display"


def test_a_kernel_that_never_ends_is_not_tried_on_a_gpu_that_the_host_does_not_list() -> None:
    bench = cast(Bench, SimpleNamespace(machine=machine_of()))
    assert hang(bench).found == "not tried: the host does not list this GPU"


@pytest.mark.parametrize(
    ("of_host", "of_docker", "status", "found"),
    [
        (1, "1", "pass", "v1: the host and Docker (cgroupfs)"),
        (2, "2", "pass", "v2: the host and Docker (cgroupfs)"),
        (1, None, "pass", "v1: the host and Docker (cgroupfs)"),  # older daemons know v1 alone, and do not say it
        (2, None, "unknown", "the host has v2, Docker uses v1 (cgroupfs)"),
        (1, "2", "unknown", "the host has v1, Docker uses v2 (cgroupfs)"),
    ],
)
def test_the_versions_of_cgroups_of_host_and_docker_are_told_apart(
    of_host: int, of_docker: str | None, status: str, found: str
) -> None:
    tree = read_tree(json.dumps(json.loads(reading()) | {"cgroup": of_host}).encode(), "host")
    info = {"CgroupVersion": of_docker, "CgroupDriver": "cgroupfs"}
    machine = SimpleNamespace(has_containers=True, info=info, tree=lambda _: tree, at_a_shell="ssh mx9 ")
    answer = cgroup_version(cast(Machine, machine))
    assert (answer.status, answer.found) == (status, found)
    assert (answer.next or "").startswith("`ssh mx9 ") == (status != "pass")
    machine.has_containers = False
    assert cgroup_version(cast(Machine, machine)).found == f"v{of_host}; no containers"


@pytest.mark.parametrize(
    ("table", "status", "found"),
    [
        (
            '"Counter_Name","Counter_Value"\n"SQ_WAVES",1\n"SQ_WAVES",1.000000\n',
            "pass",
            "of 2 launches, and of 2 it is 1",
        ),
        ('"Counter_Name","Counter_Value"\n"SQ_WAVES",0\n"SQ_WAVES",0.0\n', "fail", "of 2 launches, and of 0 it is 1"),
        ('"Counter_Name","Counter_Value"\n"SQ_WAVES",\n', "fail", "of 1 launches, and of 0 it is 1"),
        ("", "fail", "of 0 launches"),
    ],
)
def test_a_counter_that_is_gated_or_missing_is_not_one_that_counts(
    monkeypatch: pytest.MonkeyPatch, table: str, status: str, found: str
) -> None:
    monkeypatch.setattr(runs, "_run", lambda *_: {"a/out_7_counter_collection.csv": table.encode(), "other": b"\xff"})
    answer = runs.counted(cast(Bench, SimpleNamespace()))
    assert (answer.status, found in answer.found) == (status, True), answer
    assert (answer.next is None) == (status == "pass")


@pytest.mark.parametrize(("statuses", "code"), [(("pass", "fail"), 0), (("fail", "pass"), 1), ((), 0)])
def test_a_set_up_of_a_host_ends_with_what_its_gpus_did(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], statuses: tuple[ProbeStatus, ...], code: int
) -> None:
    results = [Probe(TRIED[n], "?", (), lambda _, s=status: Finding(s, f"it is {s}", "try this")).run(None)
               for n, status in enumerate(statuses)]  # fmt: skip
    answer = BringupResult(ok=True, target="gpu1:0", version="1", seconds=1, promises={}, probes=results)
    monkeypatch.setattr("amdkernel_mcp.bringup.run.try_gpus", lambda *_: [answer] if statuses else [])
    monkeypatch.setattr("amdkernel_mcp.execution.setup.build.setup", lambda *_, **__: SimpleNamespace(built=("base",)))
    assert main.run(["setup", "--host", "gpu1"]) == code
    said = capsys.readouterr().out
    if not statuses:
        assert "gpu1 has no AMD GPU that its driver lists" in said
        return
    assert [line for line in said.splitlines() if line.startswith(("✓", "✗"))] == [
        f"{'✓' if status == 'pass' else '✗'} gpu1:0 {name}: it is {status}"
        for name, status in zip(TRIED, statuses, strict=True)
    ]
    assert said.count("→ try this") == statuses.count("fail")


@pytest.mark.parametrize(
    "printed", [b"", b"sh: python3: not found", b"[]", b'{"entries": []}', b'{"entries": {"/a": 3}}']
)
def test_another_document_of_a_reader_is_refused(printed: bytes) -> None:
    with pytest.raises(SandboxError, match="what host reads of the machine cannot be understood"):
        read_tree(printed, "host")


def test_the_script_that_reads_gives_an_errno_for_what_is_not_there(tmp_path: Path) -> None:
    import runpy

    (tmp_path / NODE[1:]).parent.mkdir(parents=True)
    (tmp_path / NODE[1:]).write_text("simd_count 1216\ndrm_render_minor 128\n")
    (tmp_path / "dev/dri").mkdir(parents=True)
    read = runpy.run_path(str(folder("sandbox") / "bringup/read_tree.py"))["main"]
    tree = read_tree(json.dumps(read(str(tmp_path), str(tmp_path))).encode(), "host")
    assert [gpu["simd_count"] for gpu in tree.gpus()] == [1216]
    assert tree.errno("/sys/module/amdgpu/version") == "ENOENT"
    assert (tree.device_node("/dev/kfd"), tree.space["free_bytes"] > 0) == (None, True)


def test_the_archive_has_no_names_and_a_number_stays_the_same_in_all_its_files(tmp_path: Path) -> None:
    said = (
        "mx9.lab.example.com: hal@mx9 from 10.1.2.30, fe80::1:2:3, aa:bb:cc:dd:ee:ff, /home/hal/run; "
        f"GPU-{UNIQUE:016x} at 0000:c1:00.0, amdgpu 6.16.6, halt"
    )
    kept = json.dumps({"said": f"{said}\nhal\t{UNIQUE:x}\r\nmx9.lab\n10.1.2.30"}).encode()
    files = {
        "answers/x.json": kept,
        "readings/host.json": reading(),
        "readings/rule.json": reading(),
        "said/x.txt": said.encode(),
    }
    path = write_archive(tmp_path, "bringup", files, ["hal", "mx9.lab", "mx9", "root"])
    found = read_archive(path)
    number = 0xA000000000000001
    assert found["said/x.txt"].decode() == (
        "NAME: NAME@NAME from ADDRESS, ADDRESS, ADDRESS, /home/NAME/run; "
        f"GPU-{number:016x} at 0000:c1:00.0, amdgpu 6.16.6, halt"
    )
    assert found["answers/x.json"].endswith(rb"halt\nNAME\t" + f"{number:x}".encode() + rb'\r\nNAME\nADDRESS"}')
    for tree in trees_of(found).values():
        assert tree.gpus() == [
            {"simd_count": 1216, "unique_id": number, "hive_id": number + 1, "drm_render_minor": 128}
        ]
        assert tree.text(f"{DEVICE}/unique_id") == f"{number:016x}"
        assert tree.names == ("NAME", "NAME")


def test_the_archive_is_gzip_where_nothing_compresses_with_zstd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    for module in ("zstandard", "compression.zstd"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setenv("PATH", str(tmp_path))
    path = write_archive(tmp_path, "bringup", {"bringup.json": b"{}"}, [])
    assert path.name == "bringup.tar.gz"
    assert read_archive(path)["bringup.json"] == b"{}"
    shutil.copy(folder("examples") / "vector_add/problem.toml", tmp_path / "other")
    with pytest.raises(InputError, match="not an archive of a bring-up"):
        read_archive(tmp_path / "other")


def test_a_promise_is_broken_by_one_failure_and_holds_only_where_all_pass() -> None:
    def result(status: ProbeStatus, *about: str) -> Probe[None]:
        return Probe("x", "?", about, lambda _: Finding(status, status))  # type: ignore[arg-type]

    probes = [
        result("pass", "listed", "correct", "timed"),
        result("unknown", "correct"),
        result("fail", "timed", "shared"),
    ]
    assert promises_of([probe.run(None) for probe in probes]) == {
        "listed": "holds",
        "correct": "unknown",
        "timed": "broken",
        "profiled": "unknown",
        "shared": "broken",
    }


def test_a_probe_that_meets_what_it_does_not_expect_is_unknown_and_says_so() -> None:
    def breaks(_: None) -> Finding:
        raise KeyError("simd_count")

    found = Probe[None]("x", "?", (), breaks).run(None)
    assert (found.status, found.found) == ("unknown", "the probe broke: KeyError: 'simd_count'")


def test_a_probe_that_does_not_end_is_left_alone_and_later_ones_are_not_run() -> None:
    ends = threading.Event()

    def waits(_: None) -> Finding:
        ends.wait()
        return Finding("pass", "late")

    try:
        found = Probe[None]("x", "?", (), waits).run(None, within_s=0.05)
    finally:
        ends.set()
    assert (found.status, found.found) == ("unknown", "not run to its end: time")
    late = Probe[None]("y", "?", (), lambda _: pytest.fail("it was run")).run(None, within_s=-1)
    assert (late.status, late.found, late.next) == ("unknown", "not run: time", "run it alone: `--only y`")


def test_the_time_for_a_bringup_is_that_of_all_its_probes(tmp_path: Path) -> None:
    settings = load_settings(
        {"data_dir": tmp_path / "data", "cache_dir": tmp_path / "cache", "hosts": {"mx9": "ssh://hal@127.0.0.1:9"}}
    )
    answer = bringup(settings, "mx9:0", within_s=0)
    assert {probe.found for probe in answer.probes} == {"not run: time"}
    assert set(answer.promises.values()) == {"unknown"}


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_probed(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="the archive cannot be written"):
        bringup(load_settings(), "local:0", archive_in=tmp_path / "file")


def test_probes_that_fail_stop_no_other_and_each_says_what_comes_next(tmp_path: Path) -> None:
    """No ssh answers at this address, so all that needs the host fails, and the archive is written all the same."""
    settings = load_settings(
        {"data_dir": tmp_path / "data", "cache_dir": tmp_path / "cache", "hosts": {"mx9": "ssh://hal@127.0.0.1:9"}}
    )
    answer = bringup(settings, "mx9:0", watch_s=0, archive_in=tmp_path)
    assert [probe.id for probe in answer.probes][: len(LOOKS)] == [probe.id for probe in LOOKS]
    by_id = {probe.id: probe for probe in answer.probes}
    assert len(by_id) == len(answer.probes) > 20
    assert {probe.id for probe in answer.probes if probe.status == "pass"} == set(), answer.probes
    assert by_id["connect"].next == "try `ssh -p 9 hal@127.0.0.1 true`"
    assert set(answer.promises.values()) == {"broken"}
    assert answer.archive
    written = b"".join(read_archive(Path(answer.archive)).values()).decode()
    assert not [name for name in ("hal", "mx9", "127.0.0.1") if name in written], written


@pytest.mark.parametrize("target", ["emulator:gfx942", "slurm:gfx942", "gpu7:0", "local:x"])
def test_a_target_that_is_no_gpu_of_a_known_machine_is_refused(target: str, settings: Settings) -> None:
    with pytest.raises(InputError, match=r"not a GPU|names no GPU"):
        bringup(settings, target)


def test_a_probe_that_does_not_exist_is_refused_with_those_that_do(settings: Settings) -> None:
    with pytest.raises(InputError) as error:
        bringup(settings, "local:0", only=["nodse"])
    assert "nodse" in error.value.message
    assert "neighbours" in (error.value.hint or "")
