"""The trusted host program: reads `job.json` in the working folder, runs its cases, leaves results in $OUT.

    python3 run_job.py
    python3 run_job.py CASE DESCRIPTOR      one case, which the former starts on a GPU

Each case runs in a child process: a fault, a hang or a crash in one leaves the others alone. On the emulator it is
forked. On a GPU it is a new process that returns from main: rocprofv3 writes what it recorded when a process ends
through exit, and nothing of a forked one (ROCm/rocm-systems, rocprofiler-sdk-tool/tool.cpp; pull request 5744).

stderr gets one JSON object a line for progress. $OUT gets `report.json`, `case-C.repeat-R.buffer-B.bin` for each output
of each turn, and on the emulator `case-C.dispatches.jsonl`. The job's format is in job_plan.py.
"""

import json
import os
import select
import signal
import sys
from dataclasses import asdict, replace
from pathlib import Path

from case_run import CaseReport, run_case
from job_plan import FORMAT, Job, read_job

_UNFINISHED = (
    "the emulator did not end the case within {:g} s, which says nothing about the kernel: is the machine too busy?"
)
_FAULT_WORDS = "Memory access fault"  # of AMD's runtime, before it aborts the process


def main() -> None:
    out = Path(os.environ["OUT"])
    job = read_job(Path.cwd())
    if len(sys.argv) > 1:
        _run_here(job, int(sys.argv[1]), out, more_time=int(sys.argv[2]))
        return
    cases = []
    hung = False
    for index in range(len(job.cases)):
        report = _after_a_hang() if hung else _run_in_child(job, index, out)
        hung = hung or report.status in ("timeout", "unfinished")
        cases.append(asdict(report))
        _progress(event="case", index=index, of=len(job.cases), status=report.status)
    (out / "report.json").write_text(json.dumps({"format": FORMAT, "cases": cases}))


def _progress(**fields: object) -> None:
    print(json.dumps(fields), file=sys.stderr, flush=True)


def _run_in_child(job: Job, index: int, out: Path) -> CaseReport:
    result, messages = _result_of(index), _messages_of(index)
    reading, writing = os.pipe()
    child = _fork(job, index, out, writing) if job.emulated else _start(index, out, writing)
    os.close(writing)
    ended = _wait(child, reading, job.case_timeout_s)
    os.close(reading)
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    said = messages.read_text(errors="replace")[-4000:].strip() if messages.exists() else ""
    report = CaseReport(**json.loads(result.read_text())) if result.exists() else CaseReport()
    if not ended and job.emulated:
        return replace(report, status="unfinished", message=_UNFINISHED.format(job.case_timeout_s))
    if not ended and _finished(index).exists():
        return report  # the kernel ended; a profiler hangs at the end of the process
    if not ended:
        return replace(report, status="timeout", message=f"the case did not end within {job.case_timeout_s:g} s")
    if os.waitstatus_to_exitcode(status) != 0 or not result.exists():
        kind = "fault" if _FAULT_WORDS in said else "crashed"
        return replace(report, status=kind, message=f"{_ending(status)}: {said}")
    return report


def _after_a_hang() -> CaseReport:
    """A kernel that hangs once would most likely hang again, and each time for the whole of its case's time."""
    return CaseReport("not_run", "an earlier case did not end in time")


def _wait(child: int, more_time: int, timeout_s: float) -> bool:
    """Whether the child ended in time, which begins again with each byte that it writes to the pipe."""
    descriptor = os.pidfd_open(child)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.register(more_time, select.POLLIN)
        while ready := dict(poll.poll(timeout_s * 1000)):
            if descriptor in ready:
                return True
            if not os.read(more_time, 1):  # closed: no more time
                poll.unregister(more_time)
        return False
    finally:
        os.close(descriptor)


def _fork(job: Job, index: int, out: Path, more_time: int) -> int:
    child = os.fork()
    if child:
        return child
    os.environ |= _report_to(index, out)
    descriptor = os.open(_messages_of(index), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    code = 1
    try:
        _run_here(job, index, out, more_time=more_time)
        code = 0
    finally:  # the child never returns into the parent's loop
        if code:
            sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(code)


def _start(index: int, out: Path, more_time: int) -> int:
    os.set_inheritable(more_time, True)
    writes = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-s", __file__, str(index), str(more_time)],
        os.environ | _report_to(index, out),
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, str(_messages_of(index)), writes, 0o600), (os.POSIX_SPAWN_DUP2, 1, 2)],
    )


def _run_here(job: Job, index: int, out: Path, *, more_time: int) -> None:
    """Run the case in this process. `more_time`: the pipe for `_wait`."""
    result = _result_of(index)

    def save(report: CaseReport) -> None:
        result.with_suffix(".new").write_text(json.dumps(asdict(report)))
        result.with_suffix(".new").replace(result)

    def grant() -> None:
        os.write(more_time, b".")

    save(run_case(job, index, out, save=save, more_time=grant))
    _finished(index).touch()


def _report_to(index: int, out: Path) -> dict[str, str]:
    """For the emulator; AMD's library knows no such variable."""
    return {"AMDKERNEL_EMULATOR_REPORT": str(out / f"case-{index}.dispatches.jsonl")}


def _result_of(index: int) -> Path:
    return Path(f"case-{index}.json")


def _messages_of(index: int) -> Path:
    return Path(f"case-{index}.stderr")


def _finished(index: int) -> Path:
    return Path(f"case-{index}.finished")


def _ending(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"the host program was ended by {signal.Signals(-code).name}" if code < 0 else f"it exited with {code}"


if __name__ == "__main__":
    main()
