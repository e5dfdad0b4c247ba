"""What a verb is: a request that knows its name, its answer, what it needs and how it is done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast

from pydantic import ConfigDict, SkipValidation, TypeAdapter, ValidationError

from amdkernel_mcp.access.scopes import Scope
from amdkernel_mcp.engine.verbs.shorten import Step
from amdkernel_mcp.errors import InputError, JobError
from amdkernel_mcp.history.recorder import Recorder, Tried
from amdkernel_mcp.results.job_answer import JobAnswer
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from amdkernel_mcp.engine.kernel_steps import KernelSteps
    from amdkernel_mcp.engine.profile_steps import OnDetail
    from amdkernel_mcp.execution.sandboxes import Sandboxes
    from amdkernel_mcp.history.attempt import Attempt, Ran
    from amdkernel_mcp.history.attempts import Attempts
    from amdkernel_mcp.history.judged import JudgedProblems
    from amdkernel_mcp.problems.problem import Problem

Text = SkipValidation[str]
"""Taken as it is: the name of a file may hold halves of characters, which Pydantic refuses."""

R = TypeVar("R", bound=JobAnswer)


@dataclass(frozen=True)
class Means:
    """What a verb is done with, and for whom. `on_detail`: is given what the page of a profile shows besides."""

    steps: KernelSteps
    sandboxes: Sandboxes
    judged: JudgedProblems
    recorder: Recorder
    attempts: Attempts
    work: Work
    on_detail: OnDetail | None = None


@dataclass(frozen=True, kw_only=True)
class Verb(ABC, Generic[R]):
    """The request of a verb. A subclass is a verb: it adds the options, and is listed in `table.py`."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    name: ClassVar[str]
    """As records and jobs have it."""
    tool: ClassVar[str]
    key: ClassVar[str]
    """Of its answer in what get_job returns; a verb may share it with one whose answer is of the same kind."""
    answer: ClassVar[type[JobAnswer]]
    scope: ClassVar[Scope]
    """What a token needs for it."""
    timed: ClassVar[bool] = False
    """Whether it measures, for which a token needs `gpu:time` where the target is a GPU."""
    on_target: ClassVar[bool] = True
    """Whether its jobs wait for their target; those that only compile wait for the compiler."""
    sweeps: ClassVar[bool] = False
    """Whether it is long by design, so that the user's other jobs go before it."""
    shortened: ClassVar[tuple[Step, ...]]
    """What goes first where the answer is too long for a model, then second, and so on."""
    also_recorded: ClassVar[tuple[str, ...]] = ()
    """Names of records that this verb repeats as well."""

    source: Text
    file_name: Text = "kernel.hip"
    target: Text | None = None

    @abstractmethod
    def do(self, means: Means) -> R:
        """Do it and record it. A bad kernel is a verdict; raises errors of `errors.py`."""

    @classmethod
    @abstractmethod
    def again(cls, attempt: Attempt, given: Repeated) -> Self:
        """The request that repeats a recorded one. Raises HistoryError for options that no record of ours has."""

    @abstractmethod
    def options_of_tool(self) -> Mapping[str, Any]:
        """What the tool takes besides the kernel, the problem and the target, for a team's server.

        Raises InputError for what no tool takes.
        """

    @staticmethod
    @abstractmethod
    def good(answer: Any) -> bool:
        """Whether the answer is good news, for which a command exits with 0."""

    def files(self) -> Mapping[str, str]:
        """The names of the caller's files, by what a server calls them in an error."""
        return {"file_name": self.file_name}

    def received(self, answer: R) -> R:
        """The answer of a server in the caller's words."""
        return answer

    @property
    def model(self) -> type[R]:
        """The model of the answer."""
        return cast("type[R]", self.answer)

    def arguments(self) -> dict[str, Any]:
        """The request in JSON's types; `read` reads it back."""
        return asdict(self)

    @classmethod
    def read(cls, arguments: Mapping[str, Any]) -> Self:
        """The request of these arguments. Raises JobError where another version wrote them, InputError for a value."""
        try:
            return cast(Self, _adapter(cls).validate_python(dict(arguments)))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise JobError(f"this job cannot be read: {cls.name}, {place}: {first['msg']}") from None

    def tried(
        self,
        means: Means,
        problem: Problem | None = None,
        *,
        options: Mapping[str, Any],
        baseline: str | None = None,
        ran: Callable[[], Sequence[Ran]] = tuple,
    ) -> Tried:
        """What the record of this request says."""
        return Tried(
            *(self.name, self.source, self.file_name, means.work.owner, problem),
            parent=means.work.parent,
            baseline=baseline,
            options=options,
            ran=ran,
        )


@dataclass(frozen=True, kw_only=True)
class ProblemVerb(Verb[R]):
    """A verb on a kernel for a problem: a name, or a folder."""

    problem: Text


@dataclass(frozen=True)
class Repeated:
    """What a replay brings along: the files of the record, its problem as a folder, and where it runs."""

    source: str
    baseline: str | None
    problem: str
    target: str | None


@cache
def _adapter(verb: type[Verb[Any]]) -> TypeAdapter[Any]:
    return TypeAdapter(verb)


def refuse_key(key: str | None) -> None:
    """Raises InputError for the key of an earlier check: no tool takes one."""
    if key is not None:
        raise InputError(
            "an earlier check is replayed on the machine that has its problem",
            hint="leave --url out, or --seed-key",
        )


def refuse_hang(hang: bool) -> None:
    """Raises InputError for what is to start though it may hang."""
    if hang:
        raise InputError("--hang works without --url: who runs a server decides what it may reset")


def key_of(attempt: Attempt) -> Any:
    """The revealed seed key of the record; maybe anything, of an export by anybody."""
    seeds = attempt.answer.get("seeds")
    return attempt.options.get("seed_key") or (seeds.get("key") if isinstance(seeds, dict) else None)
