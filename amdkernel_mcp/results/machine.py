"""What targets, doctor and emulator coverage return."""

from typing import Literal

from pydantic import Field

from amdkernel_mcp.results.quantity import Result


class TargetInfo(Result):
    """A place where code runs."""

    name: str
    kind: Literal["emulator", "gpu"]
    arch: str
    gpu: str
    rocm: str | None
    default: bool
    ready: bool
    note: str | None = None
    gpu_id: str | None = Field(default=None, description="The same from each machine that names this GPU")
    quarantine: str | None = Field(default=None, description="Why nothing runs on this GPU until it is released")


class TargetsResult(Result):
    """All targets that are known."""

    targets: list[TargetInfo]


class MissingInstruction(Result):
    """One instruction that the emulator does not implement, in one function of a code object."""

    mnemonic: str
    count: int = Field(description="How often the function contains it")
    function: str | None = Field(description="Symbol of the kernel or device function")
    line: str | None = Field(description="`FILE:LINE` of the first one, where there is debug data")
    offset: int = Field(description="Virtual address of the first one in the code object")
    text: str = Field(description="Disassembly of the first one")


class ImageCoverage(Result):
    """One code object: how many instructions it has, and which of them the emulator does not implement."""

    arch: str
    instructions: int
    complete: bool
    note: str | None = Field(default=None, description="Why it could not be decoded")
    missing: list[MissingInstruction]


class FileCoverage(Result):
    """The code objects in one file."""

    file: str
    images: list[ImageCoverage]
    note: str | None = Field(default=None, description="Why there are none")


class CoverageResult(Result):
    """Whether the emulator knows every instruction of some files."""

    complete: bool
    files: list[FileCoverage]


class ArchCoverage(Result):
    """Which instructions of an architecture the emulator implements."""

    arch: str
    complete: bool
    instructions: int = Field(description="Mnemonics that the compiler's disassembler knows")
    missing: dict[str, str] = Field(description="Disassembly of an example, by mnemonic")


class DoctorCheck(Result):
    """One thing that must be there."""

    name: str
    status: Literal["ok", "warning", "missing"]
    found: str
    remedy: str | None = None


class DoctorResult(Result):
    """Whether everything that is needed is there."""

    ok: bool
    checks: list[DoctorCheck]
    packages: list[str] = Field(default=[], description="Debian packages of the sandbox: name, version, architecture")
