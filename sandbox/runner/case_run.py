"""One case from its data to its report; runs in a process of its own, for a fault may end the process.

Each result goes into the report at once, so that the repeats before a fault are still reported.
"""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hip_calls
from event_timing import time_launches
from guarded_buffer import GuardedBuffer, allocate_all, free_all
from job_plan import Case, Job
from kernel_launch import BoundLaunch, bind

_TELLING_S, _TELLING_SHARE = 2.0, 0.4  # of a case's time, at most: for telling of a launch that did not end
_RACES_AGAIN_WITHIN_S = 2.0  # where looking for them took longer, it is done once
_FAULT_STATUS = {
    hip_calls.NOT_SUPPORTED: "not_emulated",
    hip_calls.LAUNCH_TIMEOUT: "timeout",
}


@dataclass
class CaseReport:
    """What the parent reads: plain JSON values."""

    status: str = "ok"
    message: str = ""
    device: dict[str, object] | None = None
    repeats: list[dict[str, int]] = field(default_factory=list)  # index of an output buffer to the repeat of its file
    guard_damage: list[dict[str, object]] = field(default_factory=list)
    inputs_modified: list[str] = field(default_factory=list)
    events_us: list[list[float]] = field(default_factory=list)


class Failure(Exception):
    """A HIP call failed in a way that belongs to the kernel: the status of the case, and a sentence."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


def run_case(job: Job, index: int, out: Path) -> CaseReport:
    """Run case `index`, leave its outputs in `out`; a failure is in the report, never raised."""
    report = CaseReport()
    try:
        report.device = hip_calls.device_description()
        _Run(job, index, out, report).run()
    except Failure as failure:
        report.status, report.message = failure.status, str(failure)
    except hip_calls.HipError as error:
        report.status, report.message = "crashed", str(error)
    return report


class _Run:
    def __init__(self, job: Job, index: int, out: Path, report: CaseReport) -> None:
        self.case: Case = job.cases[index]
        self.index = index
        self.out = out
        self.report = report
        self.data = [b.file.read_bytes() if b.file else None for b in self.case.buffers]
        self.functions = _load(job.code_object, self.case)
        self.first_outputs: dict[int, bytearray] = {}
        telling_s = min(_TELLING_S, _TELLING_SHARE * job.case_timeout_s)
        self.deadline = time.monotonic() + job.case_timeout_s - telling_s

    def run(self) -> None:
        took_s: list[float] = []
        for repeat in range(self.case.repeats):
            self._set_options(repeat, took_s)
            buffers = allocate_all(self.case.buffers, self.data, repeat=repeat)
            launches = self._bind(buffers)
            began = time.monotonic()
            for launch in launches:
                self._limit_time()
                _launch_and_wait(launch)
            took_s.append(time.monotonic() - began)
            self._inspect(buffers, repeat)
            free_all(buffers)
        if self.case.timing:
            self._time()

    def _set_options(self, repeat: int, took_s: list[float]) -> None:
        """The options of one repeat; of a case that takes long as it is, all repeats are plain ones."""
        options = self.case.emulator_options
        if repeat < len(options):
            plain = repeat > 0 and took_s[0] > self.case.close_look_within_s
            hip_calls.set_emulator_options(options[0 if plain else repeat])
        if repeat > 1 and took_s[1] > _RACES_AGAIN_WITHIN_S:
            hip_calls.set_emulator_options("races=0")

    def _limit_time(self) -> None:
        """Let the emulator end a launch before the case is killed, for it knows where the kernel hangs."""
        left_ms = max(1, int(1000 * (self.deadline - time.monotonic())))
        hip_calls.set_emulator_options(f"time_limit_ms={left_ms}")

    def _bind(self, buffers: list[GuardedBuffer]) -> list[BoundLaunch]:
        return [bind(launch, self.functions[launch.kernel], buffers) for launch in self.case.launches]

    def _time(self) -> None:
        """Time the launches, then look at the buffers of the last sample as at those of a repeat."""
        timing = self.case.timing
        assert timing is not None
        first = self.case.repeats
        sets = [allocate_all(self.case.buffers, self.data, repeat=first + i) for i in range(max(1, timing.buffer_sets))]
        bound = [(buffers, self._bind(buffers)) for buffers in sets]
        try:
            self.report.events_us = time_launches(bound, timing)
        except hip_calls.HipError as error:
            raise _failure_of_wait(error, "a timed launch") from error
        for i, buffers in enumerate(sets):
            if i == (timing.samples - 1) % len(sets):
                self._inspect(buffers, first)
            free_all(buffers)

    def _inspect(self, buffers: list[GuardedBuffer], repeat: int) -> None:
        outputs: dict[str, int] = {}
        for i, buffer in enumerate(buffers):
            self.report.guard_damage += [damage.as_json(repeat) for damage in buffer.damage()]
            if buffer.buffer.is_output:
                outputs[str(i)] = self._store(i, buffer.contents(), repeat)
            elif buffer.buffer.role == "in" and buffer.is_modified():
                self.report.inputs_modified.append(buffer.buffer.name)
        self.report.repeats.append(outputs)

    def _store(self, buffer: int, contents: bytearray, repeat: int) -> int:
        """The repeat whose file has these contents: the first one when they are the same, as they should be."""
        if repeat > 0 and self.first_outputs.get(buffer) == contents:
            return 0
        self.first_outputs.setdefault(buffer, contents)
        (self.out / f"case-{self.index}.repeat-{repeat}.buffer-{buffer}.bin").write_bytes(contents)
        return repeat


def _load(code_object: Path, case: Case) -> dict[str, Any]:
    try:
        module = hip_calls.load_module(code_object)
    except hip_calls.HipError as error:
        raise Failure("launch_error", f"the code object cannot be loaded: {error}") from error
    functions = {}
    for name in {launch.kernel for launch in case.launches}:
        try:
            functions[name] = hip_calls.find_kernel(module, name)
        except hip_calls.HipError as error:
            raise Failure("launch_error", f"the code object has no kernel {name}: {error}") from error
    return functions


def _launch_and_wait(launch: BoundLaunch) -> None:
    what = f"{launch.launch.kernel} with grid {list(launch.launch.grid)} and block {list(launch.launch.block)}"
    try:
        launch()
    except hip_calls.HipError as error:
        # A fault of an earlier launch is reported by its own wait: this launch was refused.
        status = "not_emulated" if error.code == hip_calls.NOT_SUPPORTED else "launch_error"
        raise Failure(status, f"{what} was not launched: {error}") from error
    try:
        hip_calls.synchronize()
    except hip_calls.HipError as error:
        raise _failure_of_wait(error, what) from error


def _failure_of_wait(error: hip_calls.HipError, what: str) -> Failure:
    return Failure(_FAULT_STATUS.get(error.code, "fault"), f"{what} failed: {error}")
