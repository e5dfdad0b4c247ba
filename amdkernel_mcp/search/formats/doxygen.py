"""C and C++ headers to sections: one per function, enum, struct and error code, with its doxygen comment."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from amdkernel_mcp.quoting import visible
from amdkernel_mcp.search.formats.page import Page, Section

_DOC = re.compile(r"/\*[*!](?!\*+/)(.*?)\*/|((?:^[ \t]*//[/!](?!<)[^\n]*\n)+)", re.DOTALL | re.MULTILINE)
_GROUP = re.compile(r"[@\\](?:defgroup|addtogroup)[ \t]+(\w+)(?:[ \t]+([^\n*]+))?")
_IN_GROUP = re.compile(r"[@\\]ingroup[ \t]+(\w+)")
_STAR = re.compile(r"^[ \t]*(?:\*(?!/)[ \t]?|//[/!][ \t]?)", re.MULTILINE)
_COMMAND = re.compile(
    r"[@\\](param|tparam|returns?|retval|see|sa|note|warning|deprecated|brief|bug)\b(\[[^\]]*\])?[ \t]*"
)
_MARKUP = re.compile(
    r"[@\\](?:p|c|e|a|b|ref|link|endlink|em|code(?:\{[^}]*\})?|endcode|verbatim|endverbatim|li)\b[ \t]?"
)
_STRUCTURE = re.compile(
    r"[@\\](?:defgroup|addtogroup|ingroup|name|file|page|section|details|cond|endcond|internal)\b.*|[@\\][{}]"
)
_FUNCTION = re.compile(
    r"^[ \t]*((?:template\s*<[^;{}]*?>\s*)?(?:[\w:*&<>,\[\]()\" \t]+?[\s*&])??)((?:__)?[A-Za-z]\w*)\s*"
    r"(\((?:[^(){};]|\([^()]*\))*\))"
    r"[^;{}()]*(?:__attribute__\s*\(\(.*?\)\)\s*)?(?:;|\{)",
    re.DOTALL,
)
_TYPE = re.compile(r"^(?:typedef[ \t]+)?(enum|struct|union)\b(?:[ \t]+\w+)*[ \t]*(?::[^{;]*)?\{", re.MULTILINE)
_TYPE_NAME = re.compile(r"\b(?:enum|struct|union)\b(?:\s+__\w+__\([^)]*\))*\s+(\w+)")
_ENUMERATOR = re.compile(
    r"^\s*(hipError\w+|hipSuccess|HIPRTC_\w+)\s*=\s*(\d+)\s*,?[ \t]*(?:///?<[ \t]*(.*(?:\n\s*///?<.*)*))?", re.MULTILINE
)
_DEVICE = re.compile(
    r"^((?:template[ \t]*<[^\n]*>\s*)?(?:(?:static|inline|__host__|extern|constexpr|__hip_\w+|[A-Z_]{5,})\s+)*"
    r"__device__\s[^;{}#]{3,400}?)\s*[;{]",
    re.MULTILINE,
)
_DEVICE_NAME = re.compile(r"(\w+)\s*\((?:[^()]|\([^()]*\))*\)\s*(?:const)?$")
_NOT_FUNCTIONS = frozenset(("if", "while", "for", "switch", "return", "sizeof", "defined", "static_assert", "decltype"))
_SAID = {"return": "Returns", "returns": "Returns", "retval": "Returns", "see": "See", "sa": "See", "brief": ""}
_MISC = "Other declarations"
_LONGEST_TYPE_CHARS = 60_000


@dataclass(frozen=True)
class _Entry:
    name: str
    group: str
    text: str
    line: int


def parse_header(path: str, text: str) -> list[Page]:
    """A page for every doxygen group of the header `text`; `path` gets the group's name as its last part."""
    text = visible(text)
    titles = {name: title.strip(" */") for name, title in _GROUP.findall(text)}
    described = list(_functions(text))
    names = {entry.name for entry in described}
    entries = [*described, *(entry for entry in _device_functions(text) if entry.name not in names), *_types(text)]
    file_name = path.rsplit("/", 1)[-1]
    pages = []
    for group in dict.fromkeys(entry.group for entry in entries):
        title = f"{titles.get(group) or group} ({file_name})"
        chosen = _one_each(entry for entry in entries if entry.group == group)
        sections = tuple(Section((title, entry.name), entry.text, (entry.name,), entry.line) for entry in chosen)
        pages.append(Page(f"{path}/{group.replace(' ', '_')}", title, sections))
    return pages


