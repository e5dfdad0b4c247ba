"""clang's AMDGPU builtins: prototypes and required target features, read out of the compiler itself.

The compiler's builtin table is a run of strings: name, encoded type, attributes, features. Source of the encoding: the
head of clang's Builtins.def.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from amdkernel_mcp.errors import DocumentationError

_ONE = re.compile(
    r"(?P<constant>I?)(?P<before>(?:[ULSWZ]|V\d+)*)(?P<kind>Q.|[vbcsihxyfdz.])(?P<after>(?:\*\d*|[CDR&])*)"
)
_KINDS = {
    "v": "void", "b": "bool", "c": "char", "s": "short", "i": "int", "h": "__fp16", "x": "_Float16", "y": "__bf16",
    "f": "float", "d": "double", "z": "size_t", ".": "...", "Qb": "__amdgpu_buffer_rsrc_t", "Qt": "__amdgpu_texture_t",
}  # fmt: skip
_WIDTHS = {"L": "long", "LL": "long long", "W": "int64_t", "Z": "int32_t"}
# Source: LLVM AMDGPUUsage, "Address Spaces".
_SPACES = {"1": "__global", "2": "__region", "3": "__local", "4": "__constant", "5": "__private", "7": "buffer"}
_PREFIX = "__builtin_amdgcn_"


@dataclass(frozen=True)
class Builtin:
    """A builtin; `features` is clang's expression over target features, empty for none."""

    name: str
    prototype: str
    features: str

    @property
    def group(self) -> str:
        """The first part of its name, by which builtins are shown together."""
        return self.name.removeprefix(_PREFIX).partition("_")[0]

    @property
    def text(self) -> str:
        """The prototype as code, and what a target must have."""
        needs = self.features or "none (every amdgcn target has it)"
        return f"```cpp\n{self.prototype};\n```\n\nRequired target features: {needs}"


def read_builtins(table: str) -> list[Builtin]:
    """The builtins of lines of name, encoded type and features, with tabs between them; by name.

    Raises DocumentationError for a line of another form.
    """
    found = {}
    for line in table.splitlines():
        name, _, rest = line.partition("\t")
        encoded, tab, features = rest.partition("\t")
        if not tab or not name.startswith(_PREFIX):
            raise DocumentationError(f"a table of builtins was expected, not {line[:80]!r}")
        found[name] = Builtin(name, _prototype(name, encoded), features.replace(",", ", ").replace("|", " or "))
    return [found[name] for name in sorted(found)]


def pages(builtins: Iterable[Builtin]) -> Iterator[tuple[str, str]]:
    """File names and Markdown of a page for each group of builtins; groups of one or two share a page."""
    groups: dict[str, list[Builtin]] = defaultdict(list)
    for one in builtins:
        groups[one.group].append(one)
    small = [group for group, members in groups.items() if len(members) < 3]
    for group in small:
        groups["misc"] += groups.pop(group) if group != "misc" else []
    for group, members in sorted(groups.items()):
        sections = "\n\n".join(f"## {one.name}\n\n{one.text}" for one in members)
        yield f"{group}.md", f"# AMDGPU clang builtins: {group}\n\n{sections}\n"


def _prototype(name: str, encoded: str) -> str:
    types = [_type(found) for found in _ONE.finditer(encoded)]
    result, parameters = (types[0], types[1:]) if types else ("", [])
    return f"{result} {name}({', '.join(parameters)})".strip()


def _type(found: re.Match[str]) -> str:
    """`V4Ui*3` is `__local unsigned int x4 *`: a pointer to vectors of four in LDS."""
    before = found["before"]
    vector = re.search(r"V(\d+)", before)
    width = next((said for code, said in (("LL", "long long"), *_WIDTHS.items()) if code in before), "")
    kind = width if width and found["kind"] == "i" else f"{width} {_KINDS.get(found['kind'], found['kind'])}".strip()
    if "U" in before:
        kind = f"u{kind}" if kind.endswith("_t") else f"unsigned {kind}"
    kind = f"{kind} x{vector[1]}" if vector else kind
    space = re.search(r"\*(\d+)", found["after"])
    parts = [
        "constant" if found["constant"] else "",
        _SPACES.get(space[1], f"address_space({space[1]})") if space else "",
        "const" if "C" in found["after"] else "",
        "volatile" if "D" in found["after"] else "",
        kind,
        "*" * found["after"].count("*"),
    ]
    return " ".join(part for part in parts if part)
