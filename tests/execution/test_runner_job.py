"""The host's side of a job: what is sent, and which answers are refused. No sandbox: `Completed` is a plain value."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution.runner.job import job_files, read_answer, runner_command
from amdkernel_mcp.execution.sandbox import Completed
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.runner_protocol.job import Buffer, RunCase, RunnerArgument, RunnerJob, RunnerLaunch

EMULATOR = Target("emulator:gfx942", "emulator", "gfx942", "MI300X")
GPU = Target("local:0", "gpu", "gfx942", "MI300X", index=0)
DEVICE = {"name": "AMD Instinct MI300X (emulated)", "arch": "gfx942", "rocm": "6.4.43484", "emulated": True}
Y = b"12345678"

LAUNCH = RunnerLaunch(
    "k", (1, 1, 1), (64, 1, 1), 0, (RunnerArgument("x"), RunnerArgument("y"), RunnerArgument(scalar=b"\7\0\0\0"))
)
CASE = RunCase((Buffer("x", 4, "in", b"abcd"), Buffer("y", 8, "out")), (LAUNCH,), repeats=2)
JOB = RunnerJob("gfx942", b"ELF", (CASE,))
RECORD = {
    "kernel": "k",
    "grid": [1, 1, 1],
    "block": [64, 1, 1],
    "lds_bytes": 0,
    "seconds": 0.1,
    "counters": {"SQ_WAVES": 1},
    "pcs": None,
    "fault": None,
}


def answered(report: object, files: Mapping[str, bytes] | None = None, **changes: Any) -> Completed:
    content = report if isinstance(report, bytes) else json.dumps(report).encode()
    outputs = {"report.json": content, "case-0.repeat-0.buffer-1.bin": Y} | dict(files or {})
    fields: dict[str, Any] = {
        "exit_code": 0,
        "files": outputs,
        "stderr": "",
        "timed_out": False,
        "out_of_memory": False,
        "truncated": False,
        "seconds": 1.0,
    }
    return Completed(**(fields | changes))


def unanswered(**changes: Any) -> Completed:
    return replace(answered(b""), files={}, **changes)


def report(**changes: object) -> dict[str, Any]:
    case: dict[str, object] = {
        "status": "ok",
        "message": "",
        "device": DEVICE,
        "repeats": [{"1": 0}, {"1": 0}],
        "guard_damage": [],
        "inputs_modified": [],
        "events_us": [],
    }
    return {"format": 3, "cases": [case | changes]}


def test_a_good_answer_gives_the_outputs_of_every_repeat_by_name() -> None:
    answer = read_answer(JOB, EMULATOR, answered(report()))
    assert [dict(outputs) for outputs in answer.cases[0].outputs] == [{"y": Y}, {"y": Y}]
    assert answer.device is not None
    assert answer.device.emulated


def test_a_repeat_that_differs_comes_from_its_own_file() -> None:
    completed = answered(report(repeats=[{"1": 0}, {"1": 1}]), {"case-0.repeat-1.buffer-1.bin": b"87654321"})
    assert read_answer(JOB, EMULATOR, completed).cases[0].outputs[1]["y"] == b"87654321"


def test_the_records_of_the_emulator_are_read_and_a_torn_last_line_is_left_out() -> None:
    lines = json.dumps(RECORD).encode() + b'\n{"kernel": "k", "gr'
    case = read_answer(JOB, EMULATOR, answered(report(), {"case-0.dispatches.jsonl": lines})).cases[0]
    assert [record.counters for record in case.dispatches] == [{"SQ_WAVES": 1}]


def without(document: dict[str, Any], key: str) -> dict[str, Any]:
    return {k: v for k, v in document.items() if k != key}


GARBAGE: dict[str, Callable[[], Completed]] = {
    "no JSON": lambda: answered(b"\xff\xfe{"),
    "deep nesting": lambda: answered(b"[" * 100_000),
    "another format": lambda: answered({"format": 2, "cases": []}),
    "a case too few": lambda: answered({"format": 3, "cases": []}),
    "an unknown status": lambda: answered(report(status="correct")),
    "an unknown key": lambda: answered(report(verdict="correct")),
    "a status of the wrong type": lambda: answered(report(status=["ok"])),
    "a message without end": lambda: answered(report(message="x" * 100_000)),
    "a path for a repeat": lambda: answered(report(repeats=[{"1": "../../../etc/passwd"}])),
    "the file of a repeat to come": lambda: answered(report(repeats=[{"1": 1}, {"1": 1}])),
    "an output that is missing": lambda: answered(report(repeats=[{}])),
    "more repeats than were asked for": lambda: answered(report(repeats=[{"1": 0}] * 9)),
    "fewer repeats than were asked for": lambda: answered(report(repeats=[{"1": 0}])),
    "damage in a turn that was not asked for": lambda: answered(
        report(guard_damage=[{"buffer": "y", "side": "after", "offset": 0, "bytes": 1, "repeat": 2}])
    ),
    "an output that is too short": lambda: answered(report(), {"case-0.repeat-0.buffer-1.bin": b"123"}),
    "an output that is too long": lambda: answered(report(), {"case-0.repeat-0.buffer-1.bin": b"x" * 9}),
    "damage of a buffer that is not there": lambda: answered(
        report(guard_damage=[{"buffer": "z", "side": "after", "offset": 0, "bytes": 1, "repeat": 0}])
    ),
    "a third side": lambda: answered(
        report(guard_damage=[{"buffer": "y", "side": "above", "offset": 0, "bytes": 1, "repeat": 0}])
    ),
    "an input that is not there": lambda: answered(report(inputs_modified=[{"buffer": "z", "repeat": 0}])),
    "a time below zero": lambda: answered(report(events_us=[[-1.0]])),
    "a time without end": lambda: answered(json.dumps(report(events_us=[[float("inf")]])).encode()),
    "a time that is text": lambda: answered(report(events_us=[["1.0"]])),
    "a device of the wrong kind": lambda: answered(report(device=DEVICE | {"emulated": False})),
    "a record that is none": lambda: answered(report(), {"case-0.dispatches.jsonl": b"{}\n"}),
    "a count below zero": lambda: answered(
        report(), {"case-0.dispatches.jsonl": json.dumps(RECORD | {"counters": {"SQ_WAVES": -1}}).encode() + b"\n"}
    ),
    "a record without its kernel": lambda: answered(
        report(), {"case-0.dispatches.jsonl": json.dumps(without(RECORD, "kernel")).encode() + b"\n"}
    ),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_is_refused(name: str) -> None:
    with pytest.raises(TargetError):
        read_answer(JOB, EMULATOR, GARBAGE[name]())


def test_files_that_nobody_asked_for_are_never_looked_at() -> None:
    completed = answered(report(), {"../../escape": b"x", "case-0.repeat-7.buffer-9.bin": b"x", "case-0.stderr": b"x"})
    assert read_answer(JOB, EMULATOR, completed).cases[0].status == "ok"


def test_an_emulated_answer_of_a_gpu_target_is_refused() -> None:
    with pytest.raises(TargetError, match="wrong kind of device"):
        read_answer(JOB, GPU, answered(report()))


@pytest.mark.parametrize(
    ("ending", "status", "words"),
    [
        ({"timed_out": True, "exit_code": 124}, "unfinished", "passed its time"),
        ({"out_of_memory": True, "exit_code": 137}, "crashed", "more memory"),
        ({"truncated": True}, "crashed", "wrote more"),
    ],
)
def test_a_run_that_was_ended_from_outside_is_a_value(ending: dict[str, Any], status: str, words: str) -> None:
    answer = read_answer(JOB, EMULATOR, unanswered(**ending))
    assert [(case.status, case.outputs) for case in answer.cases] == [(status, ())]
    assert words in answer.cases[0].message


def test_a_runner_that_cannot_start_is_an_error_with_its_last_words() -> None:
    with pytest.raises(TargetError, match="No module named hip"):
        read_answer(JOB, EMULATOR, unanswered(exit_code=1, stderr="No module named hip"))


def test_input_data_that_cases_share_are_sent_once() -> None:
    files = job_files(RunnerJob("gfx942", b"ELF", (CASE, CASE)))
    assert sorted(name.split("/")[0] for name in files) == ["code_object.co", "data", "job.json"]
    plan = json.loads(files["job.json"])
    assert plan["cases"][0]["launches"][0]["arguments"] == [{"buffer": 0}, {"buffer": 1}, {"scalar": "07000000"}]


def test_only_the_emulator_gets_another_library_path() -> None:
    assert any(word.startswith("LD_LIBRARY_PATH=") for word in runner_command(EMULATOR, JOB))
    assert not any(word.startswith(("LD_LIBRARY_PATH=", "AMDKERNEL_EMULATOR")) for word in runner_command(GPU, JOB))


def test_a_profile_counts_memory_and_instructions_where_a_check_does_not() -> None:
    def options(mode: Any) -> str:
        command = runner_command(EMULATOR, RunnerJob("gfx942", b"", (), mode))
        return next(word for word in command if word.startswith("AMDKERNEL_EMULATOR_OPTIONS="))

    assert "memory=0,pcs=0" in options("check")
    assert "memory=1,pcs=1" in options("profile")
