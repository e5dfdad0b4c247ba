"""Builds a HIP program in a compile sandbox: by hipcc from its sources, or by the project's own make or CMake."""

import posixpath
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from amdkernel_mcp.execution.runner.program_files import WORK, Program
from amdkernel_mcp.execution.sandbox import Completed, Sandbox
from amdkernel_mcp.runner_protocol.records import PROGRAM
from amdkernel_mcp.work import Work

KEEPER = "/opt/amdkernel/runner/keep_files.py"
BUILT_FILES = "files/"  # where KEEPER puts them
TIMES = ".amdkernel-times"
TIMEOUT_S = 300.0
_MAIN = re.compile(rb"\bmain\b")
_NO_MAIN = "it does not compile, and it has no main: check a file of kernels with `amdkernel check PROBLEM FILE`"
# Lines for findings, with names that do not depend on where the sandbox has its work folder.
_LINES = f"-gline-tables-only -fdebug-prefix-map=$PWD={WORK}"
# For builds that look for HIP in a folder, and for a compiler of the host's code: the image has clang alone.
_TOOLS = 'HIP_PATH=/usr CC=clang CXX=clang++ PATH="$PATH:$(ls -d /usr/lib/llvm-*/bin | sort -V | tail -1)"'


@dataclass(frozen=True)
class Built:
    """The program's path in the work folder and the files that were built; `failed` says why there is no program."""

    path: str = PROGRAM
    files: Mapping[str, bytes] = field(default_factory=dict)
    failed: str | None = None


def build_program(
    sandbox: Sandbox,
    arch: str,
    program: Program,
    on_message: Callable[[bytes], None],
    work: Work,
) -> Built:
    """Build it for `arch` where it is not built yet. Raises SandboxError; a build that fails is a value."""
    if program.sources:
        work.say(f"compiling {program.name} for {arch}")
        return _compile(sandbox, arch, program, on_message)
    if program.build_tool:
        work.say(f"building {program.build_target} with {program.build_tool} for {arch}")
        return _build_project(sandbox, arch, program, on_message)
    return Built(program.path)


def _compile(sandbox: Sandbox, arch: str, program: Program, on_message: Callable[[bytes], None]) -> Built:
    # -x hip, because hipcc takes .cpp for HIP and .cc, .cxx for plain C++.
    script = f'exec hipcc -x hip --offload-arch={arch} {_LINES} -O2 -I. -o "$OUT/{PROGRAM}" "$@"'
    folders = [f"-I{folder}" for folder in program.include]
    words = ["sh", "-c", script, "compile", *folders, *program.sources, *program.flags]
    done = sandbox.run("compile", words, program.files, timeout_s=TIMEOUT_S)
    on_message(done.stderr.encode())
    if done.exit_code or PROGRAM not in done.files:
        sources = (program.files[name] for name in program.sources)
        has_main = any(_MAIN.search(source) for source in sources)
        return Built(failed=_why_not(done, "the compiler", "it does not compile" if has_main else _NO_MAIN))
    return Built(files={PROGRAM: done.files[PROGRAM]})


def _build_project(sandbox: Sandbox, arch: str, program: Program, on_message: Callable[[bytes], None]) -> Built:
    """The project's own build. hipcc's variables give it architecture and lines; the user's come last and win."""
    users = " ".join(f"{name}={shlex.quote(value)}" for name, value in program.environment.items())
    environment = f'HCC_AMDGPU_TARGET={arch} HIPCC_COMPILE_FLAGS_APPEND="{_LINES}" {_TOOLS} {users}'
    script = f'exec env {environment} python3 -s {KEEPER} --modified {TIMES} sh -c "$1"'
    times = "".join(f"{time} {name}\0" for name, time in program.modified.items())
    done = sandbox.run(
        "compile",
        ["sh", "-c", script, "build", _build_command(arch, program)],
        {**program.files, TIMES: times.encode(errors="surrogateescape")},
        timeout_s=TIMEOUT_S,
        on_stderr=lambda line: on_message(f"{line}\n".encode()),
    )
    if done.exit_code:
        return Built(failed=_why_not(done, "the build", f"{program.build_tool} failed with exit code {done.exit_code}"))
    if done.truncated:
        return Built(failed="the build made more files than the sandbox returns")
    names = done.files.items()
    made = {name.removeprefix(BUILT_FILES): content for name, content in names if name.startswith(BUILT_FILES)}
    path = _find_program(program, made)
    if path is None:
        return Built(failed=f"the build of {program.build_target} made no program {program.path}")
    return Built(path, made)


def _build_command(arch: str, program: Program) -> str:
    target = shlex.quote(program.build_target)
    if program.build_tool == "make":
        return f"exec make {target}"
    folder = "build" if not any(name.startswith("build/") for name in program.files) else "amdkernel-build"
    archs = " ".join(f"-D{name}={arch}" for name in ("CMAKE_HIP_ARCHITECTURES", "GPU_TARGETS", "AMDGPU_TARGETS"))
    configure = f"cmake -S . -B {folder} --no-warn-unused-cli {archs}"
    return f"{configure} && exec cmake --build {folder} --target {target}"


def _find_program(program: Program, made: Mapping[str, bytes]) -> str | None:
    """The path that the user gave; else the program of that name that was built, in whichever folder."""
    if program.path in made or program.path in program.files:
        return program.path
    name = posixpath.basename(program.path)
    found = [path for path, content in made.items() if posixpath.basename(path) == name and content[:4] == b"\x7fELF"]
    return min(found, key=len, default=None)


def _why_not(done: Completed, what: str, failed: str) -> str:
    return f"{what} did not end within {TIMEOUT_S:.0f} s" if done.timed_out else failed
