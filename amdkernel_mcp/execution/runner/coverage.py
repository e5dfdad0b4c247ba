"""Which instructions of code objects the emulator does not know; the files are decoded in a sandbox, never here."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from amdkernel_mcp.errors import InputError, SandboxError, UnknownTargetError
from amdkernel_mcp.execution.sandbox import Completed, Sandbox
from amdkernel_mcp.results.machine import ArchCoverage, CoverageResult, FileCoverage, ImageCoverage, MissingInstruction

Line = TypeVar("Line", bound=BaseModel)

TOOL = "/opt/amdkernel/emulator/build/coverage-report"
REPORTER = "/opt/amdkernel/runner/report_coverage.py"
TIMEOUT_S = 120
MAX_FILE_BYTES = 256 << 20
OUTPUT_LIMIT_BYTES = 64 << 20
NO_DEVICE_CODE = "no device code in this file"


class _Missing(BaseModel):
    model_config = ConfigDict(extra="forbid")
    mnemonic: str
    count: int
    address: int
    function: str
    text: str
    line: str | None = None


class _Image(BaseModel):
    model_config = ConfigDict(extra="forbid")
    file: int
    image: int | None  # None: the file holds no code object
    arch: str = ""
    instructions: int = 0
    error: str = ""
    missing: list[_Missing] = Field(default_factory=list)


class _Known(BaseModel):
    model_config = ConfigDict(extra="forbid")
    mnemonic: str
    known: bool
    wave: int  # lanes; RDNA decodes for waves of 32 and of 64
    text: str


def read_files(paths: Sequence[Path]) -> dict[str, bytes]:
    """Contents by name. Raises InputError for what cannot be read or is over 256 MiB."""
    files = {}
    for path in paths:
        try:
            if path.stat().st_size > MAX_FILE_BYTES:
                raise InputError(f"a file may have {MAX_FILE_BYTES >> 20} MiB at most", file=str(path))
            files[str(path)] = path.read_bytes()
        except OSError as error:
            raise InputError(f"the file cannot be read: {error.strerror}", file=str(path)) from None
    return files


def coverage_of_files(sandbox: Sandbox, files: Mapping[str, bytes]) -> CoverageResult:
    """The report for each file, by name; one without device code has a note.

    Raises InputError where no file has device code, SandboxError.
    """
    names = list(files)
    command = ["python3", "-s", REPORTER, TOOL, str(len(names))]
    inputs = {str(number): files[name] for number, name in enumerate(names)}
    done = sandbox.run("run", command, inputs, timeout_s=TIMEOUT_S, output_limit_bytes=OUTPUT_LIMIT_BYTES)
    images = [_parse(_Image, line) for line in _answer(done)]
    by_file: list[list[ImageCoverage]] = [[] for _ in names]
    for image in images:
        if not 0 <= image.file < len(names):
            raise SandboxError("the report is about a file that was not sent")
        if image.image is not None:
            by_file[image.file].append(_image_coverage(image))
    found = [
        FileCoverage(file=name, images=images, note=None if images else NO_DEVICE_CODE)
        for name, images in zip(names, by_file, strict=True)
    ]
    if names and not any(by_file):
        raise InputError(
            NO_DEVICE_CODE, file=names[0], hint="name a code object, an offload bundle or a program that hipcc linked"
        )
    complete = all(file.images and all(image.complete for image in file.images) for file in found)
    return CoverageResult(complete=complete, files=found)


def coverage_of_arch(sandbox: Sandbox, arch: str) -> ArchCoverage:
    """All mnemonics that the compiler's disassembler knows for `arch`, and which of them are missing.

    Raises UnknownTargetError when the emulator has no such architecture, SandboxError.
    """
    command = ["python3", "-s", REPORTER, TOOL, "--arch", arch]
    done = sandbox.run("run", command, {}, timeout_s=TIMEOUT_S, output_limit_bytes=OUTPUT_LIMIT_BYTES)
    if done.exit_code == 2:
        raise UnknownTargetError(done.stderr.strip() or f"{arch} is not emulated")
    forms = [_parse(_Known, line) for line in _answer(done)]
    known = {form.mnemonic for form in forms if form.known}
    missing = {form.mnemonic: form.text for form in reversed(forms) if form.mnemonic not in known}
    return ArchCoverage(
        arch=arch, complete=not missing, instructions=len(known) + len(missing), missing=dict(sorted(missing.items()))
    )


def _answer(done: Completed) -> list[str]:
    raw = done.files.get("coverage.jsonl")
    if raw is None or done.exit_code:
        reason = "it took too long" if done.timed_out else done.stderr.strip()[-500:] or f"exit code {done.exit_code}"
        raise SandboxError(f"the files could not be decoded: {reason}")
    return raw.decode(errors="replace").splitlines()


def _parse(model: type[Line], line: str) -> Line:
    try:
        return model.model_validate(json.loads(line))
    except (ValueError, ValidationError):
        raise SandboxError("the report of the sandbox has a line that cannot be parsed") from None


def _image_coverage(image: _Image) -> ImageCoverage:
    missing = sorted(image.missing, key=lambda one: (-one.count, one.mnemonic, one.function))
    return ImageCoverage(
        arch=image.arch or "unknown",
        instructions=image.instructions,
        complete=not image.error and not missing,
        note=image.error or None,
        missing=[
            MissingInstruction(
                mnemonic=one.mnemonic,
                count=one.count,
                function=one.function or None,
                line=one.line,
                offset=one.address,
                text=one.text,
            )
            for one in missing
        ],
    )
