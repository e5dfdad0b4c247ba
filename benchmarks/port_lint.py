"""The precision of the lint of CUDA: places of public sources that a person judged, and which of them it reports now.

`python benchmarks/port_lint.py [COLLECTION=FOLDER ...]`: a collection as the table names it, and its checkout. A place
is right where what the lint says of the code there is true. Without folders it prints what was judged, and of that what
the tokens alone and what clang's syntax tree reported; a tree needs the sandbox, so these are not looked at again. The
table has no text of these sources.
"""

import argparse
import csv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from amdkernel_mcp.port.lint import lint

JUDGED = Path(__file__).parent / "recorded" / "port_lint.csv"


@dataclass(frozen=True)
class Place:
    """A hit that was judged."""

    collection: str
    path: str
    line: int
    kind: str
    right: bool
    by: str  # tokens, tree


def judged() -> list[Place]:
    """All that was judged, by collection and path."""
    with JUDGED.open(newline="", encoding="utf-8") as file:
        return [
            Place(row["collection"], row["path"], int(row["line"]), row["class"], row["right"] == "yes", row["by"])
            for row in csv.DictReader(file)
        ]


def still_reported(places: list[Place], folders: dict[str, Path]) -> list[Place]:
    """Those that the lint reports in the checkouts that are here. Raises OSError for a file that is missing."""
    hits: dict[tuple[str, str], set[tuple[int, str]]] = {}
    for collection, path in {(each.collection, each.path) for each in places}:
        text = (folders[collection] / path).read_text(errors="replace")
        hits[collection, path] = {(hit.line, hit.kind) for hit in lint(text)}
    return [each for each in places if (each.line, each.kind) in hits[each.collection, each.path]]


def show(title: str, places: list[Place]) -> None:
    """The share that is right, and of which classes the others are."""
    right = sum(each.right for each in places)
    wrong = Counter(each.kind for each in places if not each.right)
    share = f"{right} of {len(places)} right, {100 * right / len(places):.1f} %" if places else "none"
    print(f"{title}: {share}" + "".join(f"; {kind} {count} wrong" for kind, count in wrong.most_common()))


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", metavar="COLLECTION=FOLDER")
    folders = {name: Path(folder) for name, _, folder in (each.partition("=") for each in parser.parse_args().folders)}
    places = judged()
    show("judged", places)
    for by in ("tokens", "tree"):
        show(f"by the {by}", [each for each in places if each.by == by])
    here = [each for each in places if each.collection in folders and each.by == "tokens"]
    if here:
        show("reported now", still_reported(here, folders))


if __name__ == "__main__":
    main()
