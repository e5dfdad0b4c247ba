"""A kernel of a CUDA source as a candidate: its device code with a launch plan, and a draft of its problem."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.port.cuda_names import CudaNames
from amdkernel_mcp.port.draft import Draft
from amdkernel_mcp.port.functions import Source
from amdkernel_mcp.port.host_code import launches
from amdkernel_mcp.port.tokens import arguments, joined_launches
from amdkernel_mcp.port.translate import translate
from amdkernel_mcp.problems.problem import Problem

_INCLUDES = re.compile(r"^[ \t]*#[ \t]*include[^\n]*$", re.M)
_HAS = re.compile(
    r".*<(?:(?:hip|hipcub|rocprim|rocwmma|thrust)/[^>]+|\w+|(?:math|std\w+|string|assert|float|limits)\.h)>.*"
)
"""Includes that a candidate can have."""
_LIBRARY = re.compile(r"^[^\n#]*\b(?:cublas|cufft|curand|cusparse|cusolver|cudnn|nccl)\w*[^\n]*;[^\n]*$", re.M)
_RUNTIME = "#include <hip/hip_runtime.h>\n"
_TYPES_OF = {"__hip_bfloat16": "hip/hip_bf16.h", "__half": "hip/hip_fp16.h", "half2": "hip/hip_fp16.h"}
_GROUPS = re.compile(r"cooperative_groups/(?:reduce|scan)\.h")
_WARPS = re.compile(r"__(?:shfl|ballot|all|any|match|reduce)\w*|__activemask|__syncwarp|warpSize")
_SOURCES = re.compile(r'(?:[rRuU]*)("""|\'\'\')(.*?)\1', re.S)


@dataclass(frozen=True)
class Candidate:
    """The file of a candidate, and the draft of its problem. `by_hand`: what could not be read off the source."""

    kernel: str
    text: str
    problem: str
    reference: str
    by_hand: tuple[str, ...] = ()

    @property
    def launch(self) -> str:
        """The line that launches the kernel."""
        return [line for line in self.text.splitlines() if line.startswith("// amdkernel: launch")][-1]


def device_sources(text: str) -> str:
    """The CUDA in a Python file that builds an extension, else the text itself."""
    if "__global__" not in text or not re.search(r"^\s*(?:import|from)\s+\w+", text, re.M):
        return text
    found = [match.group(2) for match in _SOURCES.finditer(text) if "__global__" in match.group(2)]
    return "\n".join(found) if found else text


def make_candidate(text: str, names: CudaNames, kernel: str, problem: Problem | None = None) -> Candidate:
    """The candidate of one kernel. problem: whose arguments the launch passes, in the place of a draft.

    Raises InputError where the source launches no kernel of this name, or where it does not fit the problem.
    """
    source = Source.of(joined_launches(device_sources(text))[0])
    chosen = [each for each in launches(source) if each.kernel == kernel]
    functions = [each for each in source.functions if each.kernel and each.name == kernel]
    if not chosen or not functions:
        known = ", ".join(dict.fromkeys(each.kernel for each in launches(source))) or "none"
        raise InputError(
            f"the source launches no kernel {kernel!r}",
            hint=f"it launches {known}; the name of a function of the host takes all that it launches",
        )
    draft = Draft(source, functions[-1], chosen[0], names)
    if problem is not None:
        bound = draft.bind(problem)
        if bound.fixed:
            return make_candidate(with_numbers(draft, bound.fixed), names, kernel, problem)
    line, by_hand = draft.launch_line()
    made = with_device_code(source, names, [draft], line, by_hand)
    if problem is not None:
        return made
    drafted = draft.problem()
    guesses = [f"the shape of {name} is a guess: the host's allocation was not found" for name in draft.guessed]
    by_hand = [*made.by_hand, *guesses, "reference.py: what the kernel computes, in NumPy"]
    return replace(made, problem=drafted, reference=draft.reference(), by_hand=tuple(by_hand))


def with_device_code(
    source: Source, names: CudaNames, drafts: Sequence[Draft], lines: str, by_hand: Sequence[str], clears: str = ""
) -> Candidate:
    """The candidate of these kernels with these lines of a plan, without the draft of a problem.

    clears: further kernels, that clear arrays.
    """
    code = _device_code(source, {each.function.name for each in drafts})
    device = translate(code, names, masks=False).text
    device = _INCLUDES.sub(lambda line: line.group() if _HAS.fullmatch(line.group()) else "", device)
    for name, header in _TYPES_OF.items():  # a library's header brought it along
        if name in device and header not in device:
            device = device.replace(_RUNTIME, f"{_RUNTIME}#include <{header}>\n", 1)
    prelude = _warps() if _WARPS.search(device) else ""
    groups = _header("cooperative_reduce.h") if _GROUPS.search(source.text) else ""
    whole = _with_prelude(device, groups + prelude).strip()
    instances = dict.fromkeys(each.instance() for each in drafts)
    parts = [lines, whole, clears or drafts[0].clears(), *instances]
    said = list(by_hand)
    if prelude:
        said.append("warps of 32 lanes are kept by the functions at its top; whole waves may be faster")
    said += [f"the type {name} of the host was taken as float" for each in drafts for name in each.taken]
    return Candidate(drafts[0].function.name, "\n".join(filter(None, parts)) + "\n", "", "", tuple(said))


def with_numbers(draft: Draft, fixed: Mapping[str, str]) -> str:
    """The source with these parameters as constants of the kernel, and without them in its launch."""
    tokens, edits = draft.source.tokens, []
    given = arguments(tokens, draft.function.opened)
    constants = ""
    for parameter, (begin, end), passed in zip(draft.parameters, given, draft.launch.passed, strict=False):
        if parameter.name in fixed:
            constants += f" {parameter.declared} {parameter.name} = {fixed[parameter.name]};"
            for first, last in ((begin, end), passed):
                comma = tokens[first - 1] if tokens[first - 1].text == "," else tokens[first]
                edits.append((comma.start, tokens[last - 1].end, ""))
    at = tokens[draft.function.body].end
    edits.append((at, at, constants))
    text = draft.source.text
    for start, stop, by in sorted(edits, reverse=True):
        text = text[:start] + by + text[stop:]
    return text


def _warps() -> str:
    """Our functions of a warp of 32, and the names that lead to them, as text of the candidate."""
    functions = _header("cuda_warps.h").replace("static constexpr int warpSize = 32;\n", "")
    functions = functions.partition("namespace cooperative_groups {")[0]
    names = _header("cuda_warps_on.h")
    defines = "".join(line for line in names.splitlines(keepends=True) if line.startswith("#define __") and "(" in line)
    return f"{functions}{defines}#define warpSize 32\n"


def _header(name: str) -> str:
    return (folder("sandbox") / "port" / name).read_text().replace("#pragma once\n", "")


def _with_prelude(device: str, prelude: str) -> str:
    """`prelude` behind the last include."""
    found = list(re.finditer(r"^[ \t]*#[ \t]*include[^\n]*\n", device, re.M))
    end = found[-1].end() if found else 0
    return device[:end] + prelude + device[end:] if prelude else device


def _device_code(source: Source, kernels: set[str]) -> str:
    """The source without the host's functions, other kernels, and headers that a candidate cannot have."""
    tokens, parts, done = source.tokens, [], 0
    for each in source.functions:
        if each.device and (not each.kernel or each.name in kernels):
            continue
        start, end = tokens[each.start].start, tokens[min(each.end, len(tokens) - 1)].end
        if start >= done:
            parts.append(source.text[done:start])
            done = end
    return _LIBRARY.sub("", "".join([*parts, source.text[done:]]))
