"""The docstrings of Python modules as Markdown: AMD's bindings of HIP, and Gluon, have their reference there.

A page for each module; of a module with many functions a page for each subject, which is the first word of their names:
`hipMemcpyAsync` is on `functions-memcpy`. Nothing of the modules is run.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from textwrap import dedent

MOST_OF_A_PAGE = 150
_LEAST_CHARS = 25
_FEW = 4  # entries of a subject; fewer go to `other`
_ROLE = re.compile(r":?(?:py:)?(?:obj|func|class|code|attr|meth|data):`~?\.?([^`]*)`")
_RUBRIC = re.compile(r"^\.\. rubric::[ \t]*(.+)$", re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*\.\. [\w-]+::.*\n", re.MULTILINE)
_FIRST_WORD = re.compile(r"^_*(?:hip)?(?:[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+)")


def pages_of_module(path: str, text: str) -> Iterator[tuple[str, str]]:
    """(path of the page, its Markdown) of a module's public functions and classes that have a docstring.

    What is not Python, or nested too deeply to be read, has none.
    """
    try:
        entries = dict(_entries(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    module = PurePosixPath(path).with_suffix("")
    name = module.parent if module.name == "__init__" else module
    if len(entries) <= MOST_OF_A_PAGE:
        if entries:
            yield f"{name}.md", _page(str(name).replace("/", "."), entries)
        return
    for subject, some in sorted(_by_subject(entries).items()):
        yield f"{name}/functions-{subject}.md", _page(f"{name.name}: {subject} functions", some)


def _entries(module: ast.Module) -> Iterator[tuple[str, str]]:
    """(name, signature and docstring) of each function and class, methods as `Class.method`."""
    for node in module.body:
        yield from _entry(node, "")
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for method in node.body:
                yield from _entry(method, f"{node.name}.")


def _entry(node: ast.stmt, prefix: str) -> Iterator[tuple[str, str]]:
    if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name.startswith("_"):
        return
    said = clean(ast.get_docstring(node) or "")
    if len(said) < _LEAST_CHARS:
        return
    name = prefix + node.name
    parameters = node.args if isinstance(node, ast.FunctionDef) else None
    names = [one.arg for one in (*parameters.args, *parameters.kwonlyargs)] if parameters else []
    hidden = ("self", "cls", "_semantic", "_builder", "_generator")
    signature = f"`{name}({', '.join(one for one in names if one not in hidden)})`\n\n" if parameters else ""
    yield name, f"{signature}{said}"


def clean(docstring: str) -> str:
    """A docstring in which roles are their text and directives are gone; a rubric is bold."""
    text = _RUBRIC.sub(lambda found: f"**{found[1]}**", dedent(docstring))
    return _DIRECTIVE.sub("", _ROLE.sub(lambda found: f"`{found[1].rsplit('.', 1)[-1]}`", text)).strip()


def _by_subject(entries: Mapping[str, str]) -> Mapping[str, dict[str, str]]:
    by_subject: dict[str, dict[str, str]] = defaultdict(dict)
    for name, text in entries.items():
        found = _FIRST_WORD.match(name)
        by_subject[found[0].lstrip("_").removeprefix("hip").lower() if found else "other"][name] = text
    few = [subject for subject, some in by_subject.items() if len(some) < _FEW]
    for subject in few:
        by_subject["other"] |= by_subject.pop(subject)
    return by_subject


def _page(title: str, entries: Mapping[str, str]) -> str:
    return f"# {title}\n\n" + "\n".join(f"## {name}\n\n{text}\n" for name, text in entries.items())
