"""The kernels in a code object: their symbols, how a plan may call them, and the sizes of their parameters.

Source: LLVM AMDGPUUsage, "Code Object Metadata"; Itanium C++ ABI, "External Names".
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from amdkernel_mcp.compiler.launch_needs import KEY, LaunchNeeds, needs_of_all, read_launch_needs
from amdkernel_mcp.errors import InputError

_NT_AMDGPU_METADATA = 32
_LENGTH = r"\d{1,9}"  # of a name; a symbol made to harm has more digits than int() takes
_BUILTIN_TYPES = {
    "v": "void", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "f": "float", "d": "double", "DF16_": "_Float16", "DF16b": "__bf16",
}  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """One parameter as the kernel reads it; an array is a pointer."""

    is_pointer: bool
    bytes: int


@dataclass(frozen=True)
class KernelSymbol:
    """One kernel of a code object. `parameters` leaves out the hidden ones."""

    symbol: str
    name: str  # as in the source, without namespaces and parameters: `scale<float, 4>`
    parameters: tuple[Parameter, ...]
    max_block: int
    static_lds_bytes: int
    needs: LaunchNeeds | None = None  # of a language whose compiler decides about the launch

    @property
    def base_name(self) -> str:
        """The name without template arguments."""
        return self.name.partition("<")[0]


def kernel_symbols(code_object: bytes) -> tuple[KernelSymbol, ...]:
    """All kernels of a code object, in its order."""
    import msgpack
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import NoteSection

    kernels: list[KernelSymbol] = []
    needs: dict[str, LaunchNeeds] = {}
    for section in ELFFile(io.BytesIO(code_object)).iter_sections():
        if section.name == KEY:
            needs = needs_of_all(section.data())
        if not isinstance(section, NoteSection):
            continue
        for note in section.iter_notes():
            if note["n_name"] != "AMDGPU" or _note_type(note["n_type"]) != _NT_AMDGPU_METADATA:
                continue
            description = note["n_descdata"]
            metadata = msgpack.unpackb(description, strict_map_key=False)
            kernels += [_kernel(entry) for entry in metadata.get("amdhsa.kernels", [])]
    return tuple(replace(each, needs=needs.get(each.symbol, each.needs)) for each in kernels)


def _note_type(value: int | str) -> int:
    return value if isinstance(value, int) else _NT_AMDGPU_METADATA if "METADATA" in value else -1


def _kernel(entry: dict[str, object]) -> KernelSymbol:
    arguments = entry.get(".args", [])
    parameters = tuple(
        Parameter(is_pointer=argument[".value_kind"] != "by_value", bytes=argument[".size"])
        for argument in (arguments if isinstance(arguments, list) else [])
        if not str(argument[".value_kind"]).startswith("hidden_")
    )
    symbol = str(entry[".name"])
    return KernelSymbol(
        symbol=symbol,
        name=source_name(symbol),
        parameters=parameters,
        max_block=_whole(entry.get(".max_flat_workgroup_size"), 1024),
        static_lds_bytes=_whole(entry.get(".group_segment_fixed_size"), 0),
        needs=read_launch_needs(entry),
    )


def _whole(value: object, default: int) -> int:
    return value if isinstance(value, int) else default


def find_kernel(kernels: Sequence[KernelSymbol], name: str) -> KernelSymbol | list[str]:
    """The kernel that a plan calls `name`; or, where none or several match, the names to choose from."""
    wanted = _tidy(name.rpartition("::")[2] if "<" not in name else name)
    for fits in (
        [kernel for kernel in kernels if kernel.symbol == name],
        [kernel for kernel in kernels if _tidy(kernel.name) == wanted],
        [kernel for kernel in kernels if kernel.base_name == wanted],
    ):
        if len(fits) == 1:
            return fits[0]
        if fits:
            names = [kernel.name for kernel in fits]
            return names if len(set(names)) == len(names) else [kernel.symbol for kernel in fits]
    return [kernel.name for kernel in kernels]


def symbols_called(name: str, symbols: Sequence[str]) -> list[str]:
    """The symbols of the kernels that a source calls `name`: without template arguments, of all instances.

    Raises InputError where there is none.
    """
    names = {symbol: _tidy(source_name(symbol)) for symbol in symbols}
    found = [symbol for symbol in symbols if _tidy(name) in (symbol, names[symbol], names[symbol].partition("<")[0])]
    if not found:
        known = ", ".join(source_name(symbol) for symbol in symbols) or "none"
        raise InputError(f"no kernel is called {name!r}", hint=f"the kernels of the file: {known}")
    return found


def _tidy(name: str) -> str:
    return re.sub(r"\s+", "", name.replace("__half", "_Float16").replace("unsigned int", "unsigned"))


def source_name(symbol: str) -> str:
    """The name in the source of a mangled kernel or variable, with simple template arguments; a C name is itself."""
    rest = symbol.removeprefix("_Z")
    if rest == symbol:
        return symbol
    if inner := _inner_name(symbol):
        return inner
    nested = rest.startswith("N")
    rest = rest[1:] if nested else rest
    name = ""
    while match := re.match(rf"L?({_LENGTH})", rest):
        length = int(match[1])
        name = rest[match.end() : match.end() + length]
        rest = rest[match.end() + length :]
        if not nested:  # what follows is the first parameter's type
            break
    if rest.startswith("I") and name:
        return name + _template_arguments(rest[1:])
    return name or symbol


def _inner_name(symbol: str) -> str | None:
    """The last name in the symbol of a static in a function, or of a static member of a template."""
    tail = {"_ZZ": r"(_\d|__\d+_)?", "_ZN": "E"}.get(symbol[:3])
    if tail is None:
        return None
    for begin in re.finditer(rf"EL?({_LENGTH})", symbol):
        end = begin.end() + int(begin[1])
        if end <= len(symbol) and re.fullmatch(tail, symbol[end:]):
            return symbol[begin.end() : end]
    return None


def _template_arguments(mangled: str) -> str:
    """`fLi4EE…` as `<float, 4>`; nothing for arguments that are more than a built-in type or an integer."""
    arguments: list[str] = []
    while mangled and not mangled.startswith("E"):
        if literal := re.match(r"L[a-z](n?)(\d+)E", mangled):
            arguments.append(("-" if literal[1] else "") + literal[2])
            mangled = mangled[literal.end() :]
        elif builtin := re.match(r"DF16_|DF16b|[a-z]", mangled):
            arguments.append(_BUILTIN_TYPES.get(builtin[0], builtin[0]))
            mangled = mangled[builtin.end() :]
        elif named := re.match(_LENGTH, mangled):
            end = named.end() + int(named[0])
            arguments.append(mangled[named.end() : end])
            mangled = mangled[end:]
        else:
            return ""
    return f"<{', '.join(arguments)}>"
