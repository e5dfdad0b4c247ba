"""Documentation search against LEX, FTS5 and bm25s on the same passages: `benchmarks/docs.py CORPUS QUESTIONS`.

Then a table of all sets of questions, with one wording and with more, and of misspelt names. Ours is all that an agent
waits for: aliases, spelling, glossary, ranking, snippets. The anchors have their default settings: the same passages in
one column, FTS5 with the tokenizer `unicode61`, bm25s with its English stop words and the Porter2 stemmer, and the text
of the best five is read.
"""

import argparse
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.search.index.build import build_index
from amdkernel_mcp.search.index.index import Index, breadcrumb, open_index, unpack_text
from amdkernel_mcp.search.index.tokens import words
from amdkernel_mcp.search.query.evaluate import ASKED_RESULTS, Question, Scores, evaluate, load_questions, score_all
from amdkernel_mcp.search.query.query import ALL_ON, Switches
from amdkernel_mcp.search.query.rank import Passage
from amdkernel_mcp.search.query.search import Found, find, found_of, search
from benchmarks.lex import Lex
from benchmarks.misspelt import answered
from benchmarks.paired import paired

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
SHOWN = 5
REWORDED = "docs_eval_dev2, part"
MISSPELT = 300
Anchor = Callable[[str, int], list[tuple[int, str]]]
"""The best passages for a query: (chunk, text), at most so many."""


def passages_of(index: Index) -> list[tuple[int, int, str]]:
    """(chunk, section, text with its breadcrumb) of every passage."""
    rows = index.connection.execute(
        "SELECT chunks.id, sections.id, start, finish, text, title, below FROM chunks"
        " JOIN sections ON sections.id = section JOIN pages ON pages.id = page ORDER BY chunks.id"
    )
    return [
        (chunk, section, " ".join([*breadcrumb(title, below), unpack_text(blob)[start:finish]]))
        for chunk, section, start, finish, blob, title, below in rows
    ]


def plain_fts5(passages: list[tuple[int, int, str]]) -> Anchor:
    """FTS5 with its defaults."""
    plain = sqlite3.connect(":memory:")
    plain.execute("CREATE VIRTUAL TABLE passages USING fts5 (text)")
    plain.executemany("INSERT INTO passages (rowid, text) VALUES (?, ?)", ((one[0], one[2]) for one in passages))
    statement = "SELECT rowid, text FROM passages WHERE passages MATCH ? ORDER BY rank LIMIT ?"

    def ask(query: str, most: int) -> list[tuple[int, str]]:
        match = " OR ".join(f'"{word}"' for word in words(query))
        return plain.execute(statement, (match, most)).fetchall()

    return ask


def bm25s_of(passages: list[tuple[int, int, str]]) -> Anchor:
    """bm25s as its README shows it."""
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    texts = [text for _, _, text in passages]
    retriever: Any = bm25s.BM25()
    retriever.index(bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)

    def ask(query: str, most: int) -> list[tuple[int, str]]:
        asked = bm25s.tokenize(query, stopwords="en", stemmer=stemmer, show_progress=False)
        found, _ = retriever.retrieve(asked, k=most, show_progress=False)
        return [(passages[at][0], texts[at]) for at in found[0]]

    return ask


def quality(index: Index, questions: list[Question], ask: Anchor, section_of: dict[int, int]) -> Scores:
    """How well an anchor answers, at section level."""

    def sections(question: Question) -> list[Found]:
        chosen = dict.fromkeys(section_of[chunk] for chunk, _ in ask(question.query, 2 * ASKED_RESULTS))
        return [found_of(index, Passage(0, section, 0, 0.0)) for section in chosen][:ASKED_RESULTS]

    return score_all(questions, sections).overall


def print_cost(path: Path, index: Index, questions: list[Question], anchors: dict[str, Anchor]) -> None:
    """Milliseconds of a cold open and of warm queries, and the ratios to the anchors."""
    opened, first = [], []
    for question in questions[:9]:
        began = time.perf_counter()
        fresh = open_index(path)
        opened.append((time.perf_counter() - began) * 1e3)
        search(fresh, question.query)
        first.append((time.perf_counter() - began) * 1e3)
        fresh.close()
    print(f"open: {statistics.median(opened):.1f} ms; with the first query: {statistics.median(first):.0f} ms")
    for question in questions:
        search(index, question.query)
    cpu, wall = [], []
    for question in questions:
        began, began_cpu = time.perf_counter(), time.process_time()
        search(index, question.query)
        wall.append((time.perf_counter() - began) * 1e3)
        cpu.append((time.process_time() - began_cpu) * 1e3)
    for name, spent in (("CPU", cpu), ("wall clock", wall)):
        high = statistics.quantiles(spent, n=20)[18]
        print(f"{name} of a warm query: median {statistics.median(spent):.1f} ms, 95 % below {high:.1f} ms")
    for name, ask in anchors.items():

        def ask_all(ask: Anchor = ask) -> list[object]:
            return [ask(question.query, SHOWN) for question in questions]

        ratio = paired(
            lambda: [search(index, question.query) for question in questions],
            anchor=ask_all,
            rounds=7,
        )
        print(
            f"{ratio.median:.2f} times {name} [{ratio.low:.2f}, {ratio.high:.2f}], {ratio.rounds} rounds;"
            f" {name} {ratio.anchor_s / len(questions) * 1e3:.1f} ms a question"
        )


