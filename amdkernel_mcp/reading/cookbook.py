"""The cookbook: a page of how to write one kind of kernel, made of prose, checked kernels, and figures of our tables.

Facts of architectures come from the cards, lane layouts from the table of matrix instructions, and counts from
`figures.tsv`, which the tests write: a page cannot contradict any of them. The format: cookbook/README.md.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.search.cards.architecture import facts_of
from amdkernel_mcp.search.cards.matrix import by_spelling
from amdkernel_mcp.search.cards.matrix_layout import layout_lines

KERNELS = ("naive", "good")
_PLACE = re.compile(r"\{\{([^{}]+)\}\}")


@dataclass(frozen=True)
class Recipe:
    """A folder of cookbook/: its text, what its page is made of besides, and the questions that it answers."""

    name: str
    title: str
    when: str
    short: str
    archs: tuple[str, ...]
    facts: tuple[str, ...]
    layouts: tuple[str, ...]
    lower: tuple[str, ...]
    higher: tuple[str, ...]
    asked: tuple[str, ...]
    prose: str

    @property
    def path(self) -> Path:
        """Its folder, which is a problem folder too."""
        return folder("cookbook") / self.name

    def kernel(self, which: str) -> str:
        """The source of `naive` or `good`."""
        return (self.path / f"{which}.hip").read_text(encoding="utf-8")

    def counters(self) -> list[str]:
        """The counters that the guide shows: of its table, and quoted in its text."""
        quoted = (place.partition(":") for place in _PLACE.findall(self.prose))
        named = [what.strip() for of, _, what in quoted if of.strip() in KERNELS]
        return list(dict.fromkeys([*self.lower, *self.higher, *named]))

    def figures(self) -> dict[tuple[str, str], float]:
        """What a profile counted on the first architecture, by (kernel, counter)."""
        rows = (self.path / "figures.tsv").read_text(encoding="utf-8").splitlines()[1:]
        counted = (row.split("\t") for row in rows)
        return {
            (kernel, counter): float(value)
            for counter, *values in counted
            for kernel, value in zip(KERNELS, values, strict=True)
        }


@cache
def recipes() -> dict[str, Recipe]:
    """Every guide of the cookbook by its name."""
    found = (_read(file) for file in sorted(folder("cookbook").glob("*/guide.md")))
    return {one.name: one for one in found}


def _read(file: Path) -> Recipe:
    front: dict[str, Any] = tomllib.loads(file.with_name("guide.toml").read_text(encoding="utf-8"))
    return Recipe(
        name=file.parent.name,
        title=front["title"],
        when=front["when"],
        short=front["short"],
        archs=tuple(front["archs"]),
        facts=tuple(front.get("facts", ())),
        layouts=tuple(front.get("layouts", ())),
        lower=tuple(front.get("lower", ())),
        higher=tuple(front.get("higher", ())),
        asked=tuple(file.with_name("asked.txt").read_text(encoding="utf-8").splitlines()),
        prose=file.read_text(encoding="utf-8"),
    )


@cache
def page_of(name: str) -> str:
    """The page as Markdown: when, in short, the kernel, what it gains, how, facts, the naive kernel, the problem."""
    one = recipes()[name]
    prose = _PLACE.sub(lambda place: _said(one, place[1].strip()), one.prose)
    how, _, mistakes = prose.strip().partition("## Common mistakes")
    parts = [
        f"# {one.title}\n\n{one.when}\n\n{one.short}",
        f"## The kernel\n\nCompiled and checked on the emulator for {', '.join(one.archs)}.\n\n{_code(one, 'good')}",
        f"## What it gains\n\n{_gains(one)}",
        how.strip(),
        f"## Common mistakes\n\n{mistakes.strip()}",
        *_layouts(one),
        *_facts(one),
        f"## The naive kernel\n\n{_code(one, 'naive')}",
        f"## The problem\n\n{_problem(one)}",
    ]
    return "\n\n".join(parts) + "\n"


def _said(one: Recipe, asked: str) -> str:
    """What stands for `{{gfx942: LDS banks}}`, a fact, or `{{good: SQ_INSTS_LDS}}`, a count."""
    of, _, what = (part.strip() for part in asked.partition(":"))
    return shown(one.figures()[of, what]) if of in KERNELS else facts_of(of)[what]


def shown(value: float) -> str:
    """A count as a person reads it."""
    return f"{value:,.0f}" if value == int(value) else f"{value:.3g}"


def _code(one: Recipe, which: str) -> str:
    return f"```cpp\n{one.kernel(which).strip()}\n```"


def _gains(one: Recipe) -> str:
    figures = one.figures()
    rows = [
        f"| {counter} | {shown(figures['naive', counter])} | {shown(figures['good', counter])} |"
        for counter in (*one.lower, *one.higher)
    ]
    head = f"Counted on emulator:{one.archs[0]} for the profile case of the problem below.\n"
    return "\n".join([head, "| counter | naive | this kernel |", "| --- | --- | --- |", *rows])


def _layouts(one: Recipe) -> Iterator[str]:
    if not one.layouts:
        return
    lines = ["## Lane layouts", "", "From the isa cards; `/` divides integers. `read_doc('isa:NAME')` shows more."]
    for spelling in one.layouts:
        for instruction in by_spelling()[spelling]:
            for form in instruction.forms:
                if form.arch in one.archs and form.wave in (64, 32):
                    busy = f", {form.cycles} cycles" if form.cycles else ""
                    lines += ["", f"`{form.builtin}` on {form.arch}, wave{form.wave}{busy}:"]
                    lines += layout_lines(instruction, form)
    yield "\n".join(lines)


def _facts(one: Recipe) -> Iterator[str]:
    if not one.facts:
        return
    told = {arch: facts_of(arch) for arch in one.archs}
    rows = [f"| {what} | {' | '.join(told[arch].get(what, '-') for arch in one.archs)} |" for what in one.facts]
    yield "\n".join(
        [
            "## Facts of each architecture",
            "",
            "From the arch cards (`read_doc('arch:gfx942')`), which name the sources.",
            "",
            f"| what | {' | '.join(one.archs)} |",
            f"| --- |{' --- |' * len(one.archs)}",
            *rows,
        ]
    )


def _problem(one: Recipe) -> str:
    texts = {name: (one.path / name).read_text(encoding="utf-8").strip() for name in ("problem.toml", "reference.py")}
    return (
        "`create_problem` stores these two texts under a name for check_kernel.\n\n"
        f"```toml\n{texts['problem.toml']}\n```\n\n```python\n{texts['reference.py']}\n```"
    )
