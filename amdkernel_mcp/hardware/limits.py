"""The most that a launch may request. Source: HIP documentation, hardware features table; CDNA4 raised the LDS."""

LARGEST_BLOCK = 1024
"""Threads of a workgroup."""
LARGEST_GRID = 2**31 - 1
"""Workgroups in one dimension."""

_LDS_BYTES = {"gfx950": 160 << 10}
_DEFAULT_LDS_BYTES = 64 << 10


def lds_limit(arch: str) -> int:
    """Bytes of LDS that one workgroup may take."""
    return _LDS_BYTES.get(arch, _DEFAULT_LDS_BYTES)