def all_sets() -> dict[str, list[Question]]:
    """The sets of questions next to the checkout and our own; those with other wordings once more by themselves."""
    ours = folder("docs_index")
    files = [SHARED / "docs_eval_dev.jsonl", SHARED / "docs_eval_dev2.jsonl", *sorted(ours.glob("questions*.jsonl"))]
    sets = {file.stem: load_questions(file) for file in files if file.is_file()}
    lines = (ours / "wordings.jsonl").read_text(encoding="utf-8").splitlines()
    others = {row["id"]: row["also"] for row in map(json.loads, lines)}
    asked = [one for one in sets.get("docs_eval_dev2", []) if one.id in others]
    if asked:
        sets[REWORDED] = [one.model_copy(update={"also": others[one.id]}) for one in asked]
    return sets


def print_sets(index: Index) -> None:
    """A row for each set: LEX, ours without and with word vectors; then ours in more wordings, and misspelt names."""
    lex = Lex(index)
    lexical = Switches(embeddings=False)

    def baseline(question: Question) -> list[Found]:
        return [found_of(index, Passage(0, section, 0, 0.0)) for section in lex.sections(question.query)]

    asked = [one for one in all_sets().get(REWORDED, []) if one.also]
    spent = []
    for question in asked:
        began = time.process_time()
        search(index, question.query, also=question.also)
        spent.append((time.process_time() - began) * 1e3)
    if spent:
        print(f"CPU of a warm query in three wordings: median {statistics.median(spent):.1f} ms")
    print("@1 / @5 / @10                 LEX                    ours                   ours, word vectors")
    for name, questions in all_sets().items():
        rows = [score_all(questions, baseline).overall, evaluate(index, questions, switches=lexical).overall]
        rows.append(evaluate(index, questions).overall)
        print(f"{name[:22]:22} ({len(questions):3})  {'   '.join(map(shares, rows))}")
        if name == REWORDED:
            for wordings in (2, 3):
                told = [
                    evaluate(index, questions, wordings=wordings, switches=one).overall for one in (lexical, ALL_ON)
                ]
                print(f"  in {wordings} wordings                                     {'   '.join(map(shares, told))}")
    right = [first for _, _, first in answered(index, MISSPELT)]
    print(f"misspelt names of the HIP API: {sum(right)} of {len(right)} first")


def shares(scores: Scores) -> str:
    """@1 / @5 / @10."""
    return f"{scores.at1:.3f} / {scores.at5:.3f} / {scores.at10:.3f}"


def main() -> None:
    """Build, answer, time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path, nargs="?", default=SHARED / "rocm-docs.tar.zst")
    parser.add_argument("questions", type=Path, nargs="?", default=SHARED / "docs_eval_dev.jsonl")
    given = parser.parse_args()
    if not given.corpus.exists() or not given.questions.exists():
        print(f"docs search: skipped, {given.corpus} or {given.questions} is not there")
        return
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "docs.sqlite3"
        began, began_cpu = time.perf_counter(), time.process_time()
        report = build_index([given.corpus], path)
        spent = f"{time.perf_counter() - began:.0f} s, {time.process_time() - began_cpu:.0f} CPU-s"
        print(f"{report.pages} pages, {report.sections} sections, {report.chunks} passages")
        print(f"build: {spent}, {report.bytes / 1e6:.1f} MB")
        questions = load_questions(given.questions)
        with open_index(path) as index:
            passages = passages_of(index)
            anchors = {"plain FTS5": plain_fts5(passages), "bm25s": bm25s_of(passages)}
            print_cost(path, index, questions, anchors)
            section_of = {chunk: section for chunk, section, _ in passages}
            rows = {name: quality(index, questions, ask, section_of) for name, ask in anchors.items()}
            ours = score_all(questions, lambda one: find(index, one.query, limit=ASKED_RESULTS).found).overall
            for name, scores in [*rows.items(), ("amdkernel-mcp", ours)]:
                print(
                    f"{name:14} @1 {scores.at1:.3f}  @5 {scores.at5:.3f}  @10 {scores.at10:.3f}  MRR {scores.mrr:.3f}"
                )
            print_sets(index)


if __name__ == "__main__":
    main()
