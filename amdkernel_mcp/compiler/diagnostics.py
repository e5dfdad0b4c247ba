"""The messages of clang, its back end and the linker as diagnostics, with lines of the user's file.

The text comes from a sandbox and quotes the candidate: it is cut, counted and cleaned of control characters here.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from amdkernel_mcp.results.kernels import Diagnostic

MAX_DIAGNOSTICS = 30
MAX_NOTES = 4  # after one error; clang lists every candidate of an overload set
MAX_MESSAGE_CHARS = 400

_MESSAGE = re.compile(
    r"(?:(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:(?P<column>\d+):)? )?"
    r"(?P<severity>fatal error|error|warning|note|remark): (?P<text>.*)"
)
_INCLUDED_FROM = re.compile(r"In file included from (?P<file>[^:]+):(?P<line>\d+)[:,]")
_LINKER = re.compile(r"(?:ld\.lld|lld): (?P<severity>error|warning): (?P<text>.*)")
_REFERENCE = re.compile(r">>> (?:referenced|defined) (?:by|at) (?P<file>[^:()]+):(?P<line>\d+)")
_TOOL = re.compile(r"(?:\S*/)?(?:clang(?:\+\+)?(?:-\d+)?|hipcc): (?P<rest>(?:fatal error|error|warning): .*)")
# The driver's echo of a failure that cc1 or the linker has already explained.
_ECHO = re.compile(
    r"(?:clang|linker|amdgcn-link|hip).* command failed|no such file or directory: 'kernel\.o'|unable to execute"
)
_LLVM_OPTION = re.compile(
    r"clang[^:]*\(LLVM option parsing\): (?P<text>Unknown command line argument '.*?'|for the .*)"
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


_IN_HEADER = re.compile(r"[\w./+-]+:\d+: ")
_NARROW_MASK = "The mask must be a 64-bit integer"
_MISSING_HEADER = re.compile(r"'([\w./+-]+)' file not found")
_INSTEAD = {
    "library": "neither this library of NVIDIA nor AMD's of the same purpose is here: check a kernel alone, without "
    "the host's calls (`amdkernel port FILE --candidate KERNEL`)",
    "cuda": "CUDA's headers are not here: #include <hip/hip_runtime.h>, and <hip/hip_fp16.h> or <hip/hip_bf16.h>",
    "torch": "PyTorch and its host code are not here: send the `__global__` function alone, with its launch plan",
    "rocwmma": "only HIP's own headers are here: the matrix instructions are builtins such as __builtin_amdgcn_mfma_*",
}
_HEADERS_OF = {
    "library": re.compile(r"(?:cufft|cusparse|cusolver|cudnn|cutensor|nccl|npp|nvjpeg)\w*\.h|cudnn_frontend\.h"),
    "cuda": re.compile(
        r"cu[A-Z_a-z0-9]*\.(?:h|cuh|hpp)|cooperative_groups.*|mma\.h|cub/.*|cutlass/.*|cute/.*|device_launch.*"
    ),
    "torch": re.compile(r"(?:torch|ATen|c10|pybind11)/.*|Python\.h"),
    "rocwmma": re.compile(r"(?:rocwmma|ck|rocblas|hipblas|hipcub|rocprim)\S*"),
}


@dataclass
class _Group:
    """An error, warning or remark with the notes that explain it."""

    head: Diagnostic
    notes: list[Diagnostic] = field(default_factory=list)


def parse_diagnostics(text: str, file_name: str) -> list[Diagnostic]:
    """The diagnostics in the order of the text, errors kept before warnings where there are too many.

    A place in a header is named in the message; its line is that of the user's file from where it was reached
    (the #include, or the first note that leads there), or None where there is no such place.
    """
    groups: list[_Group] = []
    include_line: int | None = None
    for line in text.splitlines():
        if found := _INCLUDED_FROM.match(line):
            if _is_users(found["file"], file_name):
                include_line = int(found["line"])
        elif found := _LINKER.match(line):
            groups.append(_Group(_diagnostic(found["severity"], _linker_text(found["text"]), None, None)))
        elif found := _LLVM_OPTION.match(line):
            groups.append(_Group(_diagnostic("error", f"-mllvm: {found['text']}", None, None)))
        elif found := _REFERENCE.match(line):
            if groups and groups[-1].head.line is None and _is_users(found["file"], file_name):
                groups[-1].head = groups[-1].head.model_copy(update={"line": int(found["line"])})
        elif found := _MESSAGE.fullmatch(_without_tool(line)):
            _add(groups, _located(found, file_name, include_line))
            include_line = None
    return _bounded([_with_users_line(group) for group in groups if not _ECHO.search(group.head.message)])


def _add(groups: list[_Group], diagnostic: Diagnostic) -> None:
    if diagnostic.severity == "note" and groups:
        groups[-1].notes.append(diagnostic)
    else:
        groups.append(_Group(diagnostic))


def _located(found: re.Match[str], file_name: str, include_line: int | None) -> Diagnostic:
    severity, text, file = found["severity"], found["text"], found["file"]
    if file is None or file == "<unknown>":
        return _diagnostic(severity, text, None, None)
    line = int(found["line"])
    if _is_users(file, file_name):
        return _diagnostic(severity, text, line or None, int(found["column"] or 0) or None)
    return _diagnostic(severity, f"{_short(file)}:{line}: {text}", include_line, None)


def _diagnostic(severity: str, text: str, line: int | None, column: int | None) -> Diagnostic:
    message = _CONTROL.sub(" ", text)
    if missing := _MISSING_HEADER.search(message):
        whose = next((name for name, headers in _HEADERS_OF.items() if headers.fullmatch(missing[1])), None)
        message += f": {_INSTEAD[whose]}" if whose else ""
    if len(message) > MAX_MESSAGE_CHARS:
        message = f"{message[: MAX_MESSAGE_CHARS - 60]} … {message[-56:]}"
    known = {"fatal error": "error", "error": "error", "warning": "warning", "note": "note", "remark": "remark"}
    return Diagnostic.model_validate({"severity": known[severity], "message": message, "line": line, "column": column})


def _without_tool(line: str) -> str:
    found = _TOOL.fullmatch(line)
    return found["rest"] if found else line


def _linker_text(text: str) -> str:
    undefined = re.fullmatch(r"undefined (?:\w+ )?symbol: (.*)", text)
    if undefined:
        return (
            f"undefined symbol: {undefined[1]} is declared and used, but no __device__ definition of it is in the file"
        )
    return text


def _is_users(file: str, file_name: str) -> bool:
    return file.removeprefix("./") == file_name


def _short(file: str) -> str:
    """A header as one would include it."""
    return re.sub(r"^.*/include/(?:c\+\+/[\d.]+/|x86_64-linux-gnu/)?", "", file)


def _with_users_line(group: _Group) -> _Group:
    """An error inside a header, placed where the user's file leads to it: in its code, else at its `#include`."""
    if group.head.line is not None and not _IN_HEADER.match(group.head.message):
        return group
    origin = next((note for note in group.notes if note.line is not None and "requested here" in note.message), None)
    if origin is None:
        return group
    message = group.head.message
    if _NARROW_MASK in message:
        called = re.search(r"specialization '(\w+)", origin.message)
        name = called[1] if called else "this function"
        message = f"the mask of {name} has 32 bits; a wave has 64 lanes: write 0xffffffffffffffffull"
    head = group.head.model_copy(update={"message": message, "line": origin.line, "column": origin.column})
    return replace(group, head=head)


def _bounded(groups: list[_Group]) -> list[Diagnostic]:
    """At most MAX_DIAGNOSTICS and one note on what was left out."""
    kept: dict[int, list[Diagnostic]] = {}
    room, left_out = MAX_DIAGNOSTICS, 0
    for index in sorted(range(len(groups)), key=lambda i: (groups[i].head.severity != "error", i)):
        members = [groups[index].head, *_telling(groups[index].notes)]
        kept[index] = members[:room]
        room -= len(kept[index])
        left_out += 1 + len(groups[index].notes) - len(kept[index])
    shown = [diagnostic for index in sorted(kept) for diagnostic in kept[index]]
    if left_out:
        plural = "" if left_out == 1 else "s"
        shown.append(Diagnostic(severity="note", message=f"{left_out} more message{plural} left out"))
    return shown


def _telling(notes: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The notes in the user's file first: those in headers are mostly candidates that did not match."""
    ordered = sorted(notes, key=lambda note: note.line is None)
    return ordered[:MAX_NOTES]
