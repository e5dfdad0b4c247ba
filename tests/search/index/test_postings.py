"""The inverted index scores as FTS5 does."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from amdkernel_mcp.search.index.postings import SCHEMA, PostingsWriter, best_passages, documents_with

WORDS = [f"w{n}" for n in range(40)]
WEIGHTS = (2.0, 4.0, 1.0)


@pytest.fixture
def passages() -> list[tuple[list[str], list[str], list[str]]]:
    """Sixty passages of three columns; low numbers are frequent words."""
    rng = random.Random(7)

    def text(most: int) -> list[str]:
        return [WORDS[min(int(rng.expovariate(0.15)), 39)] for _ in range(rng.randint(0, most))]

    return [(text(3), text(4), text(40)) for _ in range(60)]


@contextmanager
def table_of(writer: PostingsWriter) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA)
        writer.write(connection)
        yield connection


@pytest.fixture
def ours(passages: list[tuple[list[str], list[str], list[str]]]) -> Iterator[sqlite3.Connection]:
    """Our table of them."""
    writer = PostingsWriter()
    for columns in passages:
        writer.add(zip(WEIGHTS, columns, strict=True))
    with table_of(writer) as connection:
        yield connection


def test_scores_are_those_of_fts5(
    ours: sqlite3.Connection, passages: list[tuple[list[str], list[str], list[str]]]
) -> None:
    with closing(sqlite3.connect(":memory:")) as fts5:
        fts5.execute("CREATE VIRTUAL TABLE p USING fts5 (a, b, c)")
        for number, columns in enumerate(passages, 1):
            fts5.execute("INSERT INTO p (rowid, a, b, c) VALUES (?, ?, ?, ?)", (number, *map(" ".join, columns)))
        for query in (["w20"], ["w9", "w25"], ["w12", "w17", "w30", "w5"]):
            expected = fts5.execute(
                "SELECT rowid, -bm25(p, 2.0, 4.0, 1.0) FROM p WHERE p MATCH ?", (" OR ".join(query),)
            ).fetchall()
            found = best_passages(ours, 60, dict.fromkeys(query, 1.0), 60)
            best = dict(sorted(expected, key=lambda row: -row[1])[: len(found)])
            assert len(found) >= 3
            assert found == pytest.approx(best, rel=1e-3)


def test_a_token_may_weigh_less_and_passages_may_be_left_out(ours: sqlite3.Connection) -> None:
    whole = best_passages(ours, 60, {"w20": 1.0}, 60)
    half = best_passages(ours, 60, {"w20": 0.5}, 60)
    assert half == pytest.approx({chunk: score / 2 for chunk, score in whole.items()})
    some = best_passages(ours, 60, {"w20": 1.0}, 60, within=[(1, 10), (30, 60)])
    assert some
    assert all(chunk <= 10 or chunk >= 30 for chunk in some)
    assert best_passages(ours, 60, {"w20": 1.0}, 2) == dict(list(whole.items())[:2])


def test_unknown_tokens_and_an_empty_index_find_nothing(ours: sqlite3.Connection) -> None:
    assert best_passages(ours, 60, {"nowhere": 1.0}, 5) == {}
    assert best_passages(ours, 60, {}, 5) == {}
    assert documents_with(ours, "nowhere") == 0
    with table_of(PostingsWriter()) as empty:
        assert best_passages(empty, 0, {"w1": 1.0}, 5) == {}


def test_a_column_beside_counts_and_makes_its_passage_no_longer() -> None:
    def scores(*asked: str) -> dict[int, float]:
        writer = PostingsWriter()
        writer.add([(1.0, ["lds", "bank"])], beside=(4.0, asked))
        for number in range(9):
            writer.add([(1.0, [f"other{number}", "word"])])
        with table_of(writer) as connection:
            return best_passages(connection, 10, {"bank": 1.0, "scratchpad": 1.0}, 5)

    assert scores("scratchpad")[1] > scores()[1], "its words are found"
    assert scores(*(f"more{n}" for n in range(30))) == pytest.approx(scores()), "and other questions cost nothing"
