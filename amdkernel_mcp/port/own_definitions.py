"""Functions that a program defines though HIP has them: both stay, the program's under a name of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable

_TWICE = re.compile(r"error: redefinition of '(\w+)'")


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
