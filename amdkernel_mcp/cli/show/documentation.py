"""What `amdkernel docs` shows."""

from rich.console import Console
from rich.text import Text

from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.docs.evaluate import Evaluation
from amdkernel_mcp.results import ReadResult, SearchResult


def show_search(console: Console, result: SearchResult) -> None:
    """One block a section: where it stands, the words around the hit, how to read on."""
    if not result.results:
        console.print(Text(f"nothing was found for {result.query!r}", "yellow"))
    for hit in result.results:
        where = " ".join(filter(None, [hit.source, hit.version]))
        console.print(Text.assemble((f"{hit.rank:>2}  ", "dim"), (hit.heading, "bold"), (f"  {where}", "dim")))
        console.print(Text(f"    {' '.join(hit.snippet.split())}"))
        console.print(Text.assemble("    ", (f"amdkernel docs read {hit.ref}", "cyan")))
    for line in filter(None, [", ".join(result.applied), result.note]):
        console.print(Text(line, "dim"))


def show_reading(console: Console, result: ReadResult) -> None:
    """The text as it is, and how to go on."""
    console.print(Text(result.heading or result.title, "bold"))
    console.print(Text(result.url or f"{result.source}:{result.path}", "dim"))
    console.print()
    console.print(Text(result.text), soft_wrap=True)  # a page has its own lines; a pipe gets them as they are
    if result.next_start is not None:
        left = result.total_chars - result.next_start
        console.print(Text(f"\n{left:,} more characters: --start {result.next_start}", "dim"))


def show_evaluation(console: Console, evaluation: Evaluation) -> None:
    """One row for each kind of question, and one for all."""
    table = parts.table("questions", "", "in first 1", "in first 5", "in first 10", "MRR", "NDCG", numbers=range(1, 7))
    for kind, scores in [*evaluation.kinds.items(), ("all", evaluation.overall)]:
        shares = (scores.at1, scores.at5, scores.at10, scores.mrr, scores.ndcg)
        table.add_row(kind, str(scores.questions), *(f"{share:.3f}" for share in shares))
    console.print(table)
