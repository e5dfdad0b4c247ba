"""What other packages add, found by their entry points: docs/extending.md.

An installed package runs in this process and is trusted like this one. What is loaded is kept until the process ends.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, TypeVar, cast, get_args

from amdkernel_mcp.errors import InfrastructureError

_T = TypeVar("_T")
Group = Literal["languages", "hosts", "collections", "rules", "documents", "verbs", "tools", "commands"]
GROUPS: tuple[Group, ...] = get_args(Group)
_OURS = __name__.partition(".")[0]
_HINT = "install a version of that package that fits this one, or uninstall it"


def installed(group: Group, kind: type[_T]) -> tuple[_T, ...]:
    """The objects of this kind that installed packages add, by package and name.

    Raises InfrastructureError, which names the package, for one that cannot be loaded or is something else.
    """
    found = tuple((point, _loaded(point)) for point in _points(group))
    for point, made in found:
        if isinstance(made, type) or not isinstance(made, kind):
            raise InfrastructureError(f"{_named(point)} is not an object that is a {kind.__name__}", hint=_HINT)
    return tuple(made for _, made in found)


def installed_classes(group: Group, base: type[_T]) -> tuple[type[_T], ...]:
    """The classes with this base that installed packages add. Raises as `installed` does."""
    found = tuple((point, _loaded(point)) for point in _points(group))
    for point, made in found:
        if not (isinstance(made, type) and issubclass(made, base)):
            raise InfrastructureError(f"{_named(point)} is not a class of {base.__name__}", hint=_HINT)
    return tuple(made for _, made in found)


def names(group: Group) -> list[str]:
    """What installed packages call the objects that they add. Loads nothing."""
    return [point.name for point in _points(group)]


def function(group: Group, name: str) -> Callable[..., Any] | None:
    """The function that a package adds under this name; None where none does. Raises as `installed` does."""
    point = next((point for point in _points(group) if point.name == name), None)
    if point is None:
        return None
    made = _loaded(point)
    if not callable(made):
        raise InfrastructureError(f"{_named(point)} is not a function", hint=_HINT)
    return cast("Callable[..., Any]", made)


def listed() -> list[str]:
    """What is installed, a line for each package: `amdkernel-map 1.0: languages map`. Loads nothing."""
    found: dict[str, list[str]] = {}
    for group in GROUPS:
        for point in _points(group):
            found.setdefault(_package(point), []).append(f"{group} {point.name}")
    return [f"{package}: {', '.join(names)}" for package, names in found.items()]


def origin(made: object) -> list[str]:
    """The package and version that an object's class is from; nothing for ours. It is a part of the keys of caches."""
    module = type(made).__module__.partition(".")[0]
    if module == _OURS:
        return []
    points = (point for group in GROUPS for point in _points(group))
    return [next((_package(point) for point in points if point.module.partition(".")[0] == module), module)]


@cache
def _points(group: Group) -> tuple[EntryPoint, ...]:
    return tuple(sorted(entry_points(group=f"{_OURS}.{group}"), key=lambda point: (_package(point), point.name)))


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.module


def _named(point: EntryPoint) -> str:
    return f"{point.name!r} of the package {_package(point)} ({point.group})"


@cache
def _loaded(point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:  # whatever the module of another package does
        why = f"{type(error).__name__}: {error}"
        raise InfrastructureError(f"{_named(point)} cannot be loaded: {why}", hint=_HINT) from error
