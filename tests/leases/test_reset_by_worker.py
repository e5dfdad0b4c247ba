"""A GPU that does not come back, and a worker that may reset it: the hub, the leases and the stand-in tool are real."""

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from amdkernel_mcp import __version__
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution.targets import find_target, list_targets
from amdkernel_mcp.leases import hygiene
from amdkernel_mcp.leases.gpu_leases import GpuLeases
from amdkernel_mcp.leases.gpus import LeasedGpu
from amdkernel_mcp.leases.leased_sandbox import LeasedSandbox
from amdkernel_mcp.leases.reset import ResetByWorker
from amdkernel_mcp.workers.connection import Connection
from amdkernel_mcp.workers.hub import WorkerHub, build
from amdkernel_mcp.workers.messages import Done, Failed, FromServer, Hello, OfferedGpu, Reset
from amdkernel_mcp.workers.offer import Gpu
from amdkernel_mcp.workers.reset import reset
from tests.leases.test_hygiene import DEVICE, GOOD, HUNG, Machine, leaks, leaves_a_process, run

TOOLS = Path(__file__).parents[1] / "gpu_host/machine"
IDS = ("1a2b3c4d5e6f7000", "1a2b3c4d5e6f7001")
GPUS = [Gpu(index, "gfx942", "MI300X", f"/dev/dri/renderD{128 + index}", IDS[index]) for index in (0, 1)]


class Worker:
    """The link to a worker on `machine` that answers at once."""

    connection: Connection

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.asked: list[int] = []

    def send(self, message: FromServer) -> None:
        assert isinstance(message, Reset)
        self.asked.append(message.gpu)
        try:
            code, said = reset(GPUS[message.gpu], GPUS, root=self.machine.root, path=f"{TOOLS}:/usr/bin")
        except TargetError as error:
            failed = Failed(fence=message.fence, error="target", message=error.message, hint=None)
            return self.connection.receive(failed)
        done = Done(
            fence=message.fence, exit_code=code, stderr=said, timed_out=code == 124, out_of_memory=False,
            truncated=False, stderr_cut=False, seconds=1.0, output_bytes=0,
        )  # fmt: skip
        return self.connection.receive(done)

    def post(self, message: FromServer) -> None: ...


class Bench:
    """A GPU of a worker's host, and what the audit log has of it."""

    def __init__(self, machine: Machine, leases: GpuLeases, *, may_reset: bool = True) -> None:
        self.machine, self.leases = machine, leases
        self.hub, self.worker, self.noted = WorkerHub(), Worker(machine), list[tuple[str, str, str, str]]()
        self.hub.open(lambda *line: self.noted.append(line))
        gpus = [
            OfferedGpu(
                index=each.index, arch=each.arch, name=each.name, render_node=each.render_node, unique_id=each.unique_id
            )
            for each in GPUS
        ]
        hello = Hello(
            version=__version__, build=build(), name="far", image_id="sha256:0", isolation="docker", emulator=False,
            may_reset=may_reset, slots=4, gpus=gpus,
        )  # fmt: skip
        self.worker.connection = self.hub.join(hello, self.worker)
        target = find_target("far:0", load_settings({}, {}), self.hub)
        by_worker = ResetByWorker(leases, self.hub, target)
        leased = LeasedGpu(leases, machine, target, lambda: "/dev/dri/renderD128", by_worker)  # type: ignore[arg-type]
        leased._hygiene = replace(
            leased._hygiene, clock=lambda: machine.now_s, sleep=machine.sleep, try_kernel=lambda: machine.broken
        )
        self.gpu = LeasedSandbox(machine, leased)  # type: ignore[arg-type]

    @property
    def quarantine(self) -> str | None:
        return self.leases.health.quarantined().get(IDS[0])


