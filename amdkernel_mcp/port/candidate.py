"""A kernel of a CUDA source as a candidate: its device code with a launch plan, and a draft of its problem."""

from __future__ import annotations

import itertools
import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.port.cuda_names import CudaNames
from amdkernel_mcp.port.for_problem import FLOATS, Bound, Parameter, bind
from amdkernel_mcp.port.functions import Function, Source
from amdkernel_mcp.port.host_code import HostArithmeticError, HostCode, Launch, launches
from amdkernel_mcp.port.tokens import Token, arguments, closing, joined_launches, read_tokens
from amdkernel_mcp.port.translate import translate
from amdkernel_mcp.problems.problem import Problem

_DTYPES = {
    "float": "f32", "double": "f64", "half": "f16", "__half": "f16", "__hip_bfloat16": "bf16", "int": "i32",
    "int32_t": "i32", "unsigned": "u32", "uint32_t": "u32", "uint": "u32", "long": "i64", "int64_t": "i64",
    "size_t": "u64", "uint64_t": "u64", "char": "i8", "int8_t": "i8", "uint8_t": "u8", "short": "i16",
}  # fmt: skip
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
_VECTOR = re.compile(r"^(float|double|int|uint|half|char|short)[234]$")
_WRITES = frozenset(["=", "+=", "-=", "*=", "/=", "|=", "&=", "^=", "++", "--"])
_SMALL, _ODD = 1024, 3  # a case of a draft: at most, and by how much the second one differs


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
        raise InputError(f"the source launches no kernel {kernel!r}", hint=f"it launches {known}")
    draft = _Draft(source, functions[-1], chosen[0], names)
    if problem is not None:
        bound = draft.bind(problem)
        if bound.fixed:
            return make_candidate(_with_numbers(draft, bound.fixed), names, kernel, problem)
    line, by_hand = draft.launch_line()
    code = _device_code(source, kernel)
    device = translate(code, names, masks=False).text
    device = _INCLUDES.sub(lambda line: line.group() if _HAS.fullmatch(line.group()) else "", device)
    for name, header in _TYPES_OF.items():  # a library's header brought it along
        if name in device and header not in device:
            device = device.replace(_RUNTIME, f"{_RUNTIME}#include <{header}>\n", 1)
    prelude = _warps() if _WARPS.search(device) else ""
    groups = _header("cooperative_reduce.h") if _GROUPS.search(source.text) else ""
    text = (
        "\n".join(
            filter(None, [line, _with_prelude(device, groups + prelude).strip(), draft.clears(), draft.instance()])
        )
        + "\n"
    )
    if prelude:
        by_hand.append("warps of 32 lanes are kept by the functions at its top; whole waves may be faster")
    by_hand += [f"the type {name} of the host was taken as float" for name in draft.taken]
    if problem is not None:
        return Candidate(kernel, text, "", "", tuple(by_hand))
    drafted = draft.problem()
    by_hand += [f"the shape of {name} is a guess: the host's allocation was not found" for name in draft.guessed]
    by_hand.append("reference.py: what the kernel computes, in NumPy")
    return Candidate(kernel, text, drafted, draft.reference(), tuple(by_hand))


def _with_numbers(draft: _Draft, fixed: Mapping[str, str]) -> str:
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


def _device_code(source: Source, kernel: str) -> str:
    """The source without the host's functions, other kernels, and headers that a candidate cannot have."""
    tokens, parts, done = source.tokens, [], 0
    for each in source.functions:
        if each.device and (not each.kernel or each.name == kernel):
            continue
        start, end = tokens[each.start].start, tokens[min(each.end, len(tokens) - 1)].end
        if start >= done:
            parts.append(source.text[done:start])
            done = end
    return _LIBRARY.sub("", "".join([*parts, source.text[done:]]))


