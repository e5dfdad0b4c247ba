"""Whether the workgroups of a code object can communicate: then its result may hang on their order."""

import re

# Atomics on memory; loads that pass the caches by, as volatile and atomic ones do; waiting in a loop.
# Source of the bits: LLVM's AMDGPU memory model, "Memory Model" tables of gfx90a, gfx942, gfx10-11 and gfx12.
_COMMUNICATES = re.compile(
    r"^\t(?:(?:global|flat|buffer)_atomic_|s_atomic_|s_sleep\b"
    r"|(?:global|flat|buffer)_load_[^/\n]*\b(?:sc1|glc|scope:SCOPE_(?:DEV|SYS))\b)",
    re.M,
)


def communicates(disassembly: str) -> bool:
    """Whether the code has atomics on memory, or loads that see what another workgroup has just stored."""
    return _COMMUNICATES.search(disassembly) is not None
