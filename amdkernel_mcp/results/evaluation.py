"""What `amdkernel eval` returns."""

from typing import Literal

from pydantic import Field

from amdkernel_mcp.results.kernels import BenchmarkVerdict, CheckScope, CheckVerdict
from amdkernel_mcp.results.quantity import Evidence, Interval, Result


class EvaluatedKernel(Result):
    """One candidate: whether it is correct and how fast it is against its problem's baseline."""

    problem: str
    candidate: str = Field(description="Path of the kernel file within the suite")
    key: str = Field(description="SHA-256 of all that decides this row; an equal key is not judged again")
    check: CheckVerdict | None = Field(default=None, description="Null where the check could not run")
    benchmark: BenchmarkVerdict | None = Field(default=None, description="Null where the kernel was not timed")
    reason: str = ""
    coverage: CheckScope | None = Field(default=None, description="Of the check; null on a GPU, and of a program")
    speedup: Interval = Interval()
    evidence: Evidence = Field(default="not_measured", description="Of the speed-up")
    flags: list[str] = []
    seconds: float = 0.0
    trust: Literal["unverified: host code"] | None = Field(
        default=None, description="Of a program with its own `main`; it is in no score"
    )
    attempts: list[str] = Field(default=[], description="The records of the check and the benchmark")
    failed: str | None = Field(default=None, description="Why there is no verdict; the next run tries again")


class FastP(Result):
    """The shares of problems that are correct and more than `p` times as fast as their baseline, 0 to 1."""

    p: float
    share: float = Field(description="fast_p of KernelBench: the estimate of the speed-up is above p")
    proven: float = Field(description="As `share`, and the verdict holds and the whole interval is above p")


class Scores(Result):
    """Scores over problems; a problem without a candidate counts as not correct."""

    problems: int
    candidates: int
    failed: int = Field(description="Candidates without a verdict, because the machine failed; not in the scores")
    correct: float = Field(description="Mean over problems of the share of candidates that are correct, 0 to 1")
    fast_p: list[FastP] = Field(description="Means over problems, of one candidate drawn at random")
    best_correct: float = Field(description="Share of problems with a correct candidate, 0 to 1")
    best_fast_p: list[FastP] = Field(description="The same of the best candidate of each problem")
    speedup_evidence: list[Evidence] = Field(description="Where the speed-ups come from")


class Evaluation(Result):
    """All rows of a suite and their scores."""

    suite: str
    target: str
    results: str = Field(description="Folder with rows.jsonl, rows.csv and scores.json")
    resumed: int = Field(description="Rows of an earlier run that still hold")
    rows: list[EvaluatedKernel]
    programs: list[EvaluatedKernel] = Field(
        default=[], description="Programs with their own `main`: unverified, not timed, and in no score"
    )
    scores: Scores
    not_judged: list[str] = Field(default=[], description="Parts of the folder that are not judged, and why")
