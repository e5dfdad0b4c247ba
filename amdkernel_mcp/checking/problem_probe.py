"""Looks at a problem once: runs its reference on a few inputs, and on the same inputs moved a little.

What was found is kept by the hash of the problem, so that a second check costs nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import asdict
from math import prod
from pathlib import Path

from amdkernel_mcp.cache_folder import CacheFolder
from amdkernel_mcp.checking.cases.call import Call
from amdkernel_mcp.checking.moved_inputs import moved
from amdkernel_mcp.checking.problem_checks import Probe, ProblemFinding, contradictions, unshown, weak_points
from amdkernel_mcp.errors import ProblemFileError
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.problems.problem import Case, Problem

_FORMAT = 3  # raise it when the same problem would give other findings
_TURNS = ((101, 0), (102, 2), (103, 3))  # seed and turn: a plain one, a shifted one, one with spikes
_MOST_CASES = 8
_MOST_ELEMENTS = 1 << 19  # of the arrays of all cases that are looked at
_TOO_LARGE = 1 << 24  # of a single case
_PROBED = 2  # cases whose reference is run again
_CACHE_BYTES = 16 << 20


def examine_problem(sandbox: Sandbox, problem: Problem, *, cache_dir: Path | None = None) -> tuple[str, ...]:
    """The warnings about a problem, a sentence each. Raises ProblemFileError for one that proves nothing."""
    findings = known_findings(problem, cache_dir)
    if findings is None:
        findings = _examine(sandbox, problem)
        if cache_dir:
            content = json.dumps([asdict(finding) for finding in findings]).encode()
            _cache(cache_dir).write(_name(problem), content)
    error = next((finding for finding in findings if finding.severity == "error"), None)
    if error:
        raise ProblemFileError(
            error.message,
            file=problem.reference_file,
            line=problem.reference_line,
            hint='a problem must tell right kernels from wrong ones; docs/problems.md, "Checks of a problem"',
        )
    return tuple(dict.fromkeys(finding.message for finding in findings))


@contextmanager
def examined(
    sandbox: Sandbox, problem: Problem, *, cache_dir: Path | None = None
) -> Iterator[Callable[[], tuple[str, ...]]]:
    """Examine the problem while the block runs; the function that it gets waits and returns the warnings, as notes.

    The function raises what examine_problem raises: a problem that proves nothing has no verdict.
    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="problem") as pool:
        found = pool.submit(copy_context().run, examine_problem, sandbox, problem, cache_dir=cache_dir)
        yield lambda: tuple(f"about the problem: {warning}" for warning in found.result())


def known_findings(problem: Problem, cache_dir: Path | None) -> list[ProblemFinding] | None:
    """What an earlier look found; None where there was none."""
    content = _cache(cache_dir).read(_name(problem)) if cache_dir else None
    try:
        return None if content is None else [ProblemFinding(**entry) for entry in json.loads(content)]
    except (ValueError, TypeError):
        return None


def _cache(cache_dir: Path) -> CacheFolder:
    return CacheFolder(cache_dir / "problems", max_total_bytes=_CACHE_BYTES)


def _name(problem: Problem) -> str:
    return hashlib.sha256(f"{_FORMAT} {problem.hash}".encode()).hexdigest() + ".json"


def _examine(sandbox: Sandbox, problem: Problem) -> list[ProblemFinding]:
    from amdkernel_mcp.checking.expected.generate import make_calls
    from amdkernel_mcp.checking.expected.reference import expected_outputs
    from amdkernel_mcp.checking.expected.reference_run import ReferenceTimeoutError

    cases = _smallest(problem)
    if not cases:
        return [ProblemFinding("warning", "the problem itself was not checked: its smallest case is too large")]
    probed = cases[-_PROBED:]
    seed, turn = _TURNS[0]
    wanted = [(case, *each) for case in cases for each in _TURNS]
    made = make_calls(sandbox, problem, [*wanted, *((case, seed, turn) for case in probed)])
    calls, again = made[: len(wanted)], made[len(wanted) :]
    first = {id(call.case): number for number, call in enumerate(calls) if call.turn == turn}
    twice = [calls[first[id(call.case)]] for call in again]
    if not all(_equal(one, other) for one, other in zip(twice, again, strict=True)):
        return [ProblemFinding("error", "generate gives other arrays for the same seed: use only the `rng` it gets")]
    variants = [moved(problem, call, by_a_step=step) for call in twice for step in (False, True)]
    try:
        outputs = expected_outputs(sandbox, problem, [*calls, *again, *variants]).outputs
        variations = outputs[len(calls) + len(again) :]
    except ReferenceTimeoutError:
        raise
    except ProblemFileError:  # moved inputs may leave the domain of a function
        outputs, variations = expected_outputs(sandbox, problem, [*calls, *again]).outputs, []
    findings = []
    for number, call in enumerate(again):
        nudged, stepped = variations[2 * number : 2 * number + 2] if variations else (None, None)
        probe = Probe(outputs[first[id(call.case)]], outputs[len(calls) + number], nudged, stepped)
        findings += contradictions(problem, probe)
    complete = len(cases) == len(problem.cases)
    findings += unshown(problem, calls)
    return findings + weak_points(problem, calls, outputs[: len(calls)], all_cases=complete)


def _smallest(problem: Problem) -> list[Case]:
    """The smallest cases, together within the limit; the smallest alone may be larger."""

    def elements(case: Case) -> int:
        return sum(prod(case.shape_of(argument)) for argument in problem.arrays)

    chosen: list[Case] = []
    total = 0
    for case in sorted(problem.cases, key=elements):
        total += elements(case)
        if total > (_MOST_ELEMENTS if chosen else _TOO_LARGE) or len(chosen) == _MOST_CASES:
            break
        chosen.append(case)
    return chosen


def _equal(one: Call, other: Call) -> bool:
    return all(one.inputs[name].tobytes() == other.inputs[name].tobytes() for name in one.inputs)
