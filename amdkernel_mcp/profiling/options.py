"""What the caller of a profile wants besides the profile."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amdkernel_mcp.kernel_source import is_attempt, read_kernel
from amdkernel_mcp.results.kernels import Focus


@dataclass(frozen=True)
class ProfileOptions:
    """`focus`: the topic of the diagnosis, None for all. The rest: with which other profile this one is compared."""

    focus: Focus | None = None
    compare_to: str | None = None
    """The text of another kernel for the same problem, or `attempt:ID`."""
    compare_file: str = "baseline.hip"
    """Its name, or the path of the recording."""
    compare_with_recording: bool = False
    case: str | None = None
    """In place of the problem's profile case, or largest."""
    fresh: bool = False
    """Nothing that was measured before is used."""

    def recorded(self) -> dict[str, Any]:
        """The options as a record keeps them; the other kernel's text is its baseline."""
        return {name: value for name in ("focus", "case") if (value := getattr(self, name))}


NO_OPTIONS = ProfileOptions()
KERNEL_SUFFIXES = frozenset({".hip", ".cpp", ".cu", ".cc", ".cxx", ".h", ".hpp", ".py", ".s", ".co", ".hsaco"})
"""Other files, and folders, are recordings."""


def options_for(focus: Focus | None, compare_to: Path | None) -> ProfileOptions:
    """To compare with the kernel or the recording of a path. Raises InputError for a kernel that cannot be read."""
    if compare_to is None:
        return ProfileOptions(focus)
    if is_attempt(str(compare_to)):
        return ProfileOptions(focus, str(compare_to), str(compare_to))
    if compare_to.suffix not in KERNEL_SUFFIXES:
        return ProfileOptions(focus, compare_file=str(compare_to), compare_with_recording=True)
    return ProfileOptions(focus, read_kernel(compare_to).source, compare_to.name)
