"""Which instructions the tests of this folder run: read off the lines of assembly in their tables and texts."""

import ast
import dataclasses
import importlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent
_MNEMONIC = re.compile(r"(?:^|\n|:: )\s*([a-z]+(?:_[a-z0-9]+)+)(?=\s|$)")
_ENCODING = re.compile(r"(?:_e32|_e64|_dpp|_sdwa)+$")


@cache
def mnemonics_of_tests() -> frozenset[str]:
    """Mnemonics, without the suffix of an encoding, that begin a line of any test's assembly."""
    found: set[str] = set()
    for path in sorted(HERE.glob("test_*.py")):
        module = importlib.import_module(path.stem)
        texts = [*_held_by(module), *_written_in(path)]
        found |= {_ENCODING.sub("", name) for text in texts for name in _MNEMONIC.findall(text)}
    return frozenset(found)


def _held_by(module: ModuleType) -> Iterator[str]:
    """Every string in the module's tables: cases are often made by a loop."""
    for name, value in vars(module).items():
        if name.isupper():
            yield from _strings(value)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _strings(key)
            yield from _strings(item)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from _strings(item)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _strings(getattr(value, field.name))


def _written_in(path: Path) -> Iterator[str]:
    """String constants of the source that are not docstrings."""
    tree = ast.parse(path.read_text())
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value
