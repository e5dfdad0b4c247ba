"""What `port_cuda` returns."""

from typing import Literal

from pydantic import Field

from amdkernel_mcp.results.job_answer import JobAnswer
from amdkernel_mcp.results.kernels import CheckVerdict, Diagnostic, Finding
from amdkernel_mcp.results.quantity import Result

PortVerdict = Literal[
    "compiles", "does_not_compile", "same", "wave64_mistake", "wrong_on_both", "wave32_mistake", "not_finished"
]


class PortHit(Result):
    """A place that a translator of names cannot see."""

    line: int
    file: str | None = Field(default=None, description="Null: the file itself")
    kind: str
    level: Literal["sure", "look"]
    function: str = ""
    sentence: str
    instead: str = Field(description="The way on AMD GPUs")
    docs: str = Field(description="For read_doc")


class PortChange(Result):
    """What was changed beyond names."""

    what: str
    times: int
    line: int


class PortRun(Result):
    """One run of the program."""

    target: str
    wave: int
    ended: str = Field(description="`exit code N`, or why it did not end by itself")
    seconds: float = Field(description="Wall time with its sandbox; not a time of a kernel")


class PortResult(JobAnswer):
    """A CUDA source on an AMD GPU: whether it compiles, what is left by hand, whether both waves agree."""

    verdict: PortVerdict | CheckVerdict | None = None
    reason: str = ""
    mode: Literal["readable", "keep_warps"] = Field(
        default="readable", description="`keep_warps`: the source as it is, with our headers and warps of 32"
    )
    archs: list[str] = Field(default=[], description="Compiled and linked for these")
    difference: str | None = Field(default=None, description="The first output that differs")
    runs: list[PortRun] = []
    suspects: list[PortHit] = Field(default=[], description="Of a `wave64_mistake`: the likely lines, best first")
    lint: list[PortHit] = []
    lint_by: Literal["syntax_tree", "tokens"] = Field(
        default="tokens", description="`tokens`: clang did not read it, or it is a kernel alone"
    )
    by_hand: list[str] = Field(default=[], description="What is left to do")
    changes: list[PortChange] = []
    diagnostics: list[Diagnostic] = []
    diff: str | None = None
    findings: list[Finding] = Field(default=[], description="Of a candidate that was checked")
    launch: str | None = Field(default=None, description="Of a candidate: its launch line")
    sources: dict[str, str] = Field(default={}, description="The HIP sources, or our headers; the command writes them")
