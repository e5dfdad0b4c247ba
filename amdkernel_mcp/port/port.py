"""From a CUDA program to one that is built for AMD GPUs: translated, or as it is with our headers."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from amdkernel_mcp.compiler.diagnostics import parse_diagnostics
from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.runner.program_build import build_program
from amdkernel_mcp.execution.runner.program_files import Program
from amdkernel_mcp.port.cuda_names import LIST_NAMES, CudaNames
from amdkernel_mcp.port.keep_warps import FOLDER, flags_for, header_files, stand_ins
from amdkernel_mcp.port.rules_of_types import SeenFunction
from amdkernel_mcp.port.seen import seen_functions
from amdkernel_mcp.port.sources import OUTSIDE, CudaProgram, with_sizes
from amdkernel_mcp.port.tokens import joined_launches, read_tokens
from amdkernel_mcp.port.translate import Change, diff, hip_name, included, translate
from amdkernel_mcp.runner_protocol.records import PROGRAM
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.results.kernels import Diagnostic

LIST_TIMEOUT_S = 60.0
_TWICE = re.compile(r"error: redefinition of '(\w+)'")
_OWN = "own_names.h"  # HIP's functions that the program defines itself
_TRIES = 3


@dataclass(frozen=True)
class Wanted:
    """What the caller wants of a program."""

    program: CudaProgram
    keep_warps: bool
    archs: tuple[str, ...]
    defines: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ported:
    """A program in its new form. `failed`: why it was not built; `sources`: what a person builds it from."""

    program: Program
    diagnostics: tuple[Diagnostic, ...] = ()
    failed: str | None = None
    changes: tuple[Change, ...] = ()
    missing: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    diff: str = ""
    seen: Mapping[str, Sequence[SeenFunction]] = field(default_factory=dict)  # by file, where clang read it


def hip_names(sandbox: Sandbox) -> CudaNames:
    """CUDA's names by the HIP headers of the sandbox. Raises SandboxError where it has none."""
    done = sandbox.run("compile", ["sh", "-c", LIST_NAMES], {}, timeout_s=LIST_TIMEOUT_S)
    names, headers = (done.files.get(name, b"").decode().split() for name in ("names", "headers"))
    if not names:
        raise SandboxError("the sandbox has no HIP headers", hint="run `amdkernel doctor` to check the toolchain")
    return CudaNames.of(names, headers)


def port(sandbox: Sandbox, wanted: Wanted, work: Work) -> Ported:
    """Translate or wrap the program, then compile and link it for all architectures. A failed build is a value.

    Raises InputError for defines, SandboxError.
    """
    names = hip_names(sandbox)
    sized, flags = with_sizes(wanted.program, wanted.defines)
    joined = {name: joined_launches(text) for name, text in sized.files.items()}
    sized = replace(sized, files={name: text for name, (text, _) in joined.items()})
    made = _kept(sized, names) if wanted.keep_warps else _translated(sized, names)
    made = replace(made, program=replace(made.program, arguments=wanted.arguments, flags=(*made.program.flags, *flags)))
    known: list[str] = []
    for _ in range(_TRIES):
        said = bytearray()
        program = _with_own(made.program, known, wanted)
        built = build_program(sandbox, wanted.archs[0], program, said.extend, work)
        text = said.decode(errors="replace")
        again = [name for name in defined_twice(text) if name not in known]
        if not built.failed or not again:
            break
        known += again
    found = tuple(dict.fromkeys(parse_diagnostics(text, program.sources[0])))  # each architecture says the same
    changes = made.changes
    if count := sum(times for _, times in joined.values()):
        changes += (Change("spaces inside of `<<<` and `>>>` left out: clang takes none", count, 1),)
    if known:
        changes += (Change(f"the program's own {', '.join(known)} kept next to HIP's", len(known), 1),)
    made = replace(made, diagnostics=found, changes=changes)
    if built.failed:
        first = next((each.message for each in found if each.severity == "error"), text.strip()[-300:])
        return replace(made, failed=f"{built.failed}: {first}" if first else built.failed)
    kept = made.program
    if not wanted.keep_warps:
        kept = _kept(sized, names).program
        kept = replace(kept, flags=(*kept.flags, *flags))
    work.say("reading its syntax tree")
    made = replace(made, seen=seen_functions(sandbox, _with_names(kept, known, "cuda_runtime.h"), sized.files))
    ready = replace(program, path=built.path, files={PROGRAM: built.files[PROGRAM]}, sources=(), flags=(), include=())
    return replace(made, program=ready)


