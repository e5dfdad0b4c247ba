"""A GPU that does not come back after a job is quarantined.

The driver's files are a tree of text files; the jobs change it as a kernel would: VRAM that stays, a process that
stays, activity without a process.
"""

import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from amdkernel_mcp.cancellation import Cancellation, CancelledWorkError
from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.database.open_database import writing
from amdkernel_mcp.database.tables import gpu_health
from amdkernel_mcp.errors import DatabaseError, InputError, SandboxError
from amdkernel_mcp.execution.gpu_idle import GpuState
from amdkernel_mcp.execution.sandbox import Completed
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.leases import hygiene
from amdkernel_mcp.leases.gpu_health import QuarantinedError
from amdkernel_mcp.leases.gpu_leases import GpuLeases
from amdkernel_mcp.leases.gpus import LeasedGpu
from amdkernel_mcp.leases.hygiene import RECOVERY_S, what_is_left, what_went_wrong
from amdkernel_mcp.leases.leased_sandbox import LeasedSandbox
from amdkernel_mcp.work import cancelled_by, current_work
from tests.gpu_host.sysfs import sysfs
from tests.history.postgres import postgres_server
from tests.waiting import wait_until

GPU = "1a2b3c4d5e6f7000"
DEVICE = "sys/class/drm/renderD128/device"
PROCESS = "sys/class/kfd/kfd/proc/4711"
GOOD = Completed(0, {}, "", False, False, False, 1.0)
HUNG = replace(GOOD, exit_code=124, timed_out=True)
FAULTED = replace(GOOD, files={"report.json": b'{"cases": [{"status": "fault"}]}'})
Job = Callable[["Machine"], Completed]


