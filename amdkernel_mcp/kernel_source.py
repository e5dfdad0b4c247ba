"""The kernel text that a caller sent or named.

A code object becomes a text as well: the plan lines of the file `NAME.plan` next to it, then its bytes in base64.
Python gets the plan lines of such a file too, and the files of its project that it imports: see `imported_files.py`.
"""

import base64
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.imported_files import with_imported_files

MAX_BYTES = 1 << 20
EXTENSION = (
    "this is a PyTorch extension (load_inline), which is not judged: it needs a PyTorch that is built for ROCm, and "
    "the sandbox has none"
)
_EXTENSION = re.compile(r"^\s*(?:import|from)\s+torch\b.*\bload(?:_inline)?\s*\(", re.MULTILINE | re.DOTALL)
_ATTEMPT = re.compile(r"attempt:\S+")
_COMPILER = re.compile(r"hip:(\S{1,40})")
_LONGEST_NAME = 100
_IMPORTS_TRITON = re.compile(r"^[ \t]*(?:import|from)[ \t]+triton\b", re.MULTILINE)
_IMPORTS_FLYDSL = re.compile(r"^[ \t]*(?:import|from)[ \t]+flydsl\b", re.MULTILINE)
_JIT = re.compile(r"^[ \t]*@[\w.]*\bjit\b", re.MULTILINE)
SUFFIXES = (".hip", ".s", ".co", ".hsaco")
"""Of the files that are kernels by their name. A `.py` is one by its text: see `is_python_kernel`."""
CODE_OBJECT = "; code object in base64:"
"""The line before the bytes."""
_BINARY = (b"\x7fELF", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB")
_PLAN_LINE = re.compile(r"^[ \t]*(?://|;|#)[ \t]*amdkernel[ \t]*:.*$", re.MULTILINE)


@dataclass(frozen=True)
class KernelSource:
    """Text of a kernel, and the file name that messages use for it."""

    source: str
    file_name: str


def is_extension(text: str) -> bool:
    """Whether this is Python that builds an extension of PyTorch."""
    return "cpp_extension" in text and _EXTENSION.search(text) is not None


def _refuse_extension(text: str, file: str) -> None:
    if is_extension(text):
        hint = "send the HIP kernel alone: `amdkernel port FILE --candidate KERNEL` takes it out of CUDA sources"
        raise InputError(EXTENSION, file=file, hint=hint)


def is_triton(text: str) -> bool:
    """Whether this is Python that imports triton and has a jit function, of Triton or Gluon."""
    return _IMPORTS_TRITON.search(text) is not None and _JIT.search(text) is not None


def is_flydsl(text: str) -> bool:
    """Whether this is Python that imports flydsl and has a jit function."""
    return _IMPORTS_FLYDSL.search(text) is not None and _JIT.search(text) is not None


def is_python_kernel(text: str) -> bool:
    """Whether this is Python in one of the languages that are Python."""
    return is_triton(text) or is_flydsl(text)


def is_compiled_by_hip(text: str) -> bool:
    """Whether the compiler of HIP makes its code: HIP C++ and assembly, not Python and no code object."""
    return not is_python_kernel(text) and f"\n{CODE_OBJECT}\n" not in f"\n{text}"


def is_kernel_file(path: Path) -> bool:
    """Whether a file is a kernel, by its name or, for Python, by its text."""
    if path.suffix != ".py":
        return path.suffix in SUFFIXES
    try:
        with path.open("rb") as file:
            return is_python_kernel(file.read(MAX_BYTES).decode(errors="replace"))
    except OSError:
        return False


def is_attempt(text: str) -> bool:
    """Whether this names the kernel of an earlier attempt, as `attempt:ID`, in place of a path or a text."""
    return len(text) <= _LONGEST_NAME and _ATTEMPT.fullmatch(text.strip()) is not None


def other_compiler(text: str | None) -> str | None:
    """`6.4` of `hip:6.4`, which names the compiler of that HIP release in place of a kernel; None of other text."""
    found = _COMPILER.fullmatch(text.strip()) if text and len(text) <= _LONGEST_NAME else None
    return found[1] if found else None


def names_no_file(text: str) -> bool:
    """Whether what is compared with is an attempt or another compiler, not a path."""
    return is_attempt(text) or other_compiler(text) is not None


def sent_kernel(source: str, file_name: str = "kernel.hip", *, extensions: bool = False) -> KernelSource:
    """The kernel whose text was sent. Raises InputError over 1 MiB, and for an extension of PyTorch.

    extensions: these are taken as well.
    """
    if len(source.encode(errors="replace")) > MAX_BYTES:
        raise InputError(f"a kernel may have {MAX_BYTES >> 20} MiB at most", file=file_name)
    if not extensions:
        _refuse_extension(source, file_name)
    return KernelSource(source, file_name)


def read_kernel(path: Path, *, extensions: bool = False) -> KernelSource:
    """The kernel in the file `path`.

    Raises InputError when it cannot be read, is not text, is over 1 MiB or, without `extensions`, is one of PyTorch.
    """
    try:
        if path.is_dir():
            raise InputError("this is a folder, not a kernel: the problem comes first", file=str(path))
        if not path.is_file():
            raise InputError("there is no such file", file=str(path))
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        beside = path.with_name(f"{path.name}.plan")
        takes_plan = data.startswith(_BINARY) or path.suffix == ".py"
        plan = beside.read_bytes()[:MAX_BYTES] if takes_plan and beside.is_file() else b""
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror}", file=str(path)) from None
    text = _text(data, str(path), plan.decode(errors="replace"), extensions=extensions)
    if path.suffix == ".py" and is_python_kernel(text):
        text = _with_project(path, text, plan.decode(errors="replace"))
    return KernelSource(text, path.name)


