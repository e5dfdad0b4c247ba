"""Documentation search beside plain FTS5 on the same corpus: `benchmarks/search.py CORPUS QUESTIONS.jsonl`.

Ours is all that an agent waits for: aliases, spelling, glossary, ranking, snippets. The anchor is FTS5 as it comes:
the same passages in one column, tokenizer `unicode61`, BM25, the text of the best five read.
"""

import argparse
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

from amdkernel_mcp.docs.build import build_index
from amdkernel_mcp.docs.evaluate import Question, evaluate, load_questions
from amdkernel_mcp.docs.index import Index, breadcrumb, open_index, unpack_text
from amdkernel_mcp.docs.query import Switches
from amdkernel_mcp.docs.search import search
from amdkernel_mcp.docs.tokens import words
from benchmarks.paired import paired

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def plain_fts5(index: Index) -> sqlite3.Connection:
    """The same passages in a table of one column."""
    plain = sqlite3.connect(":memory:")
    plain.execute("CREATE VIRTUAL TABLE passages USING fts5 (text)")
    rows = index.connection.execute(
        "SELECT chunks.id, start, finish, text, title, below FROM chunks JOIN sections ON sections.id = section"
        " JOIN pages ON pages.id = page"
    )
    for chunk, start, finish, blob, title, below in rows:
        text = " ".join([*breadcrumb(title, below), unpack_text(blob)[start:finish]])
        plain.execute("INSERT INTO passages (rowid, text) VALUES (?, ?)", (chunk, text))
    return plain


def ask_plain(plain: sqlite3.Connection, query: str) -> list[str]:
    """The five best passages by plain BM25."""
    match = " OR ".join(f'"{word}"' for word in words(query))
    statement = "SELECT text FROM passages WHERE passages MATCH ? ORDER BY rank LIMIT 5"
    return [row[0] for row in plain.execute(statement, (match,))]


def print_quality(index: Index, questions: list[Question]) -> None:
    """A row for search as it is, and one for search without each of its parts."""
    rows = {"all parts": Switches()} | {
        f"without {name}": Switches(**{name: False}) for name in Switches.__dataclass_fields__
    }
    print(f"{'section level':22} {'@1':>6} {'@5':>6} {'@10':>6} {'MRR':>6} {'NDCG':>6}")
    for name, switches in rows.items():
        scores = evaluate(index, questions, switches=switches).overall
        measured = (scores.at1, scores.at5, scores.at10, scores.mrr, scores.ndcg)
        print(f"{name:22} {' '.join(f'{one:6.3f}' for one in measured)}")


def print_cost(path: Path, questions: list[Question]) -> None:
    """Milliseconds of a cold open and of warm queries."""
    began = time.perf_counter()
    with open_index(path) as fresh:
        search(fresh, questions[0].query)
        print(f"open and first query: {(time.perf_counter() - began) * 1e3:.0f} ms")
        for question in questions:
            search(fresh, question.query)
        spent = []
        for question in questions:
            began = time.process_time()
            search(fresh, question.query)
            spent.append((time.process_time() - began) * 1e3)
        quantiles = statistics.quantiles(spent, n=20)
        print(f"CPU per warm query: median {statistics.median(spent):.1f} ms, 95 % below {quantiles[18]:.1f} ms")
        plain = plain_fts5(fresh)
        ratio = paired(
            lambda: [search(fresh, question.query) for question in questions],
            anchor=lambda: [ask_plain(plain, question.query) for question in questions],
            rounds=9,
        )
        print(
            f"{ratio.median:.2f} times plain FTS5 [{ratio.low:.2f}, {ratio.high:.2f}], {ratio.rounds} rounds;"
            f" plain {ratio.anchor_s / len(questions) * 1e3:.1f} ms a question"
        )


def main() -> None:
    """Build, evaluate, time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path, nargs="?", default=SHARED / "rocm-docs.tar.zst")
    parser.add_argument("questions", type=Path, nargs="?", default=SHARED / "docs_eval_dev.jsonl")
    given = parser.parse_args()
    if not given.corpus.exists() or not given.questions.exists():
        print(f"docs search: skipped, {given.corpus} or {given.questions} is not there")
        return
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "docs.sqlite3"
        began = time.process_time()
        report = build_index([given.corpus], path)
        print(f"{report.pages} pages, {report.sections} sections, {report.chunks} passages")
        print(f"build: {time.process_time() - began:.1f} CPU-s, {report.bytes / 1e6:.1f} MB")
        questions = load_questions(given.questions)
        print_cost(path, questions)
        with open_index(path) as index:
            print_quality(index, questions)


if __name__ == "__main__":
    main()
