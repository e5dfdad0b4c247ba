"""Runs a job in a sandbox and reads the report: the host's side of sandbox/runner/job_plan.py.

The report comes from where a candidate's kernels ran, so all of it is validated: file names are made here and never
read there, and lengths must be those of the job.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution.runner.pairs import paired_output_bytes, read_pairs
from amdkernel_mcp.execution.sandbox import Completed, Sandbox
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.runner_protocol.job import Buffer, Mode, Rival, RunCase, RunnerArgument, RunnerJob, RunnerLaunch
from amdkernel_mcp.runner_protocol.records import CaseAnswer, CaseStatus, read_dispatches, read_report
from amdkernel_mcp.runner_protocol.report import CaseReport, RunnerReport
from amdkernel_mcp.runner_protocol.turns import turns_of
from amdkernel_mcp.work import Work

FORMAT = 3
RUNNER = "/opt/amdkernel/runner/run_job.py"
EMULATOR = "/opt/amdkernel/emulator"

# For each case on the emulator, where instructions are limited and seconds say nothing: only a stuck emulator or a
# machine without time to spare comes here.
EMULATED_CASE_S = 900.0
# Python, NumPy and hip-python start, files are written: what a run takes besides its cases.
START_ALLOWANCE_S = 30.0
REPORT_ALLOWANCE_BYTES = 32 << 20


def run_job(sandbox: Sandbox, target: Target, job: RunnerJob, work: Work | None = None) -> RunnerReport:
    """Run `job` on `target`. Raises SandboxError, and TargetError when the answer is not one of our runner."""
    return read_answer(job, target, launch_job(sandbox, target, job, work))


def launch_job(sandbox: Sandbox, target: Target, job: RunnerJob, work: Work | None = None) -> Completed:
    """What the runner left of `job`, for `read_answer`. Raises what the sandbox raises."""
    return sandbox.run(
        "run",
        runner_command(target, job),
        job_files(job, emulated=target.kind == "emulator"),
        timeout_s=START_ALLOWANCE_S + _case_seconds(job, emulated=target.kind == "emulator") * _turns(job),
        output_limit_bytes=output_limit(job),
        on_stderr=_progress_reader(work) if work else None,
    )


def _turns(job: RunnerJob) -> int:
    """How many times the time of a case begins, at most."""
    return sum(2 + len(case.more_inputs) for case in job.cases)


def _case_seconds(job: RunnerJob, *, emulated: bool) -> float:
    """After how many seconds a case is ended from outside."""
    return EMULATED_CASE_S if emulated else job.case_timeout_s


def runner_command(target: Target, job: RunnerJob) -> list[str]:
    """The command line in the sandbox; which libamdhip64.so is loaded is decided here."""
    environment = ["PYTHONPATH=/opt/amdkernel/python", "PYTHONDONTWRITEBYTECODE=1"]
    if target.kind == "emulator":
        environment += [
            f"LD_LIBRARY_PATH={EMULATOR}",
            f"ROCM_PATH={EMULATOR}",
            f"AMDKERNEL_EMULATOR_OPTIONS={_emulator_options(job)}",
        ]
    return ["env", *environment, "python3", "-s", RUNNER]


def _emulator_options(job: RunnerJob) -> str:
    options = {
        "arch": job.arch,
        "step_limit": job.case_instructions,
        "reproducible": 1,
        "standstill": 1,
        "residency": 1,
        "memory": int(job.mode != "check"),
        "pcs": int(job.mode == "profile"),
        "check": int(job.mode == "check"),
        "ran": int(job.mode == "check"),
    }
    if job.clock_seed is not None:
        options |= {"clock": "simulated", "clock_seed": job.clock_seed}
    return ",".join(f"{name}={value}" for name, value in options.items())


def job_files(job: RunnerJob, *, emulated: bool = False) -> dict[str, bytes]:
    """The files of the job. Input data that several cases share are sent once."""
    files = {"code_object.co": job.code_object}
    cases = [_case_plan(case, job.mode, files) for case in job.cases]
    rival = None
    if job.rival_code_object is not None:
        rival = "rival_code_object.co"
        files[rival] = job.rival_code_object
    plan = {
        "format": FORMAT,
        "code_object": "code_object.co",
        "rival_code_object": rival,
        "case_timeout_s": _case_seconds(job, emulated=emulated),
        "case_instructions": job.case_instructions,
        "emulated": emulated,
        "layout_seed": job.layout_seed,
        "cases": cases,
    }
    files["job.json"] = json.dumps(plan).encode()
    return files


def _case_plan(case: RunCase, mode: Mode, files: dict[str, bytes]) -> dict[str, Any]:
    index_of = {buffer.name: index for index, buffer in enumerate(case.buffers)}
    if len(index_of) != len(case.buffers):
        raise ValueError("two buffers of a case have the same name")
    timing = case.timing if mode == "time" else None
    return {
        "repeats": case.repeats,
        "emulator_options": case.emulator_options,
        "close_look_within": case.close_look_within,
        "rival": case.rival and _rival_plan(case.rival, files),
        "timing": timing and {name: getattr(timing, name) for name in ("warmups", "samples", "buffer_sets", "kept")},
        "buffers": [_buffer_plan(buffer, buffer.data, files) for buffer in case.buffers],
        "more_inputs": [_contents(case.buffers, data, files) for data in case.more_inputs],
        "launches": [_launch_plan(launch, index_of) for launch in case.launches],
    }


def _rival_plan(rival: Rival, files: dict[str, bytes]) -> dict[str, Any]:
    """The other kernel of a case that is timed in turns."""
    index_of = {buffer.name: index for index, buffer in enumerate(rival.buffers)}
    numbers = (each.name for each in fields(Rival) if each.name not in ("buffers", "launches", "more_inputs"))
    return {
        "buffers": [_buffer_plan(buffer, buffer.data, files) for buffer in rival.buffers],
        "launches": [_launch_plan(launch, index_of) for launch in rival.launches],
        "more_inputs": [_contents(rival.buffers, data, files) for data in rival.more_inputs],
        **{name: getattr(rival, name) for name in numbers},
    }


def _buffer_plan(buffer: Buffer, data: bytes | None, files: dict[str, bytes]) -> dict[str, Any]:
    name = None if data is None else _data_file(buffer, data, files)
    return {"name": buffer.name, "bytes": buffer.bytes, "role": buffer.role, "file": name, "align": buffer.align}


def _contents(buffers: Sequence[Buffer], data: Mapping[str, bytes], files: dict[str, bytes]) -> dict[str, str]:
    """The files with other data of the buffers, by their index; a buffer without any must not get some."""
    if set(data) != {buffer.name for buffer in buffers if buffer.data is not None}:
        raise ValueError("other inputs must be of the same buffers as the first ones")
    return {
        str(index): _data_file(buffer, data[buffer.name], files)
        for index, buffer in enumerate(buffers)
        if buffer.data is not None
    }


def _data_file(buffer: Buffer, data: bytes, files: dict[str, bytes]) -> str:
    if len(data) != buffer.bytes:
        raise ValueError(f"buffer {buffer.name} has {buffer.bytes} bytes, its data {len(data)}")
    name = f"data/{hashlib.sha256(data).hexdigest()}.bin"
    files[name] = data
    return name


def _launch_plan(launch: RunnerLaunch, index_of: Mapping[str, int]) -> dict[str, Any]:
    return {
        "kernel": launch.kernel,
        "grid": launch.grid,
        "block": launch.block,
        "lds_bytes": launch.lds_bytes,
        "arguments": [_argument_plan(argument, index_of) for argument in launch.arguments],
    }


def _argument_plan(argument: RunnerArgument, index_of: Mapping[str, int]) -> dict[str, Any]:
    if argument.buffer is not None:
        return {"buffer": index_of[argument.buffer]}
    if argument.scalar is None:
        raise ValueError("an argument is neither a buffer nor a scalar")
    return {"scalar": argument.scalar.hex()}


def output_limit(job: RunnerJob) -> int:
    """How many bytes a run of the job may leave."""
    outputs = sum(
        buffer.bytes * len(turns_of(case, job.mode))
        for case in job.cases
        for buffer in case.buffers
        if buffer.role in ("out", "inout")
    )
    return outputs + paired_output_bytes(job) + REPORT_ALLOWANCE_BYTES


def _progress_reader(work: Work) -> Callable[[str], None]:
    def read(line: str) -> None:
        try:
            event = json.loads(line)
            work.say(f"case {int(event['index']) + 1} of {int(event['of'])}: {str(event['status'])[:20]}")
        except (ValueError, KeyError, TypeError):
            return  # something else that was printed

    return read


def read_answer(job: RunnerJob, target: Target, completed: Completed) -> RunnerReport:
    """The runner's answer, validated. Raises TargetError when it has none that fits the job."""
    raw = completed.files.get("report.json")
    if raw is None:
        return _without_report(target, job, completed)
    answers = read_report(raw, cases=len(job.cases), target=target.name)
    device = next((answer.device for answer in answers if answer.device), None)
    if device and device.emulated != (target.kind == "emulator"):
        raise TargetError(f"{target.name} answered with the wrong kind of device: {device.name}")
    cases = tuple(
        _case_report(index, case, len(turns_of(case, job.mode)), answer, completed.files, target.name)
        for index, (case, answer) in enumerate(zip(job.cases, answers, strict=True))
    )
    return RunnerReport(device, cases)


