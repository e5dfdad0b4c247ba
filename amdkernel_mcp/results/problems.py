"""What creating and listing problems returns."""

from pydantic import Field

from amdkernel_mcp.results.quantity import Result


class CreatedProblem(Result):
    """A problem that was stored and examined."""

    name: str = Field(description="Give it to check_kernel as `problem`")
    hash: str = Field(description="Of all that a verdict depends on; answers repeat it")
    signature: str = Field(description="The kernel's parameters in order, as HIP declares them")
    cases: list[str] = Field(description="The announced and the held-out cases")
    timed_case: str = ""
    warnings: list[str] = Field(default=[], description="What makes the problem weaker than it could be")
    kernel: str | None = Field(default=None, description="Of a `module`: a naive kernel that compiles")


class ScaledSize(Result):
    """A size that was made smaller."""

    name: str
    original: int = Field(description="In the file that was imported")
    value: int = Field(description="In the problem's first case")


class ImportedProblem(Result):
    """A problem folder that was made from another collection's file."""

    name: str
    folder: str = Field(description="Give it to `amdkernel check` as the problem")
    kernel: str = Field(description="The file of the drafted kernel; it compiles")
    kernel_is_whole: bool = Field(description="It computes the outputs; false: a skeleton to fill in")
    hash: str = Field(description="Of all that a verdict depends on; answers repeat it")
    signature: str = Field(description="The kernel's parameters in order, as HIP declares them")
    cases: list[str] = Field(description="The announced and the held-out cases")
    scaled: list[ScaledSize] = Field(description="Sizes that were made smaller, so that emulation is quick")
    warnings: list[str] = Field(default=[], description="What makes the problem weaker than it could be")


class ListedProblem(Result):
    """One problem."""

    name: str
    title: str
    bundled: bool
    shared_by: str | None = Field(default=None, description="The user who shares it; only that one can replace it")
    signature: str


class ProblemList(Result):
    """The problems that the caller can name."""

    problems: list[ListedProblem]
