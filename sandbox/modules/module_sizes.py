"""The sizes in the text of a PyTorch module: whole numbers that can be replaced, and the module with others in place.

A size is a whole number, or a product or sum of some, in a statement at the top of the file or in `get_inputs` and
`get_init_inputs`; classes and other functions are left as they are.
"""

import ast
import keyword
import re
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Position = tuple[int, int]
_FUNCTIONS = ("get_inputs", "get_init_inputs")
_MOST = 1 << 40
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//"}


@dataclass(frozen=True)
class Size:
    """A number in the text; `name` is that of the variable it is assigned to, where there is one."""

    name: str
    position: Position
    value: int


def find_sizes(text: str) -> list[Size]:
    """The numbers of at least 2, in the order of the text, with names that differ."""
    taken: set[str] = set()
    found = []
    for name, node in _numbers(ast.parse(text)):
        value = _value(node)
        if value is not None and 2 <= value < _MOST:
            found.append(Size(unique(name, taken), (node.lineno, node.col_offset), value))
    return found


def load(text: str, values: Mapping[Position, int], file: str) -> dict[str, Any]:
    """The names that the file defines, once it ran with these numbers in place of its own."""
    prepare(text)
    tree = _Replacement(values).visit(ast.parse(text))
    module = types.ModuleType("module")
    module.__file__ = file
    sys.modules["module"] = module
    exec(compile(tree, file, "exec"), module.__dict__)
    return module.__dict__


def prepare(text: str) -> None:
    """Make torch forget the GPU where the text names one."""
    if "cuda" in text:
        import no_gpu

        no_gpu.install()


def unique(name: str, taken: set[str]) -> str:
    """`name` as an identifier of C and Python that is not in `taken`, to which it is added."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII) or "value"
    if plain[0].isdigit() or plain in _RESERVED or keyword.iskeyword(plain):
        plain = f"{plain}_" if not plain[0].isdigit() else f"n{plain}"
    chosen, number = plain, 1
    while chosen in taken:
        number += 1
        chosen = f"{plain}_{number}"
    taken.add(chosen)
    return chosen


_RESERVED = frozenset((
    "auto", "blockDim", "blockIdx", "bool", "case", "ceil_div", "char", "const", "default", "delete", "do",
    "double", "enum", "extern", "float", "friend", "generate", "goto", "gridDim", "half", "held_out", "inline",
    "int", "long", "max", "min", "namespace", "new", "operator", "out_of", "private", "protected", "public",
    "reference", "register", "rng", "short", "signed", "sizeof", "static", "struct", "switch", "template", "this",
    "threadIdx", "typedef", "union", "unsigned", "using", "virtual", "void", "volatile",
))  # fmt: skip


class _Replacement(ast.NodeTransformer):
    def __init__(self, values: Mapping[Position, int]) -> None:
        self._values = values

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.expr) and (node.lineno, node.col_offset) in self._values and _value(node) is not None:
            new = ast.Constant(self._values[node.lineno, node.col_offset])
            return ast.copy_location(new, node)
        return self.generic_visit(node)


def _numbers(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and statement.name in _FUNCTIONS:
            for part in statement.body:
                yield from _in_statement(part)
        elif not isinstance(
            statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
        ):
            yield from _in_statement(statement)


def _in_statement(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        yield from _in_expression("size", statement)
        return
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    parts = statement.value.elts if isinstance(statement.value, ast.Tuple | ast.List) else [statement.value]
    names = target.elts if isinstance(target, ast.Tuple | ast.List) else [target] * len(parts)
    if len(names) != len(parts):
        names = [target] * len(parts)
    for one, part in zip(names, parts, strict=True):
        name = one.id if isinstance(one, ast.Name) and _value(part) is not None else "size"
        yield from _in_expression(name, part)


def _in_expression(name: str, node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The largest parts of an expression that are made of numbers only."""
    if isinstance(node, ast.expr) and _value(node) is not None:
        yield name, node
        return
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.Subscript):
            yield from _in_expression(name, child)


def _value(node: ast.AST) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int and abs(node.value) < _MOST else None
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _value(node.left), _value(node.right)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.Pow):
        return left**right if 0 <= right <= 40 and abs(left) <= 2 else None
    if type(node.op) not in _OPERATORS or (isinstance(node.op, ast.FloorDiv) and right == 0):
        return None
    value = {"+": left + right, "-": left - right, "*": left * right, "//": left // (right or 1)}
    return value[_OPERATORS[type(node.op)]]
