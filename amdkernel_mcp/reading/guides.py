"""Our own pages and the cookbook as guides: read by section, and found by what is asked."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.reading.asked import POSSIBLE, guides_for
from amdkernel_mcp.reading.cookbook import page_of, recipes
from amdkernel_mcp.results.documentation import Card, ReadResult, SectionRef
from amdkernel_mcp.search.formats.page import slug
from amdkernel_mcp.search.index.tokens import tokens
from amdkernel_mcp.search.read import read_card

ORIGIN = "amdkernel-mcp"
_MOST_POINTS = 3
_MOST_NEAR = 2


@dataclass(frozen=True)
class _Guide:
    page: str  # of docs/
    about: str
    words: str  # a pattern of words and phrases that only this guide explains


GUIDES = {
    "kernel": _Guide(
        "kernels.md",
        "how a kernel file looks: launch plan, workspaces, flags",
        r"launch (plan|line)|amdkernel: (launch|workspace|build)|workspace line|kernel (file|format)",
    ),
    "problem": _Guide(
        "problems.md",
        "how a problem is declared: problem.toml, reference.py, tolerance",
        r"problem\.toml|reference\.py|create_problem|own problem|held[ _-]out|drawn case|\[?(ranges|cases|arguments)\]"
        r"|problem (folder|file|format|declaration)|tolerance rule",
    ),
    "profile": _Guide(
        "profiling.md",
        "how to read a profile, and what each finding means",
        r"profile_kernel|reading a profile|profile page",
    ),
    "metrics": _Guide(
        "metrics.md",
        "what each counter, metric and time of a profile means",
        r"hot_lines|(emulated|modelled|static) (evidence|times?|counters?)",
    ),
    "errors": _Guide(
        "verdicts.md",
        "how each verdict is reached and what it means",
        r"verdicts?|not_(emulated|written|measured)|(unread|modified)_input|input_modified|state_between_launches"
        r"|missing_wait|uninitialised_read|non_deterministic|lds_over_limit|launch_plan|wrong_result|check_kernel",
    ),
    "from_cuda": _Guide(
        "from_cuda.md",
        "how CUDA becomes HIP, and what breaks on waves of 64",
        r"port_cuda|amdkernel port|keep[_-]warps|wave64_mistake",
    ),
    "tuning": _Guide(
        "tuning.md", "how to search values of a kernel", r"tune (lines?|values)|tune_kernel|amdkernel: tune"
    ),
}


def read_guide(ref: str, *, section: str | None, start: int, max_chars: int, find: str | None) -> ReadResult:
    """A piece of `guide:NAME` or `guide:NAME#section`. Raises DocumentationError, naming those that exist."""
    name, _, anchor = ref.removeprefix("guide:").partition("#")
    if name not in GUIDES and name not in recipes():
        raise DocumentationError(f"there is no guide {name[:50]!r}", hint=f"there are {_names()}")
    sections = _sections(name)
    wanted = section or anchor
    card = _card(name, _section(sections, wanted) if wanted else None)
    answer = read_card(card, start=start, max_chars=max_chars, find=find)
    listed = [SectionRef(heading=heading, ref=f"guide:{name}#{slug(heading)}") for heading in sections]
    return answer.model_copy(update={"sections": listed})


def guides_in(query: str) -> list[Card]:
    """The sections of ours that a query asks for; none where it has no word of ours."""
    found = []
    for name, guide in GUIDES.items():
        if re.search(rf"(?<![\w.])({guide.words})(?!\w)", query, re.IGNORECASE):
            found.append(_best(name, query))
    return found


def recipes_in(query: str) -> list[Card]:
    """The guide of the cookbook that answers a question, cut to what is nearest to it."""
    return [_answer(name, query) for name in guides_for(query)]


def guides_near(query: str) -> list[SectionRef]:
    """The guides of the cookbook that may be meant, where none is for sure."""
    names = guides_for(query, least=POSSIBLE, most=_MOST_NEAR)
    return [SectionRef(heading=f"{recipes()[name].title} (guide)", ref=f"guide:{name}") for name in names]


def _answer(name: str, query: str) -> Card:
    """Of a guide of the cookbook: the answer in short, what of its text is nearest to the question, when to use it."""
    recipe = recipes()[name]
    asked = set(tokens(query))
    said = [line for line in _points(page_of(name)) if line]
    nearest = sorted(said, key=lambda line: -len(asked & set(tokens(line))))[:_MOST_POINTS]
    card = _card(name, None)
    points = "\n".join(line for line in said if line in nearest)
    more = f"read_doc({card.ref!r}) has a whole kernel, checked for {', '.join(recipe.archs)}."
    return card.model_copy(update={"text": f"{recipe.short}\n\n{points}\n\n{recipe.when}\n\n{more}"})


def _points(page: str) -> list[str]:
    """The items of a page's lists outside its code and its sources, each in one line."""
    prose = re.sub(r"^```.*?^```|^## Sources.*?(?=^## |\Z)", "", page, flags=re.DOTALL | re.MULTILINE)
    return [" ".join(item.split()) for item in re.findall(r"^\* .+(?:\n  .+)*", prose, re.MULTILINE)]


def _names() -> str:
    ours = ", ".join(f"guide:{name} ({guide.about})" for name, guide in GUIDES.items())
    return f"{ours}; of the cookbook {', '.join(recipes())}"


def _text(name: str) -> str:
    if name in recipes():
        return page_of(name)
    return (folder("docs") / GUIDES[name].page).read_text(encoding="utf-8")


def _sections(name: str) -> dict[str, str]:
    """The parts of a guide by their headings; what is before the first `##` belongs to the title."""
    sections: dict[str, str] = {}
    heading, code = name, False
    for line in _text(name).splitlines():
        code ^= line.startswith("```")
        if not code and (found := re.match(r"#{1,3} (.+)", line)):
            heading = found[1].replace("`", "").strip()
        sections[heading] = f"{sections.get(heading, '')}{line}\n"
    return sections


def _section(sections: dict[str, str], wanted: str) -> tuple[str, str]:
    for heading, text in sections.items():
        if slug(wanted) in (slug(heading), slug(heading).strip("-")):
            return heading, text
    near = difflib.get_close_matches(wanted, sections, n=3, cutoff=0) or list(sections)[:3]
    raise DocumentationError(f"no section is called {wanted[:100]!r}", hint=f"the nearest are {', '.join(near)}")


def _card(name: str, section: tuple[str, str] | None) -> Card:
    title = next(iter(_sections(name)))
    heading, text = section or (title, _text(name))
    return Card(
        ref=f"guide:{name}#{slug(heading)}" if section else f"guide:{name}",
        kind="guide",
        name=name,
        title=title if heading == title else f"{title} > {heading}",
        text=text,
        origin=ORIGIN,
    )


def _best(name: str, query: str) -> Card:
    """The section with most of the query's words, those of its heading twice; the whole page where all are equal."""
    words = set(re.findall(r"[\w.]{3,}", query.lower()))

    def score(part: tuple[str, str]) -> int:
        heading, text = part[0].lower(), part[1].lower()
        return sum((word in text) + (word in heading) for word in words)

    sections = list(_sections(name).items())
    best = max(sections, key=score)
    return _card(name, best if score(best) > score(sections[0]) else sections[0])
