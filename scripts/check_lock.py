"""Each lock is closed: whatever a locked package requires, extras and markers included, has a locked version that fits.

Then `pip install --no-deps` installs all that is needed, and a package that is published tomorrow changes nothing. The
requirements come from the metadata of the packages that are installed here, which `make lint` installs from the lock.
"""

import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")


def environments() -> Iterator[dict[str, str]]:
    """What markers may see on the machines that the README names."""
    for python in PYTHONS:
        for machine in MACHINES:
            here = {name: str(value) for name, value in default_environment().items()}
            yield here | {
                "python_version": python,
                "python_full_version": f"{python}.0",
                "platform_machine": machine,
            }


def read_lock(lock: Path) -> list[Requirement]:
    """One requirement with an exact version for each entry."""
    text = lock.read_text().replace("\\\n", "")
    lines = [line.partition("--hash")[0].strip() for line in text.splitlines()]
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def holes(entries: list[Requirement], roots: list[Requirement], environment: dict[str, str]) -> Iterator[str]:
    """A sentence for each requirement that no entry meets, reached from `roots` in this environment."""
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
        for extra in ("", *wanted.extras):
            if (name, extra) in asked:
                continue
            asked.add((name, extra))
            todo += [(f"{wanted.name} {version}", one) for one in required_by(found, version, extra, environment)]


def required_by(entry: Requirement, version: str, extra: str, environment: dict[str, str]) -> list[Requirement]:
    """What the installed package requires with this extra. Raises SystemExit where another version is installed."""
    try:
        package = distribution(entry.name)
    except PackageNotFoundError:
        if entry.marker is not None:  # for another Python: its metadata is not here
            return []
        raise SystemExit(f"{entry.name} is locked and not installed: run `make clean`, then `make lint`") from None
    if package.version != version:
        if entry.marker is not None:
            return []
        raise SystemExit(
            f"{entry.name} {version} is locked and {package.version} installed: run `make clean`, then `make lint`"
        )
    requirements = [Requirement(text) for text in package.requires or []]
    seen = {**environment, "extra": extra}
    return [one for one in requirements if one.marker is None or one.marker.evaluate(seen)]


def declared(*extras: str) -> list[Requirement]:
    """What pyproject.toml and requirements/build.in ask for, with the packages of these extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = [*project["dependencies"], *(text for extra in extras for text in project["optional-dependencies"][extra])]
    build = (ROOT / "requirements" / "build.in").read_text().splitlines()
    return [Requirement(text) for text in texts + [line for line in build if line and not line.startswith("#")]]


def main() -> int:
    """Print each hole once for each lock; the exit code is 1 when there is one."""
    found: dict[str, None] = {}
    for name, extras in {"product.txt": (), "dev.txt": ("dev",)}.items():
        entries = read_lock(ROOT / "requirements" / name)
        for environment in environments():
            for hole in holes(entries, declared(*extras), environment):
                found[f"requirements/{name}: {hole}"] = None
    print(*found, sep="\n", end="\n" if found else "")
    if found:
        print("Run `make lock`, or pin what is missing.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