class Machine:
    """A sandbox on a machine with the files of `root`, whose jobs are functions of the test, and its time."""

    isolation, image_id = "none", "test"

    def __init__(self, root: Path) -> None:
        self.root = root
        self.now_s = 0.0
        self.later: dict[float, Callable[[], object]] = {}
        self.looks = 0
        self.broken: str | None = (
            None  # how a kernel with a known answer fails on its GPU; test_health_kernel.py runs it
        )
        self.job: Job = lambda _: GOOD
        for path, text in sysfs().items():
            self.write(f"sys/{path}", text)
        (root / "sys/class/kfd/kfd/proc").mkdir(parents=True)

    def write(self, path: str, text: object) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(f"{text}\n")

    def use_vram(self, mib: int) -> None:
        self.write(f"{DEVICE}/mem_info_vram_used", mib << 20)

    def start_process(self) -> None:
        self.write(f"{PROCESS}/vram_51140", 4096)

    def end_process(self) -> None:
        shutil.rmtree(self.root / PROCESS)

    def run(self, kind: str, command: Sequence[str], files: Mapping[str, bytes], **how: Any) -> Completed:  # noqa: ARG002
        if kind == "run":
            return self.job(self)
        current_work().cancellation.check()  # as each sandbox does
        self.looks += 1
        ended = subprocess.run([*command[:-1], str(self.root)], capture_output=True, text=True, check=False)
        return replace(GOOD, stderr=ended.stdout)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        for at in [at for at in self.later if at <= self.now_s]:
            self.later.pop(at)()

    def is_connected(self) -> bool:
        return True

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with postgres_server() as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.thorough)])
def own(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    url = request.getfixturevalue("postgres") if request.param == "postgres" else None
    return load_settings({"data_dir": tmp_path / "data", "database": url}, {})


@pytest.fixture
def leases(own: Settings) -> Iterator[GpuLeases]:
    opened = GpuLeases(own)
    yield opened
    with writing(opened._engine()) as connection:
        connection.execute(gpu_health.delete())  # tests share one Postgres
    opened.close()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(hygiene, "PAUSE_S", 10.0)  # each look is a shell
    return Machine(tmp_path / "machine")


@pytest.fixture
def gpu(machine: Machine, leases: GpuLeases) -> LeasedSandbox:
    """The sandbox of the machine's first GPU, where a minute of waiting takes no time."""
    target = Target("gpu1:0", "gpu", "gfx942", "MI300X", "gpu1", 0, id=GPU)
    leased = LeasedGpu(leases, machine, target, lambda: "/dev/dri/renderD128")  # type: ignore[arg-type]
    leased._hygiene = replace(
        leased._hygiene, clock=lambda: machine.now_s, sleep=machine.sleep, try_kernel=lambda: machine.broken
    )
    return LeasedSandbox(machine, leased)  # type: ignore[arg-type]


def run(gpu: LeasedSandbox, machine: Machine, job: Job = lambda _: GOOD) -> Completed:
    machine.job = job
    return gpu.run("run", ["job"], {}, timeout_s=1)


def leaks(mib: int, ending: Completed = HUNG) -> Job:
    def job(machine: Machine) -> Completed:
        machine.use_vram(mib)
        return ending

    return job


def leaves_a_process(machine: Machine) -> Completed:
    machine.start_process()
    return HUNG


def stays_busy(machine: Machine) -> Completed:
    machine.write(f"{DEVICE}/gpu_busy_percent", 100)
    return HUNG


def hides_its_state(machine: Machine) -> Completed:
    (machine.root / DEVICE / "mem_info_vram_used").unlink()
    return HUNG


def faults_and_leaks(machine: Machine) -> Completed:
    machine.use_vram(9000)
    return FAULTED


@pytest.mark.parametrize(
    ("job", "left"),
    [
        (leaks(9000), "9000 MiB of VRAM are in use, 8702 MiB more than before"),
        (leaves_a_process, "the driver lists processes that were not there before: 4711"),
        (stays_busy, "it is 100 % busy though no process uses it"),
        (hides_its_state, "mem_info_vram_used cannot be read"),
        (faults_and_leaks, "a kernel made the GPU fault, and 60 s later 9000 MiB"),
    ],
)
def test_what_a_job_leaves_for_a_minute_quarantines_the_gpu(
    gpu: LeasedSandbox,
    machine: Machine,
    leases: GpuLeases,
    job: Job,
    left: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run(gpu, machine, job)
    assert f"gpu1:0 is quarantined: {leases.health.quarantined()[GPU]}" in caplog.text, "the server's log says it"
    assert machine.now_s >= RECOVERY_S
    assert left in leases.health.quarantined()[GPU]
    ran: list[Machine] = []
    with pytest.raises(QuarantinedError, match="gpu1:0 is quarantined") as refused:
        run(gpu, machine, lambda at: ran.append(at) or GOOD)  # type: ignore[func-returns-value]
    assert not ran
    assert f"amdkernel admin gpus release {GPU}" in str(refused.value.hint)
    assert gpu.run("compile", ["true", ""], {}, timeout_s=1).exit_code == 0, "a compile needs no GPU"


def test_a_gpu_that_comes_back_within_a_minute_is_used_again(
    gpu: LeasedSandbox, machine: Machine, leases: GpuLeases
) -> None:
    def job(_: Machine) -> Completed:
        machine.start_process()
        machine.use_vram(9000)
        machine.later = {20.0: machine.end_process, 40.0: lambda: machine.use_vram(298)}
        return HUNG

    run(gpu, machine, job)
    assert 40 <= machine.now_s < RECOVERY_S
    known = leases.health.find(GPU)
    assert known is not None
    assert (known.suspect, known.quarantined_s) == (None, None)
    assert run(gpu, machine) == GOOD


def test_a_job_that_ends_well_waits_for_nothing_and_both_looks_are_kept(
    gpu: LeasedSandbox, machine: Machine, leases: GpuLeases
) -> None:
    run(gpu, machine, leaks(310, GOOD))
    known = leases.health.find(GPU)
    assert known is not None
    assert (machine.now_s, machine.looks) == (0, 2)
    assert known.baseline is not None
    assert known.state is not None
    assert (known.baseline.vram_used_bytes >> 20, known.state.vram_used_bytes >> 20) == (298, 310)
    assert known.state.clocks.sclk_mhz == 132
    assert known.looked_s is not None


def test_a_leak_that_the_report_hides_does_not_become_the_baseline(
    gpu: LeasedSandbox, machine: Machine, leases: GpuLeases
) -> None:
    run(gpu, machine)
    assert run(gpu, machine, leaks(9000, GOOD)) == GOOD, "nothing is known of the leak yet"
    ran: list[Machine] = []
    with pytest.raises(QuarantinedError, match=r"an earlier job left something.* 8702 MiB more than before"):
        run(gpu, machine, lambda at: ran.append(at) or GOOD)  # type: ignore[func-returns-value]
    assert not ran
    leases.health.release(GPU)
    assert run(gpu, machine) == GOOD, "an admin's release makes it the baseline"


@pytest.mark.thorough
def test_many_small_hidden_leaks_are_added_up(gpu: LeasedSandbox, machine: Machine, leases: GpuLeases) -> None:
    for mib in (298, 338, 378):
        run(gpu, machine, leaks(mib, GOOD))
    with pytest.raises(QuarantinedError, match="378 MiB of VRAM are in use, 80 MiB more than before"):
        run(gpu, machine)
    assert leases.health.quarantined()


def test_a_hidden_activity_without_a_process_does_not_become_the_baseline(
    gpu: LeasedSandbox, machine: Machine, leases: GpuLeases
) -> None:
    def stays_busy_and_hides_it(at: Machine) -> Completed:
        stays_busy(at)
        return GOOD

    run(gpu, machine)
    run(gpu, machine, stays_busy_and_hides_it)
    with pytest.raises(QuarantinedError, match="100 % busy"):
        run(gpu, machine)
    assert leases.health.quarantined()


def test_what_a_job_of_others_has_on_the_gpu_is_no_leak_and_no_baseline(
    gpu: LeasedSandbox, machine: Machine, leases: GpuLeases
) -> None:
    run(gpu, machine)
    machine.start_process()
    machine.use_vram(9000)
    assert run(gpu, machine) == GOOD
    machine.end_process()
    with pytest.raises(QuarantinedError, match="9000 MiB"):
        run(gpu, machine)
    assert leases.health.quarantined()


def test_processes_of_others_that_were_there_before_are_not_ours(
    gpu: LeasedSandbox, machine: Machine, leases: GpuLeases
) -> None:
    machine.start_process()
    run(gpu, machine, leaks(9000))
    assert leases.health.quarantined() == {}


def test_the_memory_of_a_desktop_is_no_leak_and_its_activity_no_trace_of_a_job(
    gpu: LeasedSandbox, machine: Machine, leases: GpuLeases
) -> None:
    machine.write(f"{DEVICE}/drm/card0/card0-DP-1/enabled", "enabled")
    run(gpu, machine, leaks(600, GOOD))

    def a_browser_opens(at: Machine) -> Completed:
        at.write(f"{DEVICE}/gpu_busy_percent", 40)
        return leaks(1400)(at)

    run(gpu, machine, a_browser_opens)
    assert run(gpu, machine) == GOOD
    assert leases.health.quarantined() == {}


def test_a_monitor_that_starts_during_a_job_that_hangs_is_no_trace_of_it(
    gpu: LeasedSandbox, machine: Machine, leases: GpuLeases
) -> None:
    def starts_a_monitor(at: Machine) -> Completed:
        at.write(f"{PROCESS}/vram_51140", 0)
        return HUNG

    run(gpu, machine, starts_a_monitor)
    assert (machine.now_s, leases.health.quarantined()) == (0, {})


@pytest.mark.parametrize("hidden", ["gpu_busy_percent", "mem_info_vram_used", "gpu_busy_percent mem_info_vram_used"])
def test_what_a_gpu_never_shows_quarantines_nothing(
    gpu: LeasedSandbox, machine: Machine, leases: GpuLeases, hidden: str
) -> None:
    for name in hidden.split():
        (machine.root / DEVICE / name).unlink()
    run(gpu, machine)
    run(gpu, machine, lambda _: HUNG)
    assert run(gpu, machine) == GOOD
    assert leases.health.quarantined() == {}
    machine.broken = "a kernel with a known answer was wrong"
    run(gpu, machine, lambda _: HUNG)
    assert leases.health.quarantined(), "a kernel that fails there still does"


def test_a_driver_that_never_lists_processes_quarantines_nothing(
    gpu: LeasedSandbox, machine: Machine, leases: GpuLeases
) -> None:
    shutil.rmtree(machine.root / "sys/class/kfd/kfd/proc")
    run(gpu, machine, lambda _: HUNG)
    assert run(gpu, machine) == GOOD
    assert leases.health.quarantined() == {}


def test_the_gpu_of_a_cancelled_job_is_looked_at_as_well(
    gpu: LeasedSandbox, machine: Machine, leases: GpuLeases
) -> None:
    token = Cancellation()

    def job(_: Machine) -> Completed:
        machine.use_vram(9000)
        token.cancel()
        raise CancelledWorkError

    with pytest.raises(CancelledWorkError), cancelled_by(token):
        run(gpu, machine, job)
    assert leases.health.quarantined()[GPU].startswith("the job was cancelled, and 60 s later 9000 MiB")


def test_a_bad_ending_inside_an_exclusive_lease_counts_though_it_was_caught(
    gpu: LeasedSandbox, machine: Machine, leases: GpuLeases
) -> None:
    def job(_: Machine) -> Completed:
        machine.use_vram(9000)
        raise SandboxError("the container was lost")

    with gpu.gpu.leased("exclusive", current_work()), pytest.raises(SandboxError):
        run(gpu, machine, job)
    assert "the sandbox of the job failed" in leases.health.quarantined()[GPU]


def test_next_to_another_job_nothing_is_quarantined_and_the_next_alone_waits(
    gpu: LeasedSandbox, machine: Machine, leases: GpuLeases
) -> None:
    run(gpu, machine)
    other, granted = leases.ask(GPU, "shared", "bob")
    assert granted
    run(gpu, machine, leaves_a_process)
    known = leases.health.find(GPU)
    assert known is not None
    assert (known.suspect, known.quarantined_s) == ("the job was ended at its time limit", None)
    assert leases.end(other)
    with pytest.raises(QuarantinedError, match="processes that were not there before: 4711"):
        run(gpu, machine)


def test_of_two_jobs_that_come_at_once_to_a_gpu_that_is_new_and_broken_none_runs(
    gpu: LeasedSandbox, machine: Machine, leases: GpuLeases
) -> None:
    tried = threading.Event()

    def try_kernel() -> str | None:
        tried.set()
        wait_until(lambda: len(leases.held()) == 2, "the other has its lease as well")
        return "a kernel with a known answer gave 3 wrong words"

    gpu.gpu._hygiene = replace(gpu.gpu._hygiene, try_kernel=try_kernel)
    ran: list[Machine] = []
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(run, gpu, machine, lambda at: ran.append(at) or GOOD)  # type: ignore[func-returns-value]
        assert tried.wait(60)
        second = pool.submit(run, gpu, machine, lambda at: ran.append(at) or GOOD)  # type: ignore[func-returns-value]
        for each in (first, second):
            with pytest.raises(QuarantinedError, match="when it joined or was released, a kernel with a known answer"):
                each.result(60)
    assert not ran
    assert gpu.gpu.quarantine() is not None


def test_what_a_killed_process_leaves_is_found_before_the_next_job(
    gpu: LeasedSandbox, machine: Machine, own: Settings
) -> None:
    run(gpu, machine)
    stopped = GpuLeases(own)
    assert stopped.ask(GPU, "exclusive", "bob")[1]
    machine.use_vram(9000)
    stopped.close()
    with pytest.raises(QuarantinedError, match="stopped while a job used the GPU, and 60 s later 9000 MiB"):
        run(gpu, machine)


def test_a_host_that_cannot_be_reached_is_asked_again_before_the_next_job(
    gpu: LeasedSandbox, machine: Machine, leases: GpuLeases
) -> None:
    run(gpu, machine)
    answers = machine.run

    def job(_: Machine) -> Completed:
        def fails(*_: object, **__: object) -> Completed:
            raise SandboxError("ssh ended")

        machine.run = fails  # type: ignore[method-assign]
        return HUNG

    run(gpu, machine, job)
    known = leases.health.find(GPU)
    assert known is not None
    assert known.quarantined_s is None
    assert known.suspect == "the job was ended at its time limit, and then ssh ended"
    machine.run = answers  # type: ignore[method-assign]
    assert run(gpu, machine) == GOOD
    known = leases.health.find(GPU)
    assert known is not None
    assert known.suspect is None


def test_a_released_gpu_is_used_again_and_its_new_state_is_the_baseline(
    gpu: LeasedSandbox, machine: Machine, leases: GpuLeases
) -> None:
    run(gpu, machine, leaks(9000))
    assert leases.health.release(GPU).quarantined_s is None
    assert run(gpu, machine) == GOOD
    run(gpu, machine, lambda _: HUNG)
    assert leases.health.quarantined() == {}
    with pytest.raises(InputError, match="not quarantined"):
        leases.health.release(GPU)
    with pytest.raises(InputError, match="no GPU has the id"):
        leases.health.release("'; drop table gpu_health; --")


def test_without_a_database_nothing_runs(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    leases = GpuLeases(load_settings({"data_dir": tmp_path / "file" / "data"}, {}))
    target = Target("gpu1:0", "gpu", "gfx942", "MI300X", "gpu1", 0, id=GPU)
    gpu = LeasedSandbox(machine, LeasedGpu(leases, machine, target, lambda: "/dev/dri/renderD128"))  # type: ignore[arg-type]
    ran: list[Machine] = []
    with pytest.raises(DatabaseError):
        run(gpu, machine, lambda at: ran.append(at) or GOOD)  # type: ignore[func-returns-value]
    assert not ran


@pytest.mark.parametrize(
    ("done", "said"),
    [
        (GOOD, None),
        (replace(GOOD, exit_code=1), None),  # a program's own code
        (HUNG, "time limit"),
        (replace(GOOD, out_of_memory=True), "memory"),
        (replace(GOOD, exit_code=134), "signal 6"),
        (FAULTED, "fault"),
        (replace(GOOD, files={"report.json": b'{"cases": [{"status": "ok"}]}'}), None),
    ],
)
def test_only_a_bad_ending_makes_a_gpu_suspect(done: Completed, said: str | None) -> None:
    found = what_went_wrong(done)
    assert found is None if said is None else said in (found or "")


def test_vram_is_not_compared_across_drivers() -> None:
    before = GpuState(0, 298 << 20, GPU, "6.16.6", ())
    assert what_is_left(replace(before, vram_used_bytes=900 << 20), before) is not None
    assert what_is_left(replace(before, vram_used_bytes=900 << 20, driver="6.17"), before) is None
    assert what_is_left(replace(before, vram_used_bytes=350 << 20), before) is None
    assert what_is_left(before, None) is None
