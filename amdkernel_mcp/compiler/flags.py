"""Which compiler flags a caller may give, and what they mean for the precompiled header.

An allow-list, because flags can load plug-ins, read files and name programs to run. The compile container is the
boundary that holds anyway; the list keeps results comparable and their keys in the cache honest.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from amdkernel_mcp.errors import FlagError

Variant = Literal["default", "fast-math", "none"]
"""Which precompiled header fits (sandbox/image/compile/make_pch.sh). `none`: the headers are read again, about 1 s."""

ALLOWED_IN_SHORT = (
    "allowed are -O0 to -O3, -Os, -DNAME[=VALUE], -UNAME, -std=c++NN, -ffast-math and its parts, -ffp-contract=, "
    "-fno-*, -funroll-loops, -munsafe-fp-atomics, -mcumode, -mwavefrontsize64, -W*, -Rpass*=, -g, "
    "--gpu-max-threads-per-block=N and -mllvm with a listed option"
)

_LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os")
# These touch neither the text of the headers nor how it is parsed, and cc1 takes them as they are.
_HEADER_NEUTRAL = re.compile(
    r"-[DU][A-Za-z_]\w*(=[\w.+\-*/%()<>:,&|^~!?= ]{0,200})?"
    r"|-W[a-z][a-z0-9+=-]*|-w|-pedantic"
    r"|-Rpass(-analysis|-missed)?=[\w.*|-]{1,80}"
)
_OTHERS = re.compile(
    r"-std=(c|gnu)\+\+(11|14|17|20|23|26|2[abc])"
    r"|-ffast-math|-funsafe-math-optimizations|-ffinite-math-only|-fassociative-math|-freciprocal-math|-fapprox-func"
    r"|-ffp-contract=(off|on|fast|fast-honor-pragmas)|-ffp-model=(precise|strict|fast|aggressive)"
    r"|-fdenormal-fp-math=(ieee|preserve-sign|positive-zero)"
    r"|-fgpu-flush-denormals-to-zero|-fgpu-approx-transcendentals|-fhip-fp32-correctly-rounded-divide-sqrt"
    r"|-funroll-loops|-fvectorize|-fslp-vectorize|-finline-functions|-fstrict-aliasing|-fwrapv"
    # What the parser of diagnostics lives on, and another assembler than clang's own, stay as they are.
    r"|-fno-(?!show-|diagnostics|elide-type|integrated-as)[a-z0-9][a-z0-9-]*"
    r"|-m(no-)?(unsafe-fp-atomics|cumode|wavefrontsize64|tgsplit|amdgpu-ieee)|-mcode-object-version=[56]"
    r"|-g|-ggdb|-gline-tables-only"
    r"|--gpu-max-threads-per-block=([1-9]\d{0,2}|10[01]\d|102[0-4])"
)
# LLVM's own tuning options that change code and nothing else, of any release: clang says which it does not know.
_LLVM_BOOLEANS = (
    "amdgpu-early-inline-all|amdgpu-function-calls|amdgpu-coerce-illegal-types|amdgpu-use-divergent-register-indexing"
    "|amdgpu-mfma-vgpr-form|enable-post-misched|greedy-reverse-local-assignment"
)
_LLVM_NUMBERS = (
    "unroll-threshold|inline-threshold|amdgpu-unroll-threshold-private|amdgpu-unroll-threshold-local"
    "|amdgpu-unroll-threshold-if|amdgpu-unroll-runtime-local|amdgpu-schedule-metric-bias|amdgpu-mfma-padding-ratio"
)
_LLVM_OPTION = re.compile(
    rf"--?(({_LLVM_BOOLEANS})(=(true|false|0|1))?|({_LLVM_NUMBERS})=\d{{1,6}}"
    r"|amdgpu-sched-strategy=(max-ilp|max-memory-clause|iterative-ilp|iterative-minreg|iterative-maxocc))"
)
_WHY_NOT = (
    (r"@|--config", "flags come one by one, never from a file"),
    (r"-o", "the code object is kept for you: its hash is in the result"),
    (r"-I|-i(system|nclude|dirafter|sysroot)|--sysroot|-L|-l", "--headers=NAME names one of the setting `headers`"),
    (r"--headers", "header libraries are for kernels, not for programs with a main"),
    (r"--?offload-arch|-march|-mcpu|--?target", "give the arch or the target instead"),
    (r"-c|-S|-E|-emit|--offload|--cuda|--hip", "a candidate is always compiled to a device code object"),
    (r"-x", "a candidate is always HIP"),
    (r"-fplugin|-fpass-plugin|-X|-B|-fuse-ld|-W[lap],|--?specs|-wrapper|--rocm", "it can load or run a program"),
)  # fmt: skip


@dataclass(frozen=True)
class CompileFlags:
    """Flags that passed the list."""

    given: tuple[str, ...]  # all of them, as given: part of the cache's key
    variant: Variant
    level: str  # "O3"; where `variant` is "none" the level is in `passed`
    passed: tuple[str, ...]  # what the compile script still has to hand on
    macros: tuple[str, ...]  # names that -D and -U decide before any header is read


def parse_flags(flags: Sequence[str]) -> CompileFlags:
    """The flags in the form that the compile script takes. Raises FlagError naming the first that is not allowed."""
    level, rest, macros, neutral = "-O3", list[str](), list[str](), True
    for flag in _joined(flags):
        if flag in _LEVELS:
            level = flag
        elif flag.startswith("-mllvm "):
            rest += flag.split(" ", 1)
        elif _HEADER_NEUTRAL.fullmatch(flag):
            rest.append(flag)
            if flag[:2] in ("-D", "-U"):
                macros.append(flag[2:].partition("=")[0])
        else:
            rest.append(flag)
            neutral = neutral and flag == "-ffast-math"
    variant: Variant = "none"
    if neutral and level in ("-O1", "-O2", "-O3"):
        variant = "fast-math" if "-ffast-math" in rest else "default"
        rest = [flag for flag in rest if flag != "-ffast-math"]
    passed = rest if variant != "none" else [level, *rest]
    return CompileFlags(tuple(flags), variant, level[1:], tuple(passed), tuple(macros))


def _joined(flags: Sequence[str]) -> Iterator[str]:
    """Each flag, checked; `-mllvm X` and `-D X` as one."""
    items = iter(flags)
    for item in items:
        flag = item
        if item in ("-mllvm", "-D", "-U"):
            value = next(items, None)
            if value is None:
                raise FlagError(f"the compiler flag {item} has no value")
            flag = f"{item} {value}" if item == "-mllvm" else item + value
        if not _is_allowed(flag):
            raise FlagError(f"the compiler flag {flag[:200]!r} is not allowed{_reason(flag)}", hint=ALLOWED_IN_SHORT)
        yield flag


def _is_allowed(flag: str) -> bool:
    if flag.startswith("-mllvm "):
        return bool(_LLVM_OPTION.fullmatch(flag.removeprefix("-mllvm ")))
    return flag in _LEVELS or bool(_HEADER_NEUTRAL.fullmatch(flag) or _OTHERS.fullmatch(flag))


def _reason(flag: str) -> str:
    if flag.startswith("-mllvm "):
        return f"; of LLVM's options these are: {_LLVM_BOOLEANS}|{_LLVM_NUMBERS}|amdgpu-sched-strategy".replace(
            "|", ", "
        )
    if not flag.startswith(("-", "@")):
        return ": it is not a flag, and a candidate is one file"
    return next((f": {reason}" for pattern, reason in _WHY_NOT if re.match(pattern, flag)), "")
