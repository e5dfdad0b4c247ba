"""What `amdkernel docs` shows."""

import re
from collections.abc import Iterator

from rich.console import Console
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.counted import counted
from amdkernel_mcp.results.documentation import Card, ReadResult, SearchResult
from amdkernel_mcp.search.library import ABSENT
from amdkernel_mcp.search.query.evaluate import Evaluation
from amdkernel_mcp.search.query.search import UNSURE

INDENT = 4
_READ_DOC = re.compile(r"read_doc\('([^']+)'\)")  # in texts that a model reads as well


def show_search(console: Console, result: SearchResult) -> None:
    """The cards of exact names, then one block a section: where it stands, the words around the hit, how to read on."""
    for line in result.applied:
        console.print(Text(line, "yellow"))
    said_first = result.note and result.note.startswith((UNSURE, ABSENT))  # unsure, or a name that nothing has
    if said_first:
        console.print(Text(result.note or "", "yellow"))
    for card in result.exact:
        show_card(console, card)
        console.print()
    for lesson in result.lessons:
        console.print(Text.assemble(("lesson  ", "magenta"), (lesson.text, "")))
        where = f"{lesson.kind} on {lesson.problem or 'no problem'}, {lesson.verdict}"
        command = (f"amdkernel docs read {lesson.ref}", "cyan")
        parts.print_whole(console, Text.assemble(" " * INDENT, command, f"  {where}"))
    if not result.results and not result.exact and not result.lessons:
        console.print(Text(f"nothing was found for {result.query!r}", "yellow"))
    for hit in result.results:
        where = " ".join(filter(None, [hit.source, hit.version]))
        console.print(Text.assemble((f"{hit.rank:>2}  ", "dim"), (hit.heading, "bold"), (f"  {where}", "dim")))
        console.print(Padding(Text(_paragraphs(hit.snippet)), (0, 0, 0, INDENT), expand=False))
        parts.print_whole(console, Text.assemble(" " * INDENT, (f"amdkernel docs read {hit.ref}", "cyan")))
        if hit.url:
            parts.print_whole(console, Text(f"{' ' * INDENT}{hit.url}", "dim"))
    for near in result.near:
        console.print(Text.assemble(("near  ", "magenta"), (near.heading, "")))
        parts.print_whole(console, Text(f"{' ' * INDENT}amdkernel docs read {near.ref}", "cyan"))
    if result.note and not said_first:
        console.print(Text(result.note, "dim"))


def show_card(console: Console, card: Card) -> None:
    """A card: what it is about, its text, where the facts come from."""
    console.print(Text.assemble((f"{card.kind:>2}  ", "magenta"), (card.title, "bold")))
    for block in _blocks(_READ_DOC.sub(r"amdkernel docs read \1", card.text)):
        console.print(Padding(block, (0, 0, 0, INDENT), expand=False))
    where = ", ".join(filter(None, [card.origin, card.version]))
    console.print(Text(f"{' ' * INDENT}{where}", "dim"))


def show_reading(console: Console, result: ReadResult) -> None:
    """The text as it is, and the command for the next piece."""
    console.print(Text(result.heading or result.title, "bold"))
    where = result.url or f"{result.source}:{result.path}"
    parts.print_whole(console, Text("  ".join(filter(None, [where, result.version])), "dim"))
    console.print()
    if console.is_terminal and result.ref.startswith(f"{result.source}:"):  # a card; a page is too long for tables
        for block in _blocks(result.text):
            console.print(block)
    else:
        console.print(Text(result.text), soft_wrap=True)  # a page has its own lines; a pipe gets them as they are
    if result.next_start is not None:
        left = result.total_chars - result.next_start
        console.print(Text(f"\n{counted(left, 'more character', grouped=True)}: --start {result.next_start}", "dim"))
    if result.note:
        console.print(Text(f"\n{result.note}", "dim"))


def show_evaluation(console: Console, evaluation: Evaluation) -> None:
    """One row for each kind of question, and one for all."""
    table = parts.table("questions", "", "in first 1", "in first 5", "in first 10", "MRR", "NDCG", numbers=range(1, 7))
    for kind, scores in [*evaluation.kinds.items(), ("all", evaluation.overall)]:
        shares = (scores.at1, scores.at5, scores.at10, scores.mrr, scores.ndcg)
        table.add_row(kind, str(scores.questions), *(f"{share:.3f}" for share in shares))
    console.print(table)


def _paragraphs(snippet: str) -> str:
    """Prose joined to lines of the terminal's width; code, lists and tables keep their lines."""
    blocks = []
    for block in snippet.split("\n\n"):
        keeps = any(
            line.lstrip().startswith(("-", "*", "|", "`", "#")) or line.startswith("  ") for line in block.split("\n")
        )
        blocks.append(block if keeps else " ".join(block.split()))
    return "\n".join(block for block in blocks if block.strip())


def _blocks(text: str) -> Iterator[Text | Table | Syntax]:
    """The parts of a card's Markdown as the terminal shows them: tables, code, and the rest as it is."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        end = at + 1
        if lines[at].startswith("```"):
            while end < len(lines) and not lines[end].startswith("```"):
                end += 1
            yield Syntax("\n".join(lines[at + 1 : end]), "cpp", background_color="default", word_wrap=True)
            end += 1
        elif lines[at].startswith("|"):
            while end < len(lines) and lines[end].startswith("|"):
                end += 1
            yield _table(lines[at:end])
        else:
            while end < len(lines) and not lines[end].startswith(("|", "```")):
                end += 1
            yield Text("\n".join(lines[at:end]).strip("\n"))
        at = end


def _table(rows: list[str]) -> Table:
    head, *body = ([cell.strip().replace("`", "") for cell in row.strip("|").split("|")] for row in rows)
    table = Table(*head, box=None, header_style="dim", pad_edge=False)
    for row in body:
        if not all(set(cell) <= set("-: ") for cell in row):
            table.add_row(*map(Text, row))
    return table
