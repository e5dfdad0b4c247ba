"""Which GPUs a text names: `AMDGPUAsmGFX940` and `MI300X` are of one family, gfx942."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any

from amdkernel_mcp.bundled import folder

_NAME = re.compile(
    r"gfx[0-9][0-9a-fx]*(?![0-9a-z])|(?<![a-z])mi[0-9]{3}[xa]?(?![0-9a-z])|[cr]dna ?[0-9]", re.IGNORECASE
)


def families_in(text: str) -> frozenset[str]:
    """The families that `text` names; a gfx name of no family stands for itself."""
    known = _members()
    names = (found[0].lower().replace(" ", "") for found in _NAME.finditer(text))
    return frozenset(known.get(name, name) for name in names if name in known or name.startswith("gfx"))


@cache
def vocabulary_table() -> Mapping[str, Any]:
    """docs_index/vocabulary.toml as it stands; read once, as a search at a shell needs it three times."""
    return tomllib.loads((folder("docs_index") / "vocabulary.toml").read_text(encoding="utf-8"))


@cache
def _members() -> dict[str, str]:
    """Family by name."""
    families = vocabulary_table()["families"]
    return {name.lower(): family for family, names in families.items() for name in [family, *names]}
