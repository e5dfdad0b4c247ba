"""Whether an entry says the same in two versions of its source."""

import re

_DEFAULT = re.compile(r"__dparm\([^)]*\)|=[^,]*")
_TYPED = re.compile(r"\w\s*[*&]|\w\s+\w")
_QUALIFIER = re.compile(r"\b(?:static|inline|extern|__host__|__device__|struct|enum|(?<=unsigned )int)\b")
_RESULT = re.compile(r"\s*\w[\w*& ]*")
_WORD = re.compile(r"\w+")


def compared(name: str, shown: str, other: str) -> str:
    """`same` where both texts declare `name` alike or say the same words; else `differs`.

    The words of two generators of documentation differ where the declaration does not, so it decides where both
    have one. Default values do not count.
    """
    declared, before = _declaration(name, shown), _declaration(name, other)
    if declared and before:
        return "same" if declared == before else "differs"
    return "same" if _WORD.findall(shown.lower()) == _WORD.findall(other.lower()) else "differs"


def _declaration(name: str, text: str) -> tuple[str, ...] | None:
    """Result and parameters of the first C declaration of `name`, without spaces; one with parameters comes first."""
    bare = None
    for found in re.finditer(rf"\b{re.escape(name)}[ \t]*\(", text):
        line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
        parameters = _in_brackets(text, found.end())
        if not _RESULT.fullmatch(line):
            continue
        if _TYPED.search(parameters):
            parts = [line, *_DEFAULT.sub("", parameters).split(",")]
            return tuple("".join(_QUALIFIER.sub("", one).split()) for one in parts)
        if parameters.strip() in ("", "void"):
            bare = bare or (line.strip(),)
    return bare


def _in_brackets(text: str, start: int) -> str:
    """What is in the bracket that opens before `start`."""
    depth = 1
    for at in range(start, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if not depth:
            return text[start:at]
    return text[start:]
