"""Checks and times each candidate of a suite, several at a time, and keeps each row as soon as it is known."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from amdkernel_mcp import __version__
from amdkernel_mcp.bundled import folder as bundled_folder
from amdkernel_mcp.engine.verbs.benchmark import Benchmark
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.engine.verbs.check_program import CheckProgram
from amdkernel_mcp.errors import AmdkernelError, InputError
from amdkernel_mcp.evaluation.row_log import RowLog
from amdkernel_mcp.evaluation.scores import scores
from amdkernel_mcp.evaluation.suite import Suite, Task, read_suite
from amdkernel_mcp.kernel_source import KernelSource, read_kernel
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.progress import silent
from amdkernel_mcp.results.evaluation import EvaluatedKernel, Evaluation
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from amdkernel_mcp.engine.engine import Engine

MOST_AT_A_TIME = 64


@dataclass(frozen=True)
class _Candidate:
    """A kernel of the suite with all that decides its row."""

    task: Task
    name: str
    key: str
    kernel: KernelSource
    baseline: str
    is_program: bool = False


def evaluate(
    engine: Engine,
    folder: Path,
    *,
    target: str | None,
    out: Path,
    at_a_time: int,
    timed: bool = True,
    work: Work,
) -> Evaluation:
    """Judge each candidate of the suite in `folder` against its problem's baseline; rows already in `out` stand.

    `timed`: False checks only, so no speed-up is known. A kernel that cannot be judged is a row that says why; a
    problem that cannot be used is in `not_judged`. Raises InputError: no suite, or `out` cannot be written;
    UnknownTargetError.
    """
    suite = read_suite(folder, bundled_folder("examples"))
    log = RowLog(out)
    known = log.rows()
    where, image = engine.identity(target)
    candidates, refused = [], dict[str, str]()
    for task in suite.tasks:
        try:
            found = _candidates(suite, task, [where, image, timed])
            if timed and any(each.key not in known and not each.is_program for each in found):
                _require_correct_baseline(engine, task, where, work)
            candidates += found
        except InputError as error:
            refused[task.name] = error.message
    pending = [each for each in candidates if each.key not in known]
    run = _Run(engine, log, where, timed, work, done=len(candidates) - len(pending), of=len(candidates))
    rows = known | run.judge_all(pending, at_a_time)
    ordered = [rows[each.key].model_copy(update=_place(each)) for each in candidates]
    kernels = [row for row in ordered if row.trust is None]
    total = scores([task.name for task in suite.tasks if task.name not in refused], kernels)
    log.write_summary(ordered, total)
    return Evaluation(
        suite=str(folder),
        target=where,
        results=str(out),
        resumed=len(candidates) - len(pending),
        rows=kernels,
        programs=[row for row in ordered if row.trust],
        scores=total,
        not_judged=[*suite.not_judged, *(f"{name}: {reason}" for name, reason in refused.items())],
    )


def _require_correct_baseline(engine: Engine, task: Task, target: str, work: Work) -> None:
    work.say(f"{task.name}: checking the baseline")
    kernel = read_kernel(task.baseline)
    asked = Check(problem=task.problem, source=kernel.source, file_name=kernel.file_name, target=target)
    checked = engine.do(asked, work.saying(silent))
    if checked.verdict != "correct":
        raise InputError(f"its baseline {task.baseline.name} is {checked.verdict}: {checked.reason}")


def _candidates(suite: Suite, task: Task, decided_by: list[object]) -> list[_Candidate]:
    problem = load_problem(task.problem).hash
    baseline = read_kernel(task.baseline).source
    made = []
    for file in (*task.candidates, *task.programs):
        kernel, is_program = read_kernel(file), file in task.programs
        parts = [*decided_by, __version__, problem, _sha256(baseline), _sha256(kernel.source), is_program]
        key = _sha256(json.dumps(parts))
        made.append(_Candidate(task, str(file.relative_to(suite.folder)), key, kernel, baseline, is_program))
    return made


def _place(candidate: _Candidate) -> dict[str, str]:
    """Two equal files share a row, each under its own name."""
    return {"problem": candidate.task.name, "candidate": candidate.name}


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class _Run:
    """The candidates of one run that are still to be judged."""

    def __init__(
        self,
        engine: Engine,
        log: RowLog,
        target: str,
        timed: bool,
        work: Work,
        *,
        done: int,
        of: int,
    ) -> None:
        self._engine, self._log, self._target, self._timed, self._work = engine, log, target, timed, work
        self._done, self._of = done, of
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def judge_all(self, pending: list[_Candidate], at_a_time: int) -> dict[str, EvaluatedKernel]:
        """Their rows by key. When one cannot be written, or the user interrupts, no other is begun."""
        once = {each.key: each for each in pending}
        with ThreadPoolExecutor(min(max(at_a_time, 1), MOST_AT_A_TIME)) as pool:
            futures = [pool.submit(self._judge, each) for each in once.values()]
            try:
                found = [future.result() for future in futures]
            except BaseException:
                self._stopped.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        return {row.key: row for row in found if row is not None}

    def _judge(self, candidate: _Candidate) -> EvaluatedKernel | None:
        if self._stopped.is_set():
            return None
        began = time.monotonic()
        row = self._row(candidate)
        row = row.model_copy(update={"seconds": round(time.monotonic() - began, 3)})
        self._log.add(row)
        with self._lock:
            self._done += 1
            said = row.failed or (row.check if row.check != "correct" else row.benchmark or "correct")
            self._work.say(f"{self._done} of {self._of}: {row.candidate} {said}")
        return row

    def _row(self, candidate: _Candidate) -> EvaluatedKernel:
        task, kernel = candidate.task, candidate.kernel
        row = EvaluatedKernel(
            problem=task.name,
            candidate=candidate.name,
            key=candidate.key,
            trust="unverified: host code" if candidate.is_program else None,
        )
        check = CheckProgram if candidate.is_program else Check
        asked = check(problem=task.problem, source=kernel.source, file_name=kernel.file_name, target=self._target)
        try:
            checked = self._engine.do(asked, self._work.saying(silent))
            row = row.model_copy(
                update={
                    "check": checked.verdict,
                    "reason": checked.reason,
                    "coverage": checked.coverage,
                    "attempts": _ids(checked.attempt),
                }
            )
            if checked.verdict != "correct" or candidate.is_program or not self._timed:
                return row
            timed = self._engine.do(
                Benchmark(
                    problem=task.problem,
                    source=kernel.source,
                    file_name=kernel.file_name,
                    baseline=candidate.baseline,
                    target=self._target,
                ),
                self._work.saying(silent),
            )
        except InputError as error:
            return row.model_copy(update={"check": "invalid", "reason": error.message})
        except AmdkernelError as error:
            return row.model_copy(update={"failed": error.message})
        return row.model_copy(
            update={
                "benchmark": timed.verdict,
                "reason": timed.reason,
                "speedup": timed.speedup,
                "evidence": timed.time_us.evidence,
                "flags": timed.flags,
                "attempts": [*row.attempts, *_ids(timed.attempt)],
            }
        )


def _ids(attempt: str | None) -> list[str]:
    return [attempt] if attempt else []