@dataclass
class _Draft:
    """What is known of one kernel and its launch."""

    source: Source
    function: Function
    launch: Launch
    names: CudaNames
    parameters: list[Parameter] = field(init=False)
    host: HostCode = field(init=False)
    guessed: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    bound: Bound | None = None

    def __post_init__(self) -> None:
        tokens = self.source.tokens
        self.launch = replace(self.launch, template=tuple(map(self._given_type, self.launch.template)))
        self.parameters = [self._parameter(tokens[a:b]) for a, b in arguments(tokens, self.function.opened)]
        self._know({})

    def bind(self, problem: Problem) -> Bound:
        """Take a problem's arguments for the kernel's. Raises InputError where they do not fit."""
        roles = {each.name: self._role(each.name) for each in self.parameters if each.pointer}
        self.bound = bind(self.parameters, roles, self.source, self.launch, problem)
        self._know(self.bound.sizes)
        return self.bound

    def _know(self, sizes: Mapping[str, str]) -> None:
        """Read the host's code with its sizes by the kernel's names for them, or by these expressions."""
        tokens = self.source.tokens
        passed: dict[str, str] = {}
        for parameter, (begin, end) in zip(self.parameters, self.launch.passed, strict=False):
            if not parameter.pointer and parameter.dtype not in FLOATS:
                words = [each.text for each in tokens[begin:end]]
                called = sizes.get(parameter.name, parameter.name)
                called = called if called.isidentifier() or called.isdigit() else f"({called})"
                passed["".join(words)] = called
                if len(words) > 1 and words[-1].isidentifier():
                    passed.setdefault(words[-1], called)
        self.host = HostCode(self.source, self.launch, passed, self.bound.tensors if self.bound else None)

    def _given_type(self, word: str) -> str:
        """A template's argument without names of the host: a number, a type of the source, or float."""
        words = read_tokens(word)
        value = self.source.constants.value(words)
        if value is not None:
            return str(value)
        known = {*_DTYPES, "bool", "true", "false", "signed"}
        tokens = self.source.tokens
        known |= {
            after.text
            for before, after in itertools.pairwise(tokens)
            if before.text in ("struct", "class", "using", "enum") or after.text.startswith(("float", "double", "int"))
        }
        strange = [each.text for each in words if each.kind == "name" and each.text not in known]
        if strange and len(words) == 1:
            self.taken.append(word)
            return "float"
        return word

    def _template(self) -> Mapping[str, str]:
        """The template's parameters and what the launch gives for them."""
        tokens = self.source.tokens
        if tokens[self.function.start].text != "template":
            return {}
        names, depth = [], 0
        for place in range(self.function.start + 1, self.function.head):
            text = tokens[place].text
            depth += (text == "<") - (text == ">")
            if depth == 0:
                break
            if tokens[place + 1].text in (",", ">", "=") and depth == 1 and tokens[place].kind == "name":
                names.append(text)
        return dict(zip(names, self.launch.template, strict=False))

    def _parameter(self, words: Sequence[Token]) -> Parameter:
        given = self._template()
        texts = [given.get(each.text, each.text) for each in words]
        texts = [self.names.hip(each) or each for each in texts]
        pointer = "*" in texts or "[" in texts
        inside = next((each for each in reversed(texts) if each.isidentifier()), "x")
        name = f"{inside}_" if keyword.iskeyword(inside) else inside  # the reference takes it as well
        types = [each for text in texts[:-1] for each in text.split()]
        scalars = [_VECTOR.sub(r"\1", each) for each in types]  # a float4 is four f32
        dtype = next((_DTYPES[each] for each in scalars if each in _DTYPES and each != "unsigned"), None)
        if "unsigned" in types:
            dtype = {"i64": "u64", "i8": "u8", "i16": "u16"}.get(dtype or "", "u32")
        declared = " ".join(each for each in texts if each != inside and each not in ("__restrict__", "[", "]"))
        return Parameter(
            name, dtype, pointer, "const" in texts[: texts.index("*")] if "*" in texts else False, declared
        )

    def launch_line(self) -> tuple[str, list[str]]:
        by_hand: list[str] = []
        parts = []
        self.host.choose_block()
        for label, part in (("grid", 0), ("block", 1)):
            try:
                parts.append(f"{label}=[{', '.join(self.host.sizes(part))}]")
            except (HostArithmeticError, IndexError) as error:
                by_hand.append(f"{label}: the host computes it in a way that a launch plan cannot ({error})")
                parts.append(f"{label}=[1]")
        try:
            lds = self.host.lds().replace(" ", "")
        except HostArithmeticError as error:
            by_hand.append(f"lds: {error}")
            lds = "0"
        by_hand += [
            f"{name} is given by who calls the host's function: {size} is a guess"
            for name, size in self.host.assumed.items()
        ]
        template = f"<{', '.join(self.launch.template)}>" if self.launch.template else ""
        clears = ""
        if self.bound:
            by_hand += self.bound.guesses
            lds += f" args=[{', '.join(self.bound.arguments)}]"
            for name, size in self.bound.cleared.items():
                given = self.bound.arguments[[each.name for each in self.parameters].index(name)]
                sizes = f"grid=[ceil_div({size}, 256)] block=[256] args=[{given}, {size}]"
                clears += f"\n// amdkernel: launch clear_{name} {sizes}"
        line = f"// amdkernel: launch {self.function.name}{template} {' '.join(parts)} lds={lds}"
        return f"{clears}\n{line}".strip(), by_hand

    def clears(self) -> str:
        """Kernels that clear what the kernel adds to, as the host does."""
        text = ""
        for each in self.parameters:
            if self.bound and each.name in self.bound.cleared:
                to = f"{each.declared} to, int n"
                text += (
                    f'\nextern "C" __global__ void clear_{each.name}({to})\n{{\n'
                    "    int i = blockIdx.x * 256 + threadIdx.x;\n    if (i < n)\n        to[i] = 0;\n}"
                )
        return text.strip()

    def instance(self) -> str:
        """The instance of a template that the plan launches."""
        if not self.launch.template:
            return ""
        types = ", ".join(each.declared for each in self.parameters)
        return f"template __global__ void {self.function.name}<{', '.join(self.launch.template)}>({types});"

    def problem(self) -> str:
        """problem.toml, with the shapes that the host allocates; the reference is for the user to write."""
        lines = [f'title = "{self.function.name}"', 'description = "what it computes"', ""]
        scalars = [each for each in self.parameters if not each.pointer]
        for parameter, (begin, end) in zip(self.parameters, self.launch.passed, strict=False):
            lines += ["[[arguments]]", f'name = "{parameter.name}"', f'dtype = "{parameter.dtype or "f32"}"']
            if parameter.pointer:
                shape = self.host.elements(self.source.tokens[begin:end])
                if shape is None:
                    self.guessed.append(parameter.name)
                    shape = " * ".join([each.name for each in scalars if each.dtype not in FLOATS][:2]) or "1"
                role = "in" if parameter.constant else self._role(parameter.name)
                lines += [f'shape = ["{shape}"]', f'role = "{role}"']
                lines += ['init = "normal"'] * (role != "out" and (parameter.dtype or "f32") in FLOATS)
                lines += ['init = "integers(0, 100)"'] * (role != "out" and (parameter.dtype or "f32") not in FLOATS)
            lines.append("")
        sized = any(each.dtype not in FLOATS for each in scalars)
        for less in (0, _ODD) if sized else (0,):
            lines.append("[[cases]]")
            for parameter in scalars:
                lines.append(f"{parameter.name} = {self._value(parameter, less)}")
            lines.append("")
        return "\n".join(lines)

    def reference(self) -> str:
        """reference.py with the right parameters; it is for the user to finish, and fails until then."""
        arrays = [each.name for each in self.parameters if each.pointer]
        taken = [name for name in arrays if self._is_input(name)]
        scalars = [each.name for each in self.parameters if not each.pointer]
        head = ", ".join([*taken, "*", *scalars] if scalars else taken)
        what = ", ".join(name for name in arrays if not self._is_constant(name) and self._role(name) != "in")
        return (
            f"import numpy as np\n\n\ndef reference({head}):\n"
            f'    raise NotImplementedError("return a dict with {what}")\n'
        )

    def _is_constant(self, name: str) -> bool:
        return any(each.name == name and each.constant for each in self.parameters)

    def _is_input(self, name: str) -> bool:
        return self._is_constant(name) or self._role(name) != "out"

    def _role(self, name: str) -> str:
        """Whether the kernel reads it, writes it, or both."""
        tokens = self.source.tokens
        reads = writes = False
        for place in range(self.function.body, self.function.end):
            if tokens[place].text != name.rstrip("_") and tokens[place].text != name:
                continue
            if tokens[place - 1].text == "&" and tokens[place - 2].text == "(":
                return "inout"  # an atomic
            if tokens[place - 1].text == "(" and tokens[place - 2].text.startswith("atomic"):
                return "inout"
            end = place + 1
            if tokens[end].text == "[":
                end = closing(tokens, end) + 1
            elif tokens[place - 1].text != "*":
                continue
            writes = writes or tokens[end].text in _WRITES
            reads = reads or tokens[end].text != "="
        return "inout" if reads and writes else "in" if reads else "out"

    def _value(self, parameter: Parameter, less: int) -> str:
        if parameter.dtype in FLOATS:
            return "1.0" if not less else "0.5"
        place = self.parameters.index(parameter)
        begin, end = self.launch.passed[place] if place < len(self.launch.passed) else (0, 0)
        tokens = self.source.tokens[begin:end]
        value = self.source.constants.value(tokens)
        if value is None and len(tokens) == 1:
            given = self.host.given(tokens[0].text)
            value = self.source.constants.value(given) if given else None
        return str(max(1, min(value or _SMALL, _SMALL) - less))
