"""The languages, in the order in which a candidate is offered to them."""

from typing import Final

from amdkernel_mcp.languages.assembly import Assembly, CodeObject
from amdkernel_mcp.languages.hip import Hip
from amdkernel_mcp.languages.language import Language
from amdkernel_mcp.languages.triton import Triton

HIP: Final[Language] = Hip()
LANGUAGES: Final[tuple[Language, ...]] = (CodeObject(), Triton(), Assembly(), HIP)


def language_of(source: str, file_name: str) -> Language:
    """The language of a candidate: the first that says so."""
    return next(language for language in LANGUAGES if language.speaks(source, file_name))