@pytest.fixture
def leases(tmp_path: Path) -> Iterator[GpuLeases]:
    opened = GpuLeases(load_settings({"data_dir": tmp_path / "data"}, {}))
    yield opened
    opened.close()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(hygiene, "PAUSE_S", 10.0)
    monkeypatch.setenv("SYS_IN_A_BOX", str(tmp_path / "machine/sys"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return Machine(tmp_path / "machine")


@pytest.fixture
def bench(machine: Machine, leases: GpuLeases) -> Bench:
    return Bench(machine, leases)


def test_a_gpu_that_does_not_come_back_is_reset_and_used_again(bench: Bench) -> None:
    run(bench.gpu, bench.machine, leaks(9000))
    assert bench.worker.asked == [0]
    assert bench.quarantine is None
    assert bench.noted == [("reset far:0", "far:0", "done", "it was reset")]
    assert run(bench.gpu, bench.machine) == GOOD
    assert bench.leases.held() == []
    [listed] = [each for each in list_targets(load_settings({}, {}), bench.hub) if each.name == "far:0"]
    assert listed.ready
    note = r"reset \d+ s ago: the job was ended at its time limit, and 60 s later 9000 MiB of VRAM are in use, .*"
    assert re.fullmatch(note, str(listed.note))


def test_a_gpu_whose_kernel_fails_is_reset_and_quarantined_where_it_fails_again(bench: Bench) -> None:
    def breaks(machine: Machine) -> object:
        machine.broken = "a kernel with a known answer computed 3 of 9 words wrong"
        return HUNG

    run(bench.gpu, bench.machine, breaks)  # type: ignore[arg-type]
    assert bench.worker.asked == [0], "once"
    assert bench.quarantine == (
        "the job was ended at its time limit, and a kernel with a known answer computed 3 of 9 words wrong; it was "
        "reset, and then a kernel with a known answer computed 3 of 9 words wrong"
    )


def test_a_reset_that_does_not_help_is_in_the_reason(bench: Bench) -> None:
    bench.machine.write("sys/module/amd_smi_in_a_box/behaviour", "useless")
    run(bench.gpu, bench.machine, leaks(9000))
    assert "; it was reset, and then 60 s later 900 MiB of VRAM are in use" in str(bench.quarantine)


def test_a_reset_that_fails_is_in_the_reason_with_what_the_tool_printed(bench: Bench) -> None:
    bench.machine.write("sys/module/amd_smi_in_a_box/behaviour", "fails")
    run(bench.gpu, bench.machine, leaks(9000))
    assert str(bench.quarantine).endswith(
        "; its reset ended with exit code 1: AMDSMI_STATUS_NO_PERM: Permission Denied"
    )
    assert bench.noted[0][2] == "failed"


def test_a_worker_that_may_not_reset_is_not_asked(machine: Machine, leases: GpuLeases) -> None:
    bench = Bench(machine, leases, may_reset=False)
    run(bench.gpu, bench.machine, leaks(9000))
    assert bench.worker.asked == []
    assert str(bench.quarantine).endswith("8702 MiB more than before")
    assert bench.noted == []


def test_a_process_that_is_still_there_is_not_ended_by_a_reset(bench: Bench) -> None:
    run(bench.gpu, bench.machine, leaves_a_process)
    assert str(bench.quarantine).endswith(
        "it was not reset: a reset ends each process that uses a GPU, and the driver lists 4711"
    )
    assert bench.noted[0][2] == "refused"


def test_a_gpu_beside_one_in_use_is_not_reset(bench: Bench) -> None:
    other, granted = bench.leases.ask(IDS[1], "shared", "bob")
    assert granted
    run(bench.gpu, bench.machine, leaks(9000))
    assert bench.worker.asked == []
    assert str(bench.quarantine).endswith(
        "it was not reset: far:1 of the same machine is in use, and may be reset along with it"
    )
    assert bench.leases.renew(other), "it is not disturbed"
    assert len(bench.leases.held()) == 1


def test_nothing_begins_on_the_machine_while_a_gpu_is_reset(bench: Bench) -> None:
    seen = list[bool]()
    send = bench.worker.send

    def while_it_is_reset(message: FromServer) -> None:
        for gpu in IDS:
            asked, granted = bench.leases.ask(gpu, "shared", "bob")
            seen.append(granted)
            bench.leases.withdraw(asked)
        send(message)

    bench.worker.send = while_it_is_reset  # type: ignore[method-assign]
    run(bench.gpu, bench.machine, leaks(9000))
    assert seen == [False, False]
    assert (bench.machine.root / DEVICE / "mem_info_vram_used").read_text() == f"{298 << 20}\n"