def _one_each(entries: Iterator[_Entry]) -> list[_Entry]:
    """Overloads of one name in one entry."""
    merged: dict[str, _Entry] = {}
    for entry in entries:
        known = merged.get(entry.name)
        if known and entry.text in known.text:
            continue
        text = f"{known.text}\n\n{entry.text}".replace("\n```\n\n```cpp\n", "\n") if known else entry.text
        merged[entry.name] = _Entry(entry.name, entry.group, text, known.line if known else entry.line)
    return list(merged.values())


def _functions(text: str) -> Iterator[_Entry]:
    group, opened = _MISC, []
    for comment in _DOC.finditer(text):
        body = comment[1] or comment[2] or ""
        named, joined = _GROUP.search(body), _IN_GROUP.search(body)
        if named:
            group = named[1]
        if "@{" in body or "\\{" in body:
            opened.append(group)
        if "@}" in body or "\\}" in body:
            opened = opened[:-1]
            group = opened[-1] if opened else _MISC
        declared = _FUNCTION.match(_without_conditionals(text[comment.end() : comment.end() + 3000]).lstrip("\n"))
        if (
            declared
            and "operator" not in declared[1]
            and declared[2] not in _NOT_FUNCTIONS
            and (declared[1].strip() or declared[2].startswith("__"))
        ):
            signature = f"{' '.join((declared[1] + declared[2] + declared[3]).split())};"
            line = text.count("\n", 0, comment.end()) + 2
            described = f"```cpp\n{signature}\n```\n\n{description(body)}".rstrip()
            yield _Entry(declared[2], joined[1] if joined else group, described, line)


def _device_functions(text: str) -> Iterator[_Entry]:
    """Device functions without a doxygen comment: the declaration is all the documentation there is."""
    for found in _DEVICE.finditer(text):
        name = _DEVICE_NAME.search(found[1])
        if name and "operator" not in found[1] and name[1] not in _NOT_FUNCTIONS and len(name[1]) > 3:
            signature = " ".join(re.sub(r"//[^\n]*", "", found[1]).split())
            yield _Entry(
                name[1], "Device_functions", f"```cpp\n{signature};\n```", text.count("\n", 0, found.start()) + 1
            )


def _without_conditionals(text: str) -> str:
    return re.sub(
        r"^[ \t]*(?:#.*|//.*|DEPRECATED\(.*\)|HIP_PUBLIC_API.*|__HIP_NODISCARD)[ \t]*$\n?", "", text, flags=re.MULTILINE
    )


def description(comment: str) -> str:
    """The comment as text: parameters as a list, returns and see-also as sentences."""
    text = _STRUCTURE.sub("", _STAR.sub("", comment))
    lines = _COMMAND.sub(_command, text)
    lines = _MARKUP.sub("", lines).replace("::", "::")
    lines = "\n".join(line.rstrip() for line in lines.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip("\n /-")


def _command(found: re.Match[str]) -> str:
    name, direction = found[1], found[2] or ""
    if name in ("param", "tparam"):
        return f"- {name} {direction} ".replace("  ", " ")
    said = _SAID.get(name, name.capitalize())
    return f"{said}: " if said else ""


def _types(text: str) -> Iterator[_Entry]:
    for found in _TYPE.finditer(text):
        end = _closing(text, found.end())
        if not end:
            continue
        tail = re.match(r"\s*([\w,\s*]*);", text[end : end + 200])
        tag = _TYPE_NAME.search(found[0])
        name = (tail[1].split(",")[0].strip(" *") if tail and tail[1].strip() else "") or (tag[1] if tag else "")
        if not name or " " in name or end - found.start() > _LONGEST_TYPE_CHARS:
            continue
        line = text.count("\n", 0, found.start()) + 1
        declared = text[found.start() : end].strip()
        yield _Entry(name, "Types", f"```cpp\n{declared} {name};\n```", line)
        if found[1] == "enum":
            yield from _error_codes(declared, line, name)


def _closing(text: str, at: int) -> int:
    """The end of the block that was opened before `at`; 0 where it does not end."""
    depth = 1
    for brace in re.compile(r"[{}]").finditer(text, at, at + _LONGEST_TYPE_CHARS):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.end()
    return 0


def _error_codes(declared: str, line: int, enum: str) -> Iterator[_Entry]:
    for found in _ENUMERATOR.finditer(declared):
        words = " ".join(re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", found[1]))
        meaning = " ".join(re.sub(r"///?<", " ", found[3] or "").split())
        text = f"`{found[1]}` = {found[2]} ({words}), a value of `{enum}`. {meaning}".strip()
        yield _Entry(found[1], "Error_codes", text, line + declared.count("\n", 0, found.start(1)))
