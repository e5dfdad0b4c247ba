"""How well search answers questions whose answers are known: success at k, MRR and NDCG, by kind of question."""

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.search.index.index import Index
from amdkernel_mcp.search.index.section_questions import stem_of
from amdkernel_mcp.search.index.weights import Weights
from amdkernel_mcp.search.query.query import ALL_ON, Switches
from amdkernel_mcp.search.query.search import Found, find

UNITS = 10
ASKED_RESULTS = 50
_JOINT = re.compile(r"[\s`*]+")


class Gold(BaseModel):
    """A section that answers a question; an empty heading is any section of the page."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    source: str
    path: str
    heading: str = ""


class Question(BaseModel):
    """A question, the same in other words, and all sections that answer it, each alone."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    id: str
    query: str
    also: list[str] = []
    kind: str = "all"
    gold: list[Gold] = []


@dataclass(frozen=True)
class Scores:
    """Means over questions; `at1`, `at5` and `at10` are the shares answered within so many sections."""

    questions: int
    at1: float
    at5: float
    at10: float
    mrr: float
    ndcg: float


@dataclass(frozen=True)
class Evaluation:
    """Scores of all questions and of each kind; `first` is the rank of each question's first hit, 0 for none."""

    overall: Scores
    kinds: dict[str, Scores]
    first: dict[str, int]


def load_questions(path: Path) -> list[Question]:
    """The questions of a JSON-lines file. Raises DocumentationError with the line that is wrong."""
    questions = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentationError(f"the questions cannot be read: {error}", file=str(path)) from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                row = json.loads(line)
                if isinstance(row, dict) and isinstance(row.get("id"), int):
                    row["id"] = str(row["id"])
                questions.append(Question.model_validate(row))
            except (json.JSONDecodeError, ValidationError):
                raise DocumentationError(
                    "a question is an object with `id` and `query` in one line", file=str(path), line=number
                ) from None
    return questions


def evaluate(
    index: Index,
    questions: Path | Sequence[Question],
    *,
    wordings: int = 1,
    switches: Switches = ALL_ON,
    weights: Weights | None = None,
) -> Evaluation:
    """Asks every question, in so many wordings, and scores the answers by the rule of the evaluation set."""
    asked = load_questions(questions) if isinstance(questions, Path) else questions

    def answer(question: Question) -> Sequence[Found]:
        also = question.also[: wordings - 1]
        return find(index, question.query, also=also, limit=ASKED_RESULTS, switches=switches, weights=weights).found

    return score_all(asked, answer)


def score_all(asked: Sequence[Question], answer: Callable[[Question], Sequence[Found]]) -> Evaluation:
    """Scores the sections that `answer` gives for each question, best first.

    Raises DocumentationError where there are no questions.
    """
    if not asked:
        raise DocumentationError("there are no questions to ask")
    rows: dict[str, list[tuple[int, float]]] = defaultdict(list)
    first: dict[str, int] = {}
    for question in asked:
        scored = _score(_answered(question, answer), question.gold)
        first[question.id] = scored[0]
        rows[question.kind].append(scored)
    every = [row for scored in rows.values() for row in scored]
    return Evaluation(_means(every), {kind: _means(rows[kind]) for kind in sorted(rows)}, first)


def _answered(question: Question, answer: Callable[[Question], Sequence[Found]]) -> Sequence[Found]:
    """The answer; empty where the question is refused."""
    try:
        return answer(question)
    except DocumentationError:
        return ()


def _means(rows: Sequence[tuple[int, float]]) -> Scores:
    count = len(rows)

    def share(k: int) -> float:
        return sum(1 for rank, _ in rows if 0 < rank <= k) / count

    reciprocal = sum(1 / rank for rank, _ in rows if rank) / count
    return Scores(count, share(1), share(5), share(10), reciprocal, sum(ndcg for _, ndcg in rows) / count)


def _score(found: Sequence[Found], gold: Sequence[Gold]) -> tuple[int, float]:
    """(rank of the first hit or 0, NDCG@10)."""
    units: dict[tuple[str, str, str], Found] = {}
    for one in found:
        units.setdefault((one.source, one.path, _plain(one.breadcrumb[-1])), one)
    first, gain = 0, 0.0
    taken: set[int] = set()
    for position, one in enumerate(list(units.values())[:UNITS], 1):
        matched = next((at for at, answer in enumerate(gold) if _answers(one, answer)), None)
        if matched is None:
            continue
        first = first or position
        if matched not in taken:
            taken.add(matched)
            gain += 1 / math.log2(position + 1)
    ideal = sum(1 / math.log2(position + 1) for position in range(1, min(len(gold), UNITS) + 1))
    return first, gain / ideal if ideal else 0.0


def _answers(one: Found, gold: Gold) -> bool:
    """Whether a hit, or the same entry in another version that it names, is the section."""
    if any(_answers(other, gold) for other in one.versions):
        return True
    if stem_of(one.path) != stem_of(gold.path) or not _is_source(one.source, gold):  # a page may change its format
        return False
    wanted = _plain(gold.heading)
    parts = [_plain(part) for part in one.breadcrumb]
    below = parts[1:] or parts
    # A heading that holds " > " itself is several neighbouring parts of a breadcrumb that was joined.
    joined = (" > ".join(below[a:b]) for a in range(len(below)) for b in range(a + 1, len(below) + 1))
    return not wanted or wanted in joined


def _is_source(source: str, gold: Gold) -> bool:
    """Whether the answer is of `source`, or a copy of its page: the index credits a copy to the source that its folder
    is called after."""
    return source == gold.source or any(folder.startswith(f"{source}-") for folder in gold.path.split("/")[:-1])


def _plain(heading: str) -> str:
    return _JOINT.sub(" ", heading).strip().lower()
