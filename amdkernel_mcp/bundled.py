"""The folders that are installed with the package: `tools`, `docs_index`, `sandbox`, `examples`, `cookbook`.

In a checkout they are next to the package; in a wheel they are inside it (see `force-include` in pyproject.toml).
"""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """The bundled folder called `name`. Raises FileNotFoundError when the installation is incomplete."""
    for candidate in (_PACKAGE / "_bundled" / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"the installation of amdkernel-mcp lacks its folder {name!r}: reinstall it")
