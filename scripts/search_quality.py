"""Writes the tables of docs_index/quality.md: `scripts/search_quality.py INDEX [QUESTIONS.jsonl...]`.

Search as it is and without each of its parts, on each set of questions: ours, and those that are given.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.search.index.index import Index, open_index
from amdkernel_mcp.search.query.evaluate import Evaluation, evaluate
from amdkernel_mcp.search.query.query import ALL_ON, Switches

PARTS = {
    "aliases": "CUDA aliases",
    "spelling": "spelling",
    "glossary": "glossary",
    "wildcards": "wildcards",
    "headings": "names as headings",
    "priors": "priors",
    "gpus": "GPUs of query and page",
    "twins": "showing equal sections once",
    "versions": "showing an entry's versions once",
    "embeddings": "embeddings",
}
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"


def table(index: Index, sets: dict[str, Path]) -> Iterator[str]:
    """Lines of Markdown: a row for each switch, then a row for each kind of question."""
    rows = {"**all parts**": ALL_ON} | {f"without {PARTS[name]}": Switches(**{name: False}) for name in PARTS}
    measured = {
        row: {name: evaluate(index, file, switches=switches) for name, file in sets.items()}
        for row, switches in rows.items()
    }
    counts = {name: one.overall.questions for name, one in measured["**all parts**"].items()}
    yield f"| @1 / @5 / @10, MRR, NDCG@10 | {' | '.join(f'{name} ({counts[name]})' for name in sets)} |\n"
    yield f"| --- |{' --- |' * len(sets)}\n"
    for row, by_set in measured.items():
        yield f"| {row} | {' | '.join(cell(by_set[name]) for name in sets)} |\n"
    yield "\nBy kind, @1 / @5:\n\n"
    yield f"| kind | {' | '.join(sets)} |\n| --- |{' --- |' * len(sets)}\n"
    whole = measured["**all parts**"]
    for kind in sorted({kind for one in whole.values() for kind in one.kinds}):
        cells = (whole[name].kinds.get(kind) for name in sets)
        shown = (f"{one.at1:.2f} / {one.at5:.2f} ({one.questions})" if one else "" for one in cells)
        yield f"| {kind} | {' | '.join(shown)} |\n"


def cell(one: Evaluation) -> str:
    """The means of an evaluation."""
    scores = one.overall
    return f"{scores.at1:.3f} / {scores.at5:.3f} / {scores.at10:.3f}, {scores.mrr:.3f}, {scores.ndcg:.3f}"


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index", type=Path)
    parser.add_argument("questions", type=Path, nargs="*")
    given = parser.parse_args()
    ours = folder("docs_index")
    sets = {file.stem.removeprefix("docs_eval_"): file for file in given.questions}
    sets |= {"ours": ours / "questions.jsonl", "check": ours / "questions_check.jsonl"}
    sets["plain"] = ours / "questions_plain.jsonl"
    with open_index(given.index) as index:
        lines = "".join(table(index, sets))
    page = ours / "quality.md"
    text = page.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    page.write_text(f"{before}{BEGIN}{lines}{END}{after}", encoding="utf-8")
    print(lines, end="")


if __name__ == "__main__":
    main()
