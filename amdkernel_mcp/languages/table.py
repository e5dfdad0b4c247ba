"""The languages, in the order in which a candidate is offered to them: ours, those of other packages, HIP."""

from typing import Final

from amdkernel_mcp.extensions import installed
from amdkernel_mcp.languages.assembly import Assembly, CodeObject
from amdkernel_mcp.languages.flydsl import FlyDsl
from amdkernel_mcp.languages.hip import Hip
from amdkernel_mcp.languages.language import Language
from amdkernel_mcp.languages.triton import Triton

HIP: Final[Language] = Hip()
LANGUAGES: Final[tuple[Language, ...]] = (CodeObject(), FlyDsl(), Triton(), Assembly())


def language_of(source: str, file_name: str) -> Language:
    """The language of a candidate: the first that says so; HIP takes the others. Raises InfrastructureError."""
    others = installed("languages", Language)  # type: ignore[type-abstract]
    return next((each for each in (*LANGUAGES, *others) if each.speaks(source, file_name)), HIP)
