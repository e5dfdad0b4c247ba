"""One case from its data to its report; runs in a process of its own, for a fault may end the process.

The module is loaded once. The launches run in turns: the first inputs as often as the case repeats, each other input
once, the first inputs again. So a kernel that remembers an earlier launch is wrong in a later turn. Every second turn
of the other inputs keeps the addresses of the turn before it, so that no address stands for one input.

Each turn goes into the report at once, so that the turns before a fault are still reported.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hip_calls
from budget import Budget
from event_timing import time_launches
from guarded_buffer import GuardedBuffer, allocate_all, free_all
from job_plan import Case, Job, PairPlan
from kernel_launch import BoundLaunch, bind
from memory_layout import MemoryLayout
from pair_timing import PairTimes, Set, time_pairs

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
    repeats: list[dict[str, int]] = field(default_factory=list)  # per turn: output buffer to its file's turn
    guard_damage: list[dict[str, object]] = field(default_factory=list)
    inputs_modified: list[dict[str, object]] = field(default_factory=list)
    untouched: list[dict[str, object]] = field(default_factory=list)  # by any launch of the turn; emulator only
    events_us: list[list[float]] = field(default_factory=list)
    pairs: PairTimes | None = None


class Failure(Exception):
    """A HIP call failed in a way that belongs to the kernel: the status of the case, and a sentence."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


def run_case(
    job: Job, index: int, out: Path, *, save: Callable[[CaseReport], None], more_time: Callable[[], None]
) -> CaseReport:
    """Run case `index`, leave its outputs in `out`; a failure is in the report, never raised.

    `save` gets the report after each turn. `more_time` is called where the time of a case begins again: for each of the
    other inputs, as its launches may take as long as those of the first.
    """
    report = CaseReport()
    layout = MemoryLayout(f"{job.layout_seed} {index}")
    layout.begin()
    try:
        report.device = hip_calls.device_description()
        _Run(job, index, out, report, layout, save, more_time).run()
    except Failure as failure:
        report.status, report.message = failure.status, str(failure)
    except hip_calls.HipError as error:
        report.status, report.message = "crashed", str(error)
    return report


