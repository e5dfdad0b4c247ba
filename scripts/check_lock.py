"""Each lock is closed: whatever a locked package requires, extras and markers included, has a locked version that fits.

Then `pip install --no-deps` installs all that is needed, and a package that is published tomorrow changes nothing. The
requirements come from the metadata of the packages that are installed here, which `make lint` installs from the lock.
"""

import sys
import tomllib
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
Environment = dict[str, str | AbstractSet[str]]


def environments() -> Iterator[Environment]:
    """What markers may see on the machines that the README names."""
    here = {name: str(value) for name, value in default_environment().items()}
    for python in PYTHONS:
        for machine in MACHINES:
            yield {**here, "python_version": python, "python_full_version": f"{python}.0", "platform_machine": machine}


def read_lock(lock: Path) -> list[Requirement]:
    """One requirement with an exact version for each entry."""
    text = lock.read_text().replace("\\\n", "")
    lines = [line.partition("--hash")[0].strip() for line in text.splitlines()]
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def holes(
    entries: list[Requirement], roots: list[Requirement], environment: Environment, path: list[str] | None = None
) -> Iterator[str]:
    """A sentence for each requirement that no entry meets, reached from `roots` in this environment.

    path: folders and wheels with the metadata of the locked packages; None: what is installed here. An entry whose
    metadata is of another version is reported as well, unless it is for some machines only.
    """
    locked: dict[NormalizedName, Requirement] = {
        canonicalize_name(entry.name): entry
        for entry in entries
        if entry.marker is None or entry.marker.evaluate(environment)
    }
    asked: set[tuple[NormalizedName, str]] = set()
    todo = [("pyproject.toml", root) for root in roots]
    while todo:
        by, wanted = todo.pop()
        name = canonicalize_name(wanted.name)
        found = locked.get(name)
        if found is None:
            yield f"{by} requires {wanted}, which is not locked"
            continue
        version = next(iter(found.specifier)).version
        if not wanted.specifier.contains(version, prereleases=True):
            yield f"{by} requires {wanted}, but {version} is locked"
        extras = {extra for extra in ("", *wanted.extras) if (name, extra) not in asked}
        asked |= {(name, extra) for extra in extras}
        there, requires = package(found.name, tuple(sys.path if path is None else path))
        if there != version:
            if found.marker is None:
                yield f"{found.name} {version} is locked and {there} installed: run `make clean`, then `make lint`"
            continue
        todo += [
            (f"{wanted.name} {version}", one)
            for one in requires
            if any(one.marker is None or one.marker.evaluate({**environment, "extra": extra}) for extra in extras)
        ]


@cache
def package(name: str, path: tuple[str, ...]) -> tuple[str, list[Requirement]]:
    """The version whose metadata is in `path` and what it requires; `not` and nothing where there is none."""
    for found in distributions(name=name, path=list(path)):
        return found.version, [Requirement(text) for text in found.requires or []]
    return "not", []


def lines(file: Path) -> list[Requirement]:
    """The requirements in a file without hashes."""
    return [Requirement(line) for line in file.read_text().splitlines() if line and not line.startswith("#")]


def declared(root: Path, *extras: str) -> list[Requirement]:
    """What pyproject.toml asks for, with the packages of these extras."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    texts = [*project["dependencies"], *(text for extra in extras for text in project["optional-dependencies"][extra])]
    return [*map(Requirement, texts)]


def main(root: Path = ROOT) -> int:
    """Print each hole once for each lock; the exit code is 1 when there is one."""
    found: dict[str, None] = {}
    build = lines(root / "requirements" / "build.in")
    locks = {
        "product.txt": declared(root),
        "team.txt": declared(root, "team"),
        "build.txt": build,
        "dev.txt": [*declared(root, "dev"), *build],
    }
    for name, roots in locks.items():
        entries = read_lock(root / "requirements" / name)
        for environment in environments():
            for hole in holes(entries, roots, environment):
                found[f"requirements/{name}: {hole}"] = None
    print(*found, sep="\n", end="\n" if found else "")
    if found:
        print("Run `make lock`, or pin what is missing.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