def _with_project(path: Path, text: str, plan: str) -> str:
    """The text of a kernel in Python, the plan lines of the file next to it, and the files that it imports.

    Raises InputError over 1 MiB.
    """
    lines = ["# " + line.lstrip(" ;#/\t") for line in _PLAN_LINE.findall(plan)]
    whole = with_imported_files(path, "\n".join([text.rstrip("\n"), *lines, ""]) if lines else text)
    if len(whole.encode(errors="replace")) > MAX_BYTES:
        raise InputError(
            f"a kernel may have {MAX_BYTES >> 20} MiB at most with the files that it imports", file=str(path)
        )
    return whole


def read_named_kernel(path: Path, *, extensions: bool = False) -> KernelSource:
    """As `read_kernel`; `-` and /dev/stdin are stdin, and a pipe is read too. For the command line only."""
    if str(path) in ("-", "/dev/stdin"):
        return KernelSource(_text(sys.stdin.buffer.read(MAX_BYTES + 1), "stdin", extensions=extensions), "stdin.hip")
    if path.is_fifo():
        with path.open("rb") as pipe:
            return KernelSource(_text(pipe.read(MAX_BYTES + 1), str(path), extensions=extensions), "kernel.hip")
    return read_kernel(path, extensions=extensions)


def _text(data: bytes, file: str, plan: str = "", *, extensions: bool) -> str:
    if data.startswith(_BINARY):
        lines = "".join(f"{line}\n" for line in _PLAN_LINE.findall(plan))
        text = f"{lines}{CODE_OBJECT}\n{base64.encodebytes(data).decode()}"
        if len(text) > MAX_BYTES:
            hint = "`amdkernel inspect` shows what is in it"
            raise InputError("a code object may have 768 KiB at most, as a candidate", file=file, hint=hint)
        return text
    if len(data) > MAX_BYTES:
        raise InputError(f"a kernel may have {MAX_BYTES >> 20} MiB at most", file=file)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise InputError("a kernel is UTF-8 text, and this file is not", file=file) from None
    if not extensions:
        _refuse_extension(text, file)
    return text