def _without_report(target: Target, job: RunnerJob, completed: Completed) -> RunnerReport:
    """The runner was ended from outside, or could not start: the latter is not the kernel's fault."""
    status: CaseStatus = "crashed"
    if completed.timed_out:
        status = "unfinished" if target.kind == "emulator" else "timeout"
        message = "the run passed its time"
    elif completed.out_of_memory:
        message = "the run needed more memory than the sandbox has"
    elif completed.truncated:
        message = "the run wrote more than it may"
    else:
        raise TargetError(
            f"the runner ended with {completed.exit_code} and left no report: {completed.stderr[-2000:].strip()}",
            hint="`amdkernel doctor` looks for what is missing",
        )
    return RunnerReport(None, tuple(CaseReport(status, message, ()) for _ in job.cases))


def _case_report(
    index: int, case: RunCase, turns: int, answer: CaseAnswer, files: Mapping[str, bytes], target: str
) -> CaseReport:
    names = {buffer.name for buffer in case.buffers}
    told = [(damage.buffer, damage.repeat) for damage in answer.guard_damage]
    told += [(changed.buffer, changed.repeat) for changed in answer.inputs_modified]
    told += [(untouched.buffer, untouched.repeat) for untouched in answer.untouched]
    short = answer.status == "ok" and len(answer.repeats) != turns
    if short or len(answer.repeats) > turns or any(name not in names or turn >= turns for name, turn in told):
        raise TargetError(f"{target} answered for buffers or turns that case {index} does not have")
    return CaseReport(
        status=answer.status,
        message=answer.message,
        outputs=tuple(
            _outputs(index, case, answer.repeats, repeat, files, target) for repeat in range(len(answer.repeats))
        ),
        guard_damage=tuple(answer.guard_damage),
        untouched=tuple(answer.untouched),
        inputs_modified=tuple(answer.inputs_modified),
        events_us=tuple(tuple(sample) for sample in answer.events_us),
        pairs=read_pairs(index, case, answer.pairs, files, target) if case.rival and answer.pairs else None,
        dispatches=read_dispatches(files.get(f"case-{index}.dispatches.jsonl", b""), target=target),
    )


def _outputs(
    index: int, case: RunCase, repeats: list[dict[str, int]], repeat: int, files: Mapping[str, bytes], target: str
) -> dict[str, bytes]:
    """The outputs of one turn: each from its own file, or from the first turn's when the two are alike."""
    outputs = {}
    for number, buffer in enumerate(case.buffers):
        if buffer.role not in ("out", "inout"):
            continue
        source = repeats[repeat].get(str(number))
        content = files.get(f"case-{index}.repeat-{source}.buffer-{number}.bin") if source in (0, repeat) else None
        if content is None or len(content) != buffer.bytes:
            raise TargetError(f"{target} did not return {buffer.name} of case {index}, repeat {repeat}, as it should")
        outputs[buffer.name] = content
    return outputs
