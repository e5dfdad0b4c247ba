"""profile: why a kernel is slow, and what to try."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from amdkernel_mcp.engine.verbs.shorten import LAST, STRINGS, Keep
from amdkernel_mcp.engine.verbs.verb import Means, ProblemVerb, Repeated
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.profiling.options import NO_OPTIONS, ProfileOptions
from amdkernel_mcp.results.kernels import ProfileResult

if TYPE_CHECKING:
    from amdkernel_mcp.history.attempt import Attempt


@dataclass(frozen=True, kw_only=True)
class Profile(ProblemVerb[ProfileResult]):
    """Counters, metrics and a diagnosis of a kernel on the problem's announced cases.

    `on_detail` of the means is given what a page shows besides: traffic by level and every line. Not on a GPU, where
    neither is known.
    """

    name: ClassVar = "profile"
    tool: ClassVar = "profile_kernel"
    key: ClassVar = "profile"
    answer: ClassVar = ProfileResult
    scope: ClassVar = "check"
    timed: ClassVar = True
    shortened: ClassVar = (
        Keep("diagnostics", 8),
        Keep("findings", 8),
        Keep("warnings", 8),
        *STRINGS,
        Keep("diagnostics", 4),
        Keep("findings", 4),
        Keep("warnings", 4),
        LAST,
    )

    options: ProfileOptions = NO_OPTIONS

    def do(self, means: Means) -> ProfileResult:
        """The profile, compared where the options say so."""
        from amdkernel_mcp.engine.profile_steps import ProfileSteps, no_detail

        means.recorder.warm_up()
        by = means.work.owner
        problem = means.steps.problem(self.problem, by)
        on_detail = means.on_detail or no_detail
        other, name = means.attempts.named_source(self.options.compare_to, self.options.compare_file, by=by)
        options = replace(self.options, compare_to=other, compare_file=name)
        steps = ProfileSteps(means.steps, problem, self.target, options, means.work, on_detail)
        answer = means.judged.stamp_profile(steps.profile(self.source, self.file_name), self.source, problem)
        tried = self.tried(
            means,
            problem,
            baseline=other,
            options=options.recorded(),
            ran=lambda: [means.steps.what_ran(each, ("timing",)) for each in steps.seen],
        )
        return steps.recorded(means.recorder.record(tried, answer))

    @classmethod
    def again(cls, attempt: Attempt, given: Repeated) -> Self:
        """With the recorded focus, compared with the recorded kernel."""
        from amdkernel_mcp.history.attempts import read_options

        asked = read_options(ProfileOptions, attempt.options)
        return cls(
            problem=given.problem,
            source=given.source,
            file_name=attempt.file_name,
            target=given.target,
            options=ProfileOptions(focus=asked.focus, compare_to=given.baseline, case=asked.case, fresh=True),
        )

    def options_of_tool(self) -> dict[str, Any]:
        """All but a recording to compare with: it is read on this machine."""
        if self.options.compare_with_recording:
            raise InputError("the server compares with the text of a kernel, not with a recording")
        other = self.options.compare_to
        other = other and other.rstrip("\n") + "\n"  # one line would be a path there
        return {"focus": self.options.focus, "compare_to": other, "case": self.options.case}

    def files(self) -> Mapping[str, str]:
        """The kernel and the one that it is compared with."""
        return {"file_name": self.file_name, "baseline_file": self.options.compare_file}

    @staticmethod
    def good(answer: ProfileResult) -> bool:
        """There is a profile."""
        return bool(answer.kernels)
