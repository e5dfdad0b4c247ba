"""The card of a HIP name: its declaration, parameters, return values and errors, from this node's own headers."""

import re
from collections.abc import Sequence

from amdkernel_mcp.quoting import harmless
from amdkernel_mcp.results.documentation import Card
from amdkernel_mcp.search.cards.declarations import Declarations, Entry

_DEFAULT = re.compile(r"\s*__dparm\(([^()]*(?:\([^()]*\))?)\)")
_FENCE = re.compile(r"^```c(?:pp)?\n(.*?)\n```", re.DOTALL)
_PARAMETER = re.compile(r"^- (?:t?param)\s*(?P<way>\s\[[\w, ]+\])?\s*`?(?P<name>\w+)`?(?P<says>.*)$")
_OPENS = re.compile(r"^(Returns|See): ?(.*)$")
_ERROR = re.compile(r"\b(?:hipSuccess|hipError[A-Z]\w+|HIPRTC_[A-Z]\w+)\b")
_NO_ERRORS = ("hipSuccess", "HIPRTC_SUCCESS")
_URL = "https://rocm.docs.amd.com/projects/HIP/en/latest/reference/hip_runtime_api_reference.html"


def api_card(declarations: Declarations, name: str) -> Card | None:
    """The card, or None where the headers do not declare the name."""
    found = declarations.named(name)
    if not found:
        return None
    first = found[0]
    return Card(
        ref=f"api:{first.name}",
        kind="api",
        name=first.name,
        title=f"{first.name}: {_about(first)}",
        text=harmless(_text(found)),
        origin=_origin(declarations, first),
        version=declarations.compiler if first.kind == "builtin" else f"HIP {declarations.hip_version}",
        url=_URL if first.header in ("hip_runtime_api.h", "driver_types.h") and first.kind == "function" else None,
    )


def _origin(declarations: Declarations, entry: Entry) -> str:
    if entry.kind == "builtin":
        return f"the table of builtins of {declarations.compiler}"
    return f"{declarations.origin}: {entry.header}, line {entry.line}"


def _about(entry: Entry) -> str:
    return {"enumerator": "value of an enum", "builtin": "clang builtin"}.get(entry.kind, entry.kind)


def _text(entries: Sequence[Entry]) -> str:
    """The declarations in one block of code, parameters and returns, then what else the comments say."""
    declared: dict[str, None] = {}
    said: dict[str, None] = {}
    for entry in entries:
        code = _FENCE.match(entry.text)
        shown = _readable(code[1]) if code else ""
        # Overloads come a line each, and the headers declare some of them twice.
        declared.update(dict.fromkeys(shown.split("\n") if entry.kind == "function" else [shown]))
        said[entry.text[code.end() :].strip() if code else entry.text] = None
    parameters, returns, prose, see = _sorted("\n\n".join(said))
    errors = [error for error in dict.fromkeys(_ERROR.findall(returns)) if error not in _NO_ERRORS]
    parts = ["```cpp\n" + "\n".join(declared) + "\n```"]
    if parameters:
        parts.append("\n".join(["Parameters:", *parameters]))
    if returns:
        parts.append(f"Returns: {returns}" + (" (`error:NAME` names causes)" if errors else ""))
    parts += [prose, f"See also: {see}" if see else ""]
    return "\n\n".join(part for part in parts if part)


def _sorted(told: str) -> tuple[list[str], str, str, str]:
    """A comment's parameters, returns, other text, and the names it refers to."""
    kept: dict[str, list[str]] = {"parameter": [], "Returns": [], "prose": [], "See": []}
    now = "prose"
    for line in (raw.strip().replace("#hip", "hip").replace("#HIP", "HIP") for raw in told.split("\n")):
        parameter, opens = _PARAMETER.match(line), _OPENS.match(line)
        if parameter:
            now = "parameter"
            line = f"- {parameter['name']}{parameter['way'] or ''}: {parameter['says'].strip(' -')}".rstrip(": ")
        elif opens:
            now, line = opens[1], opens[2].strip()
        elif not line or line.startswith("```"):
            now = "prose"
        elif now == "parameter":
            kept[now][-1] += f" {line}"
            continue
        kept[now].append(line)
    prose = re.sub(r"\n{3,}", "\n\n", "\n".join(kept["prose"])).strip()
    return kept["parameter"], " ".join(kept["Returns"]), prose, " ".join(kept["See"])


def _readable(code: str) -> str:
    """Declarations with C++'s default arguments instead of HIP's macro for them."""
    return _DEFAULT.sub(r" = \1", code).replace("MAYBE_UNDEF ", "")