def _kept(program: CudaProgram, names: CudaNames) -> Ported:
    # HIP's vectors have the operators that NVIDIA's helper_math.h defines once more.
    left_out = [name for name in program.files if name.startswith(OUTSIDE) and name.endswith("/helper_math.h")]
    program = replace(program, files={name: text for name, text in program.files.items() if name not in left_out})
    texts = list(program.files.values())
    includes = {name for text in texts for name in included(text)}
    words = {token.text for text in texts for token in read_tokens(text) if token.kind == "name"}
    own = {posixpath.basename(name) for name in program.files}
    headers = header_files(names, includes, identifiers=words)
    headers = {name: content for name, content in headers.items() if posixpath.basename(name) not in own}
    made = program_of(program.main, program.files, program.units, texts)
    made = replace(
        made,
        files={**made.files, **headers},
        include=(*made.include, FOLDER),
        flags=(*flags_for(texts), *made.flags),
    )
    return Ported(
        made,
        changes=tuple(
            Change(what, 1, 1)
            for what in (*stand_ins(sorted(includes)), *(["helper_math.h by ours"] if left_out else []))
        ),
        missing=tuple(names.missing(words)),
        sources={name: content.decode() for name, content in headers.items()},
    )


def _translated(program: CudaProgram, names: CudaNames) -> Ported:
    own = sorted({posixpath.basename(name) for name in program.files})
    files: dict[str, str] = {}
    changes: list[Change] = []
    missing: set[str] = set()
    diffs: list[str] = []
    for name, text in program.files.items():
        done = translate(text, names, own_headers=own)
        files[hip_name(name)] = _renamed_includes(done.text, own)
        changes += done.changes
        missing |= set(done.missing)
        diffs.append(diff(text, files[hip_name(name)], name))
    units = [hip_name(name) for name in program.units]
    return Ported(
        program_of(hip_name(program.main), files, units, list(program.files.values())),
        changes=_summed(changes),
        missing=tuple(sorted(missing)),
        sources=files,
        diff="".join(diffs),
    )


def _renamed_includes(text: str, own: Sequence[str]) -> str:
    for name in own:
        if name.endswith(".cu"):
            text = text.replace(f'{name}"', f'{hip_name(name)}"')
    return text


def _summed(changes: Sequence[Change]) -> tuple[Change, ...]:
    found: dict[str, Change] = {}
    for each in changes:
        known = found.get(each.what)
        found[each.what] = replace(known, times=known.times + each.times) if known else each
    return tuple(found.values())


def program_of(main: str, files: Mapping[str, str], units: Sequence[str], texts: Sequence[str]) -> Program:
    """What the sandbox builds of these sources. texts: all of them, for the flags that they need."""
    # nvcc takes `register`, leaves OpenMP's directives for GPUs out, and its calls may be made for their effect alone.
    flags = ["-Wno-register", "-Wno-unused-value", "-Wno-hip-omp-target-directives"]
    if any("<omp.h>" in text or "#pragma omp" in text for text in texts):
        flags.append("-fopenmp")
    folders = {parent.as_posix() for name in files for parent in PurePosixPath(name).parents} - {"."}
    return Program(
        name=main,
        path=PROGRAM,
        files={name: text.encode() for name, text in files.items()},
        user_paths={name: name for name in files},
        sources=tuple(units),
        include=tuple(sorted(folders)),
        flags=tuple(flags),
    )


def _with_own(program: Program, known: Sequence[str], wanted: Wanted) -> Program:
    """The program with flags for the other architectures, and with HIP's functions that it defines itself."""
    flags = [f"--offload-arch={arch}" for arch in wanted.archs[1:]]
    if not wanted.program.has_main:
        flags += ["-shared", "-fPIC"]
    program = replace(program, flags=(*program.flags, *flags))
    return _with_names(program, known, "cuda_runtime.h" if wanted.keep_warps else "hip/hip_runtime.h")


def _with_names(program: Program, known: Sequence[str], start: str) -> Program:
    if not known:
        return program
    own = f"#pragma once\n#include <{start}>\n{beside_hip(known)}".encode()
    return replace(program, files={**program.files, _OWN: own}, flags=(*program.flags, "-include", _OWN))


def defined_twice(messages: str) -> list[str]:
    """The names that a compiler reports as defined again."""
    return sorted(set(_TWICE.findall(messages)))


def beside_hip(names: Iterable[str]) -> str:
    """Lines after HIP's headers: calls take the program's function where it fits best, else HIP's."""
    return "".join(
        f"template <class... A> __device__ inline auto own_{name}(A... a) -> decltype(::{name}(a...))\n"
        f"{{ return ::{name}(a...); }}\n#define {name} own_{name}\n"
        for name in names
    )
