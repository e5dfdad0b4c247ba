"""What a language is: it knows its texts, reads their launch plan, and has a toolchain."""

from collections.abc import Collection, Mapping
from typing import Protocol, runtime_checkable

from amdkernel_mcp.compiler.toolchain import Toolchain
from amdkernel_mcp.launch.plan import LaunchPlan
from amdkernel_mcp.problems.problem import Problem
from amdkernel_mcp.results.kernels import CheckResult


@runtime_checkable
class Language(Protocol):
    """One language in which a candidate may be written: listed in `table.py`, or added by another package."""

    name: str
    """As answers and documents have it."""
    options: Collection[str]
    """Constants that its compiler takes, though the text may not mention them."""
    words: Mapping[str, str]
    """What a finding says in place of a word of HIP."""

    def speaks(self, source: str, file_name: str) -> bool:
        """Whether a candidate is of this language: by its text first, as a text that was sent has no file name."""
        ...

    def read_plan(self, source: str, problem: Problem | None = None) -> LaunchPlan:
        """The launch plan and the mistakes in it. Without a problem (to compile only) no launch is needed."""
        ...

    def fixed(self, values: Mapping[str, str]) -> str:
        """The plan line that fixes these values in place of the `tune` lines."""
        ...

    def toolchain(self, plan: LaunchPlan, problem: Problem | None) -> Toolchain:
        """What compiles a candidate with this plan. It is given the flags of the plan and those of the caller."""
        ...


def in_words_of(language: Language, result: CheckResult) -> CheckResult:
    """The verdict with the advice of its findings in the words of the language."""

    def said(text: str) -> str:
        for word, other in language.words.items():
            text = text.replace(word, other)
        return text

    findings = [each.model_copy(update={"message": said(each.message)}) for each in result.findings]
    return result.model_copy(update={"reason": said(result.reason), "findings": findings}) if language.words else result
