"""With which problem a kernel was first judged: a problem can be edited between a baseline and a candidate.

A file for each kernel text and problem name in the data folder; the first one stays. It holds the hash of each part of
the problem, so that an answer can say what has changed.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from amdkernel_mcp.cache_folder import CacheFolder
from amdkernel_mcp.problems.problem import Problem
from amdkernel_mcp.results.kernels import BenchmarkResult, CheckResult, Hashes, ProfileResult
from amdkernel_mcp.results.tuning import TuneResult

_MAX_BYTES = 64 << 20


def source_hash(source: str) -> str:
    """The name of a kernel's text in answers: `sha256:…`."""
    return "sha256:" + hashlib.sha256(source.encode()).hexdigest()


class JudgedProblems:
    """What was remembered in a data folder. A folder that cannot be written costs the memory, never an answer."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = CacheFolder(data_dir / "judged", max_total_bytes=_MAX_BYTES)

    def remember(self, source: str, problem: Problem) -> None:
        """This kernel was judged correct with this problem, unless it was judged before."""
        if self._first(source, problem) is None:
            self._folder.write(_name(source, problem), json.dumps(dict(problem.parts)).encode())

    def changed_parts(self, source: str, problem: Problem) -> list[str]:
        """Which parts of the problem have changed since this kernel was first judged."""
        first = self._first(source, problem)
        return [] if first is None else [name for name, digest in problem.parts.items() if first.get(name) != digest]

    def stamp(self, answer: CheckResult, source: str, problem: Problem) -> CheckResult:
        """The answer with its hashes; a correct kernel is remembered."""
        if answer.verdict == "correct":
            self.remember(source, problem)
        return answer.model_copy(update={"hashes": Hashes(problem=problem.hash, candidate=source_hash(source))})

    def stamp_comparison(
        self, answer: BenchmarkResult, source: str, baseline: str | None, problem: Problem
    ) -> BenchmarkResult:
        """The answer with its hashes; it names what has changed since the baseline was first judged."""
        other = None if baseline is None else source_hash(baseline)
        hashes = Hashes(problem=problem.hash, candidate=source_hash(source), baseline=other)
        changed = [] if baseline is None else self.changed_parts(baseline, problem)
        reason = answer.reason
        if changed:
            reason += f"; the problem has changed since the baseline was first judged: {', '.join(changed)}"
        return answer.model_copy(update={"hashes": hashes, "reason": reason})

    def stamp_sweep(self, answer: TuneResult, source: str, problem: Problem) -> TuneResult:
        """The answer with its hashes."""
        return answer.model_copy(update={"hashes": Hashes(problem=problem.hash, candidate=source_hash(source))})

    def stamp_profile(self, answer: ProfileResult, source: str, problem: Problem) -> ProfileResult:
        """The answer with its hashes."""
        return answer.model_copy(update={"hashes": Hashes(problem=problem.hash, candidate=source_hash(source))})

    def _first(self, source: str, problem: Problem) -> dict[str, object] | None:
        content = self._folder.read(_name(source, problem))
        try:
            parts = json.loads(content) if content is not None else None
        except ValueError:
            return None
        return parts if isinstance(parts, dict) else None


def _name(source: str, problem: Problem) -> str:
    """By the name of the problem, so that an edited copy in another folder is noticed as well."""
    return hashlib.sha256(json.dumps([source_hash(source), problem.name]).encode()).hexdigest() + ".json"
