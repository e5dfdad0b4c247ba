"""An environment for reinforcement learning and search: reset to a problem, step with a kernel, get a reward.

    with KernelEnvironment(modelled=True) as environment:
        observation = environment.reset("row_softmax")
        observation, reward, done, info = environment.step(source)

It has the form of Gymnasium's and needs nothing of it. A bad kernel is an observation with reward 0 and never an
exception; what raises is a wrong use, a problem that cannot be used, and a sandbox that fails.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from amdkernel_mcp.engine.verbs.benchmark import Benchmark
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.engine.verbs.profile import Profile
from amdkernel_mcp.errors import InputError, ProblemFileError, UnknownTargetError
from amdkernel_mcp.history.attempt import sha256
from amdkernel_mcp.kernel_source import MAX_BYTES
from amdkernel_mcp.results.environment import Observation
from amdkernel_mcp.results.kernels import BenchmarkResult, Diagnostic, Finding, ProfileResult
from amdkernel_mcp.reward import Reward, RewardOptions, reward

if TYPE_CHECKING:
    from amdkernel_mcp.config import Settings

MOST_STEPS = 10_000
_MOST_ITEMS = 8
_MOST_CHARS = 500
_TIMED = frozenset({"faster", "slower", "inconclusive"})


Step = tuple[Observation, float, bool, dict[str, Any]]


class KernelEnvironment:
    """Problems as episodes. Not thread-safe: one for each thread, which may share a cache folder.

    seed: fixes all inputs, in a data folder of its own; None: those of this machine's server. max_steps: of an
    episode. modelled: modelled times bring a reward too. profile: correct kernels are profiled. shaping: the share of
    a correct kernel's reward that its profile must earn.
    """

    def __init__(
        self,
        *,
        target: str | None = None,
        seed: int | None = 0,
        max_steps: int = 32,
        modelled: bool = False,
        profile: bool = True,
        shaping: float = 0.0,
        settings: Settings | None = None,
    ) -> None:
        from amdkernel_mcp.config import load_settings
        from amdkernel_mcp.engine.engine import Engine

        if not 1 <= max_steps <= MOST_STEPS:
            raise InputError(f"an episode has 1 to {MOST_STEPS} steps")
        if shaping and not profile:
            raise InputError("shaping needs profiles")
        self._options = RewardOptions(modelled=modelled, shaping=shaping)
        settings = settings or load_settings()
        self._engine = Engine(settings if seed is None else _seeded(settings, seed))
        self._target, self._max_steps, self._profiles = target, max_steps, profile
        self._start: Observation | None = None
        self._problem = ""
        self._baseline: str | None = None
        self._steps = 0
        self._best = 0.0
        self._done = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove all containers."""
        self._engine.close()

    def reset(self, problem: str, *, baseline: str | None = None) -> Observation:
        """A new episode on a bundled problem or a folder.

        baseline: the text of the kernel that speed-ups are over; None: kernels/naive.hip of the problem's folder,
        where there is one. Raises ProblemFileError, and InputError for a baseline that is not correct.
        """
        from amdkernel_mcp.problems.problem_file import load_problem
        from amdkernel_mcp.problems.signature import signature

        loaded = load_problem(problem)
        naive = Path(loaded.folder) / "kernels" / "naive.hip"
        if baseline is None and naive.is_file():
            baseline = naive.read_text(encoding="utf-8")
        if baseline is not None:
            checked = self._engine.do(
                Check(problem=problem, source=baseline, file_name="baseline.hip", target=self._target)
            )
            if checked.verdict != "correct":
                raise InputError(f"the baseline is {checked.verdict}: {checked.reason}")
        self._problem, self._baseline = problem, baseline
        self._steps, self._best, self._done = 0, 0.0, False
        self._options = replace(self._options, baseline=baseline and sha256(baseline.encode()), problem=loaded.hash)
        self._start = Observation(
            problem=loaded.name,
            signature=signature(loaded),
            description=f"{loaded.title}. {loaded.description}"[:_MOST_CHARS],
            step=0,
        )
        return self._start

    def step(self, source: str) -> Step:
        """Judge a kernel: (observation, reward of 0 to 1, whether the episode ended, info).

        info: `attempt` (the record), `because` (of the reward), `best` (the largest reward of the episode). Raises
        InputError before `reset` and after the end.
        """
        if self._start is None or self._done:
            raise InputError("the episode has ended or has not begun: call reset")
        self._steps += 1
        refused = _unfit(source)
        answer = refused or self._benchmark(source)
        profiled = None
        if self._profiles and answer.verdict in _TIMED:
            profiled = self._engine.do(Profile(problem=self._problem, source=source, target=self._target))
        found = self._reward(source, answer, profiled)
        self._best = max(self._best, found.value)
        self._done = self._steps >= self._max_steps
        info = {"attempt": answer.attempt, "because": found.because, "best": self._best}
        return self._observation(self._start, answer, profiled), found.value, self._done, info

    def _benchmark(self, source: str) -> BenchmarkResult:
        try:
            return self._engine.do(
                Benchmark(problem=self._problem, source=source, baseline=self._baseline, target=self._target)
            )
        except (ProblemFileError, UnknownTargetError):
            raise
        except InputError as error:  # the kernel's text is all that was not looked at before
            return BenchmarkResult(verdict="invalid", reason=error.message)

    def _reward(self, source: str, answer: BenchmarkResult, profiled: ProfileResult | None) -> Reward:
        shared = {"source": sha256(source.encode(errors="replace")) if isinstance(source, str) else None}
        record = shared | {
            "verb": "benchmark",
            "verdict": answer.verdict,
            "baseline": self._options.baseline,
            "answer": answer.model_dump(mode="json", by_alias=True),
        }
        shape = None
        if profiled is not None:
            shape = shared | {"verb": "profile", "answer": profiled.model_dump(mode="json", by_alias=True)}
        return reward(record, self._options, profile=shape)

    def _observation(self, start: Observation, answer: BenchmarkResult, profiled: ProfileResult | None) -> Observation:
        update: dict[str, object] = {
            "step": self._steps,
            "verdict": answer.verdict,
            "reason": answer.reason[:_MOST_CHARS],
            "findings": [_short(each) for each in answer.findings[:_MOST_ITEMS]],
            "diagnostics": [_short(each) for each in answer.diagnostics[:_MOST_ITEMS]],
            "time_us": answer.time_us,
            "speedup": answer.speedup,
        }
        if profiled is not None:
            update["bounds"] = {each.name[:_MOST_CHARS]: each.bound for each in profiled.kernels[:_MOST_ITEMS]}
            update["diagnosis"] = list(profiled.diagnosis[:_MOST_ITEMS])
        return start.model_copy(update=update)


def _short(item: Finding | Diagnostic) -> Finding | Diagnostic:
    return item.model_copy(update={"message": item.message[:_MOST_CHARS]})


def _unfit(source: object) -> BenchmarkResult | None:
    """The answer to what cannot be the text of a kernel."""
    if not isinstance(source, str):
        return BenchmarkResult(verdict="invalid", reason=f"a kernel is text, not {type(source).__name__}")
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        return BenchmarkResult(verdict="invalid", reason="the kernel is not UTF-8 text")
    if size > MAX_BYTES:
        return BenchmarkResult(verdict="invalid", reason=f"a kernel may have {MAX_BYTES >> 20} MiB at most")
    return None


def _seeded(settings: Settings, seed: int) -> Settings:
    """The settings with a data folder whose secret is drawn from the seed.

    The inputs still depend on the text of each kernel, so that no kernel can hold a table of its answers.
    """
    folder = settings.data_dir / "environments" / f"seed-{seed}"
    secret = folder / "secret"
    folder.mkdir(parents=True, exist_ok=True)
    if not secret.exists():
        handle = os.open(secret, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(hashlib.sha256(f"amdkernel environment {seed}".encode()).digest())
    return settings.model_copy(update={"data_dir": folder})