class _Run:
    def __init__(
        self,
        job: Job,
        index: int,
        out: Path,
        report: CaseReport,
        layout: MemoryLayout,
        save: Callable[[CaseReport], None],
        more_time: Callable[[], None],
    ) -> None:
        self.case: Case = job.cases[index]
        self.index = index
        self.out = out
        self.report = report
        self.layout = layout
        self.save = save
        self.more_time = more_time
        self.functions = _load(job.code_object, self.case)
        self.rival_functions: dict[str, Any] = {}
        if job.rival_code_object and self.case.rival:
            self.rival_functions = _load(job.rival_code_object, self.case.rival)
        self.first_outputs: dict[int, bytearray] = {}
        self.budget = Budget(
            self.case.emulator_options,
            close_look=self.case.close_look_within,
            limit=job.case_instructions,
            sample=random.Random(f"races {job.layout_seed} {index}").randrange(1, 1 << 63),
        )

    def run(self) -> None:
        for repeat in range(self.case.repeats):
            hip_calls.set_emulator_options(self.budget.begin(repeat, hip_calls.executed_instructions()))
            buffers = self._allocate(0, repeat)
            self._turn(buffers)
            self._inspect(buffers)
            free_all(buffers)
        if self.case.rival:
            self._time_pairs()
        elif self.case.timing:
            self._time()
        elif self.case.more_inputs:
            self._other_inputs()

    def _other_inputs(self) -> None:
        """Each of the other inputs, then the first again: in pairs that share their addresses."""
        order = [*range(1, 1 + len(self.case.more_inputs)), 0]
        buffers: list[GuardedBuffer] = []
        for number, inputs in enumerate(order):
            self.more_time()
            hip_calls.set_emulator_options(self.budget.begin_plain(hip_calls.executed_instructions()))
            poison = 0 if inputs == 0 else number  # that of the first turn, with which the last is compared
            if number % 2 == 0 and inputs != 0:
                free_all(buffers)
                buffers = self._allocate(inputs, poison)
            else:
                for buffer, contents in zip(buffers, _contents(self.case, inputs), strict=True):
                    if buffer.buffer.role == "workspace":
                        buffer.leave()  # a kernel that trusts an earlier launch's workspace finds that of other inputs
                    else:
                        buffer.refill(contents, repeat=poison)
            self._turn(buffers)
            self._inspect(buffers)
        free_all(buffers)

    def _turn(self, buffers: list[GuardedBuffer]) -> None:
        """Run all launches once."""
        for launch in self._bind(buffers):
            hip_calls.set_emulator_options(self.budget.launch(hip_calls.executed_instructions()))
            _launch_and_wait(launch)

    def _allocate(self, inputs: int, repeat: int) -> list[GuardedBuffer]:
        return allocate_all(self.case.buffers, _contents(self.case, inputs), self.layout, repeat=repeat)

    def _bind(self, buffers: list[GuardedBuffer]) -> list[BoundLaunch]:
        """The launches of a run, which begins here: it must not depend on what an earlier one left."""
        hip_calls.begin_run()
        return [bind(launch, self.functions[launch.kernel], buffers) for launch in self.case.launches]

    def _time(self) -> None:
        """Time the launches, and look at the buffers of some samples as at those of a repeat."""
        timing = self.case.timing
        assert timing is not None
        inputs = 1 + len(self.case.more_inputs)
        sets = [self._allocate(i % inputs, self.case.repeats + i) for i in range(max(1, timing.buffer_sets))]
        bound = [(buffers, self._bind(buffers)) for buffers in sets]
        try:
            self.report.events_us = time_launches(bound, timing, self._inspect)
        except hip_calls.HipError as error:
            raise _failure_of_wait(error, "a timed launch") from error
        for buffers in sets:
            free_all(buffers)

    def _time_pairs(self) -> None:
        """Time the launches in turns with those of the rival; each side has its own buffers."""
        rival = self.case.rival
        assert rival is not None
        self.more_time()
        executed = hip_calls.executed_instructions()
        hip_calls.set_emulator_options(self.budget.begin_plain(executed))
        hip_calls.set_emulator_options(self.budget.launch(executed))
        sides: list[list[Set]] = [[], []]
        contents = [(_contents(self.case, n), _contents(rival, n)) for n in range(1 + len(self.case.more_inputs))]
        for number in range(rival.buffer_sets):
            repeat, (data, rival_data) = self.case.repeats + number, contents[number % len(contents)]
            mine = allocate_all(self.case.buffers, data, self.layout, repeat=repeat)
            other = allocate_all(rival.buffers, rival_data, self.layout, repeat=repeat)
            sides[0].append((mine, self._bind(mine)))
            sides[1].append((other, [bind(each, self.rival_functions[each.kernel], other) for each in rival.launches]))
        times = self.report.pairs = PairTimes()

        def keep(side: int, place: int) -> None:
            number, buffers = len(times.outputs[side]), sides[side][place][0]
            times.outputs[side].append(self._keep(f"side-{side}", number, buffers, times.damage[side]))

        try:
            time_pairs(sides, rival, times, keep)
        except hip_calls.HipError as error:
            raise _failure_of_wait(error, "a timed launch") from error
        for buffers, _ in (*sides[0], *sides[1]):
            free_all(buffers)

    def _keep(
        self, side: str, number: int, buffers: list[GuardedBuffer], damage: list[dict[str, object]]
    ) -> dict[str, int]:
        outputs = {}
        for i, buffer in enumerate(buffers):
            damage += [each.as_json(number) for each in buffer.damage()]
            if buffer.buffer.is_output:
                name = f"case-{self.index}.{side}.sample-{number}.buffer-{i}.bin"
                (self.out / name).write_bytes(buffer.contents())
                outputs[str(i)] = number
        return outputs

    def _inspect(self, buffers: list[GuardedBuffer]) -> None:
        """Report what the turn that just ended left in its buffers."""
        repeat = len(self.report.repeats)
        outputs: dict[str, int] = {}
        for i, buffer in enumerate(buffers):
            self.report.untouched += buffer.untouched(repeat)
            self.report.guard_damage += [damage.as_json(repeat) for damage in buffer.damage()]
            if buffer.buffer.is_output:
                outputs[str(i)] = self._store(i, buffer.contents(), repeat)
            elif buffer.buffer.role == "in" and buffer.is_modified():
                self.report.inputs_modified.append({"buffer": buffer.buffer.name, "repeat": repeat})
        self.report.repeats.append(outputs)
        self.save(self.report)

    def _store(self, buffer: int, contents: bytearray, repeat: int) -> int:
        """The turn whose file has these contents: the first one when they are the same, as a repeat's should be."""
        if repeat > 0 and self.first_outputs.get(buffer) == contents:
            return 0
        self.first_outputs.setdefault(buffer, contents)
        (self.out / f"case-{self.index}.repeat-{repeat}.buffer-{buffer}.bin").write_bytes(contents)
        return repeat


def _contents(case: Case | PairPlan, inputs: int) -> list[bytes | None]:
    """The contents of all buffers before a launch; `inputs` 0 are the first."""
    other = case.more_inputs[inputs - 1] if inputs else {}
    files = [other.get(i, buffer.file) for i, buffer in enumerate(case.buffers)]
    return [file.read_bytes() if file else None for file in files]


def _load(code_object: Path, case: Case | PairPlan) -> dict[str, Any]:
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
