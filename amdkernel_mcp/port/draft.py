"""What is known of one kernel and its launch: its parameters, the line of a plan, the draft of a problem."""

from __future__ import annotations

import itertools
import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from amdkernel_mcp.port.cuda_names import CudaNames
from amdkernel_mcp.port.for_problem import FLOATS, Bound, Parameter, bind
from amdkernel_mcp.port.functions import Function, Source
from amdkernel_mcp.port.host_code import HostArithmeticError, HostCode, Launch
from amdkernel_mcp.port.tokens import Token, arguments, closing, read_tokens
from amdkernel_mcp.problems.problem import Problem

_DTYPES = {
    "float": "f32", "double": "f64", "half": "f16", "__half": "f16", "__hip_bfloat16": "bf16", "int": "i32",
    "int32_t": "i32", "unsigned": "u32", "uint32_t": "u32", "uint": "u32", "long": "i64", "int64_t": "i64",
    "size_t": "u64", "uint64_t": "u64", "char": "i8", "int8_t": "i8", "uint8_t": "u8", "short": "i16",
}  # fmt: skip
_VECTOR = re.compile(r"^(float|double|int|uint|half|char|short)[234]$")
_WRITES = frozenset(["=", "+=", "-=", "*=", "/=", "|=", "&=", "^=", "++", "--"])
_SMALL, _ODD = 1024, 3  # a case of a draft: at most, and by how much the second one differs


@dataclass
class Draft:
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
        self.know({})

    def bind(self, problem: Problem) -> Bound:
        """Take a problem's arguments for the kernel's. Raises InputError where they do not fit."""
        roles = {each.name: self.role(each.name) for each in self.parameters if each.pointer}
        self.bound = bind(self.parameters, roles, self.source, self.launch, problem)
        self.know(self.bound.sizes)
        return self.bound

    def know(self, sizes: Mapping[str, str]) -> None:
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

    def configuration(self) -> tuple[str, list[str]]:
        """Grid, block and LDS as a plan has them, and what could not be read."""
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
        return f"{' '.join(parts)} lds={lds}", by_hand

    @property
    def called(self) -> str:
        """The kernel with its template's arguments, as a plan names it."""
        template = f"<{', '.join(self.launch.template)}>" if self.launch.template else ""
        return f"{self.function.name}{template}"

    def launch_line(self) -> tuple[str, list[str]]:
        """The lines of a plan that launch it, and what could not be read off the host's code."""
        sizes, by_hand = self.configuration()
        clears = ""
        if self.bound:
            by_hand += self.bound.guesses
            sizes += f" args=[{', '.join(self.bound.arguments)}]"
            for name, size in self.bound.cleared.items():
                given = self.bound.arguments[[each.name for each in self.parameters].index(name)]
                clears += f"\n{clear_line(name, given, size)}"
        line = f"// amdkernel: launch {self.called} {sizes}"
        return f"{clears}\n{line}".strip(), by_hand

    def clears(self) -> str:
        """Kernels that clear what the kernel adds to, as the host does."""
        text = ""
        for each in self.parameters:
            if self.bound and each.name in self.bound.cleared:
                text += f"\n{clear_kernel(each.name, each.declared)}"
        return text.strip()

    def instance(self) -> str:
        """The instance of a template that the plan launches."""
        if not self.launch.template:
            return ""
        types = ", ".join(each.declared for each in self.parameters)
        return f"template __global__ void {self.function.name}<{', '.join(self.launch.template)}>({types});"

    def problem(self) -> str:
        """problem.toml, with the shapes that the host allocates; the reference is for the user to write."""
        scalars = [each for each in self.parameters if not each.pointer]
        shapes: dict[str, str] = {}
        for parameter, (begin, end) in zip(self.parameters, self.launch.passed, strict=False):
            if parameter.pointer:
                shape = self.host.elements(self.source.tokens[begin:end])
                if shape is None:
                    self.guessed.append(parameter.name)
                    shape = " * ".join([each.name for each in scalars if each.dtype not in FLOATS][:2]) or "1"
                shapes[parameter.name] = shape
        passed = [each for each, _ in zip(self.parameters, self.launch.passed, strict=False)]
        values = {each.name: (self.value(each, 0), self.value(each, _ODD)) for each in scalars}
        return draft_of_problem(self.function.name, passed, self._roles(), shapes, values)

    def reference(self) -> str:
        """reference.py with the right parameters; it is for the user to finish, and fails until then."""
        return draft_of_reference(self.parameters, self._roles())

    def _roles(self) -> dict[str, str]:
        return {each.name: "in" if each.constant else self.role(each.name) for each in self.parameters if each.pointer}

    def role(self, name: str) -> str:
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

    def value(self, parameter: Parameter, less: int) -> str:
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


def clear_line(name: str, given: str, size: str) -> str:
    """The launch of `clear_kernel` on an array of so many elements."""
    return f"// amdkernel: launch clear_{name} grid=[ceil_div({size}, 256)] block=[256] args=[{given}, {size}]"


def clear_kernel(name: str, declared: str) -> str:
    """A kernel that clears an array, as the host does. declared: the type of the pointer."""
    head = f'extern "C" __global__ void clear_{name}({declared} to, int n)'
    return f"{head}\n{{\n    int i = blockIdx.x * 256 + threadIdx.x;\n    if (i < n)\n        to[i] = 0;\n}}"


def draft_of_problem(
    title: str,
    parameters: Sequence[Parameter],
    roles: Mapping[str, str],
    shapes: Mapping[str, str],
    values: Mapping[str, tuple[str, str]],
) -> str:
    """problem.toml. roles, shapes: of the arrays; values: of the scalars in both cases."""
    lines = [f'title = "{title}"', 'description = "what it computes"', ""]
    for each in parameters:
        dtype = each.dtype or "f32"
        lines += ["[[arguments]]", f'name = "{each.name}"', f'dtype = "{dtype}"']
        if each.pointer:
            role = roles[each.name]
            lines += [f'shape = ["{shapes[each.name]}"]', f'role = "{role}"']
            if role != "out":
                lines.append('init = "normal"' if dtype in FLOATS else 'init = "integers(0, 100)"')
        lines.append("")
    scalars = [each for each in parameters if not each.pointer]
    sized = any(each.dtype not in FLOATS for each in scalars)
    for case in (0, 1) if sized else (0,):
        lines += ["[[cases]]", *(f"{each.name} = {values[each.name][case]}" for each in scalars), ""]
    return "\n".join(lines)


def draft_of_reference(parameters: Sequence[Parameter], roles: Mapping[str, str]) -> str:
    """reference.py, which fails until the user has written what it returns."""
    taken = [each.name for each in parameters if each.pointer and roles[each.name] != "out"]
    scalars = [each.name for each in parameters if not each.pointer]
    head = ", ".join([*taken, "*", *scalars] if scalars else taken)
    what = ", ".join(each.name for each in parameters if each.pointer and roles[each.name] != "in")
    return (
        f'import numpy as np\n\n\ndef reference({head}):\n    raise NotImplementedError("return a dict with {what}")\n'
    )
