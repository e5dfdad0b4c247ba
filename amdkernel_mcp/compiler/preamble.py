"""What a source sets before it reads the HIP headers: whether it includes them, and which macros it defines."""

import re
from dataclasses import dataclass

_DIRECTIVE = re.compile(
    r"^[ \t]*#[ \t]*(?:(?:define|undef)[ \t]+(?P<macro>[A-Za-z_]\w*)|include[ \t]*[<\"](?P<header>[^>\"\n]+)[>\"])",
    re.M,
)
_RUNTIME_HEADERS = ("hip/hip_runtime.h", "hip/hip_runtime_api.h")


@dataclass(frozen=True)
class Preamble:
    """`macros`: names set or unset before the last HIP header is included, so that the header may depend on them."""

    includes_runtime: bool
    macros: tuple[str, ...]


def read_preamble(source: str) -> Preamble:
    """Read from all directives, also in comments and branches not taken: one name too many costs only time."""
    macros: list[str] = []
    before_header: list[str] = []
    includes_runtime = False
    for directive in _DIRECTIVE.finditer(source):
        if name := directive["macro"]:
            macros.append(name)
        elif directive["header"].startswith("hip/"):
            includes_runtime = includes_runtime or directive["header"] in _RUNTIME_HEADERS
            before_header = list(macros)
    return Preamble(includes_runtime, tuple(dict.fromkeys(before_header)))
