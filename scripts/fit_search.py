"""Chooses the weights of documentation search by cross-validation: `scripts/fit_search.py INDEX QUESTIONS.jsonl...`.

A family is a kind of question of one file (`typo` of ours, `isa` of the development set). The families are dealt into
folds; the weights for a fold are those that do best on the other folds. What is printed as cross-validated is the score
on questions that had no say in the choice. What is written to docs_index/weights.toml is the setting nearest to the
present one whose score over all folds is within one standard error of the best, so that noise moves nothing.

The weights of the columns are part of the index and stay as they are: give indexes built with others to compare them.
"""

import argparse
import random
import re
import statistics
from collections import defaultdict
from dataclasses import asdict, replace
from pathlib import Path

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.search.index.index import Index, open_index
from amdkernel_mcp.search.index.weights import Weights, chosen_weights
from amdkernel_mcp.search.query.evaluate import Question, evaluate, load_questions

FOLDS = 5
GRID: dict[str, tuple[float, ...]] = {
    "related": (0.2, 0.3, 0.4, 0.5),
    "heading": (0.0, 0.15, 0.25, 0.4),
    "other_gpu": (0.5, 0.6, 0.8),
    "same_gpu": (0.1, 0.2),
    "embeddings": (0.0, 0.1, 0.2, 0.3, 0.4),
}
RANDOM_SETTINGS = 24
WITHIN_FIVE = 5


def settings(present: Weights) -> list[Weights]:
    """The present weights, those that differ in one number, and some that differ in all; nearest first."""
    rng = random.Random(1)
    one = [replace(present, **{name: value}) for name, values in GRID.items() for value in values]
    several = [
        replace(present, **{name: rng.choice(values) for name, values in GRID.items()}) for _ in range(RANDOM_SETTINGS)
    ]
    return sorted(dict.fromkeys([present, *one, *several]), key=lambda weights: distance(weights, present))


def distance(weights: Weights, present: Weights) -> int:
    """How many numbers differ."""
    return sum(1 for name in GRID if getattr(weights, name) != getattr(present, name))


def scores(index: Index, questions: list[Question], weights: Weights) -> dict[str, float]:
    """The score of each question: half for its first five, half the reciprocal of its rank."""
    first = evaluate(index, questions, weights=weights).first
    return {name: ((0 < rank <= WITHIN_FIVE) + (1 / rank if rank else 0)) / 2 for name, rank in first.items()}


def families(files: list[Path]) -> tuple[list[Question], dict[str, list[str]]]:
    """All questions, their ids made unique, and the ids of each family."""
    questions, by_family = [], defaultdict(list)
    for file in files:
        for question in load_questions(file):
            named = question.model_copy(update={"id": f"{file.stem}/{question.id}"})
            questions.append(named)
            by_family[f"{file.stem}/{named.kind}"].append(named.id)
    return questions, by_family


def main() -> None:
    """Measure, choose, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index", type=Path)
    parser.add_argument("questions", type=Path, nargs="+")
    parser.add_argument("--write", action="store_true", help="write docs_index/weights.toml")
    given = parser.parse_args()
    questions, by_family = families(given.questions)
    present = chosen_weights()
    with open_index(given.index) as index:
        measured = {weights: scores(index, questions, weights) for weights in settings(present)}
    folds: list[list[str]] = [[] for _ in range(FOLDS)]
    for ids in sorted(by_family.values(), key=len, reverse=True):
        min(folds, key=len).extend(ids)

    def mean(weights: Weights, ids: list[str]) -> float:
        return statistics.fmean(measured[weights][one] for one in ids)

    held_out: list[float] = []
    for fold in folds:
        others = [one for other in folds if other is not fold for one in other]
        best = max(measured, key=lambda weights: mean(weights, others))
        held_out += [measured[best][one] for one in fold]
    every = [one.id for one in questions]
    best = max(measured, key=lambda weights: mean(weights, every))
    differences = [measured[best][one] - measured[present][one] for one in every]
    error = statistics.stdev(differences) / len(every) ** 0.5
    chosen = next(weights for weights in measured if mean(weights, every) >= mean(best, every) - error)
    print(f"{len(every)} questions, {len(by_family)} families, {FOLDS} folds, {len(measured)} settings")
    print(f"present weights {mean(present, every):.4f}; best {mean(best, every):.4f}; standard error {error:.4f}")
    print(f"cross-validated {statistics.fmean(held_out):.4f}")
    for name in GRID:
        print(f"  {name}: present {getattr(present, name)}, best {getattr(best, name)}, chosen {getattr(chosen, name)}")
    if given.write:
        file = folder("docs_index") / "weights.toml"
        text = file.read_text(encoding="utf-8")
        for name, value in asdict(chosen).items():
            text = re.sub(rf"^{name} = .*$", f"{name} = {value}", text, flags=re.MULTILINE)
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
