"""Rules about waves on clang's syntax tree: the types of masks and ballots, folded constants, where a lane comes from.

The tree is that of the source with waves of 64 (`sandbox/port/cuda_warps_seen.h`): a ballot has 64 bits there, so a
cast to 32 bits is a loss that the type shows, through typedefs, macros, templates and functions.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from amdkernel_mcp.port.constants import Constants
from amdkernel_mcp.port.functions import Source
from amdkernel_mcp.port.lint_classes import Level
from amdkernel_mcp.port.rules_of_waves import LANE_NAMED, assumes_32, with_warp_functions
from amdkernel_mcp.port.syntax_tree import Node, own_place
from amdkernel_mcp.port.tokens import read_tokens

KINDS = frozenset(["mask", "shuffle_width", "lane31", "warp5", "ballot32", "popc32", "lanemask32"])
"""The classes that a tree decides, in the functions that it has."""
SEEN = "cuda_seen"
_BALLOTS = frozenset(["__ballot", "__ballot_sync", "__activemask", "__match_any_sync", "__match_all_sync"])
_BITS = frozenset(["__popc", "__ffs", "__clz", "__brev"])
_SHUFFLE = re.compile(r"__shfl(_up|_down|_xor)?(_sync)?")
_WIDE = re.compile(r"(?:const |volatile )*(?:unsigned )?(?:long long|long)")
_NARROW = re.compile(r"(?:const |volatile )*(?:unsigned )?(?:int|short|char)|(?:const |volatile )*signed char")
_THROUGH = frozenset(["ParenExpr", "ImplicitCastExpr", "CStyleCastExpr", "CXXStaticCastExpr", "CXXFunctionalCastExpr",
                      "ConstantExpr", "ExprWithCleanups", "MaterializeTemporaryExpr", "CXXConstCastExpr"])  # fmt: skip
_CASTS = frozenset(["ImplicitCastExpr", "CStyleCastExpr", "CXXStaticCastExpr", "CXXFunctionalCastExpr"])
_PLACES_OF_THREADS = frozenset(["threadIdx", "blockDim"])
_OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip
_BY_OPERATOR = frozenset(["lane31", "warp5", "lanemask32"])
_DEPTH = 40
_BITS_OF_WAVE = 64
Raw = tuple[str, int, Level, str]
"""Class, line, level, the way where it is more exact than the class's."""


@dataclass(frozen=True)
class SeenFunction:
    """What a tree says of one function: the line of its name, and the hits in it by their lines."""

    line: int
    name: str
    hits: tuple[Raw, ...]


def hits_of_trees(trees: Sequence[Node], texts: Mapping[str, str], folder: str) -> dict[str, list[SeenFunction]]:
    """By the files of the program. texts: these files by their names; folder: in which the compiler had them.

    A template without an instance has no types: it is left to the tokens.
    """
    program = _Program(trees, texts, folder)
    found: dict[str, dict[tuple[int, str], set[Raw]]] = {}
    for tree in trees:
        file = program.files.get(tree.at[0])
        if file is None or any("<dependent type>" in node.rest for node in tree.walk()):
            continue
        hits = found.setdefault(file, {}).setdefault((tree.at[1], tree.name), set())
        for kind, (path, line), level in _Rules(program, tree).hits():
            if program.files.get(path) == file:
                hits.add((kind, line, level, ""))
    return {
        file: [SeenFunction(line, name, tuple(sorted(hits))) for (line, name), hits in functions.items()]
        for file, functions in found.items()
    }


@dataclass
class _Program:
    """What is known across functions. ballots: those that return one. given: parameters that get a lane or thread."""

    trees: Sequence[Node]
    texts: Mapping[str, str]
    folder: str
    files: dict[str, str] = field(init=False)
    ballots: set[str] = field(default_factory=set)
    given: set[tuple[str, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.files = {f"{self.folder}/{name}": name for name in self.texts} | {name: name for name in self.texts}
        sources = [Source.of(text) for text in self.texts.values()]
        self.constants = Constants([token for each in sources for token in each.tokens])
        self.own = frozenset(each.name for each in self.trees)
        self.warps = frozenset(name for each in sources for name in with_warp_functions(each))
        self.narrow32 = any(assumes_32(each) for each in sources)
        self.with_waves = {
            name
            for name, each in zip(self.texts, sources, strict=True)
            if "warpSize" in {token.text for token in each.tokens}
        }
        for _ in range(2):  # a function that returns what another one does
            for tree in self.trees:
                _Rules(self, tree).learn()


class _Rules:
    """One function. Names of variables stand for what they were given where they are declared, or later."""

    def __init__(self, program: _Program, tree: Node) -> None:
        self._program, self._tree = program, tree
        self._nodes = list(tree.walk())
        self._declared = {each.address: each for each in self._nodes if each.kind in ("VarDecl", "ParmVarDecl")}
        self._threads: set[str] = set()  # addresses
        self._lanes: set[str] = set()
        self._masks: set[str] = set()
        parameters = [each for each in tree.children if each.kind == "ParmVarDecl"]
        for place, each in enumerate(parameters):
            if (tree.name, place) in program.given or each.name == "tid":
                self._threads.add(each.address)
        for address, value in self._values():
            if self._is_thread(value):
                self._threads.add(address)
            if self._is_lane(value):
                self._lanes.add(address)
            if self._has_ballot(value):
                self._masks.add(address)

    def learn(self) -> None:
        """Tell the program what other functions need."""
        for node in self._nodes:
            if node.kind == "ReturnStmt" and node.children and self._has_ballot(node.children[0]):
                self._program.ballots.add(self._tree.name)
            elif node.kind == "CallExpr":
                for place, each in enumerate(node.children[1:]):
                    if self._is_thread(each) or self._is_lane(each):
                        self._program.given.add((_called(node), place))

    def hits(self) -> Iterator[tuple[str, tuple[str, int], Level]]:
        files = list(self._program.files)
        for node in self._nodes:
            for kind, level in (*self._of_call(node), *self._of_cast(node), *self._of_operator(node)):
                yield kind, self._place(node, kind, files), level

    def _place(self, node: Node, kind: str, files: Sequence[str]) -> tuple[str, int]:
        """Where it is written; an operator whose sides are macros of other lines is where the function uses it."""
        place = own_place(node, files)
        if kind in _BY_OPERATOR and not self._tree.begin[1] <= place[1] <= self._tree.end[1]:
            above = node.parent
            while above is not None:
                if above.begin[0] == self._tree.at[0] and self._tree.begin[1] <= above.begin[1] <= self._tree.end[1]:
                    return above.begin
                above = above.parent
        return place

    def _values(self) -> Iterator[tuple[str, Node]]:
        """Variables with what they are given, in the order of the source."""
        for node in self._nodes:
            if node.kind == "VarDecl" and node.children:
                yield node.address, node.children[-1]
            elif node.kind == "BinaryOperator" and "'='" in node.rest and len(node.children) == 2:
                target = _plain(node.children[0])
                if target.kind == "DeclRefExpr":
                    yield target.refers[1], node.children[1]

    def _of_call(self, node: Node) -> Iterator[tuple[str, Level]]:
        if node.kind != "CallExpr":
            return
        name, given = _called(node), node.children[1:]
        if name.endswith("_sync") and given and _plain_type(given[0]) and _NARROW.fullmatch(_plain_type(given[0])):
            yield "mask", "sure"
        if name in _BITS and given and self._has_ballot(given[0]):
            yield "popc32", "sure"
        if (match := _SHUFFLE.fullmatch(name)) and name not in self._program.own:
            yield from self._of_shuffle(given[1:] if match.group(2) else given, match.group(1) or "")

    def _of_shuffle(self, given: Sequence[Node], how: str) -> Iterator[tuple[str, Level]]:
        """As the rule on tokens, with a lane or a step that is folded."""
        if len(given) != 3 or given[2].kind != "CXXDefaultArgExpr":
            return
        value = self.value(given[1])
        if how:
            tree = value == 16 or (value is None and self._steps_over_32(given[1]))
            if tree and self._program.files.get(self._tree.at[0]) in self._program.with_waves:
                yield "shuffle_width", "sure"
            elif tree and how != "_xor":
                yield "shuffle_width", "look"
        elif value is None and any(self._is_of_32(each) for each in given[1].walk()):
            yield "shuffle_width", "sure"
        elif self._program.narrow32 and (value is None or value < 32):
            yield "shuffle_width", "look"

    def _steps_over_32(self, step: Node) -> bool:
        address = _plain(step).refers[1]
        declared = self._declared.get(address)
        if declared is None or not declared.children:
            return False
        begins = self.value(declared.children[-1])
        loop = declared.parent.parent if declared.parent else None
        if loop is None or loop.kind != "ForStmt":
            return False
        limit = next((each for each in loop.children if each.kind == "BinaryOperator"), None)
        ends = self.value(limit.children[1]) if limit and re.search(r"'(?:<|<=|!=)'", limit.rest) else None
        return begins == 16 or (begins == 1 and ends in (16, 32))

    def _of_cast(self, node: Node) -> Iterator[tuple[str, Level]]:
        """A ballot of 64 bits that becomes one of 32; what counts its bits says it already."""
        if node.kind == "CompoundAssignOperator" and _NARROW.fullmatch(node.type):
            if self._has_ballot(node.children[-1]) and _WIDE.fullmatch(node.children[-1].type):
                yield "ballot32", "sure"
            return
        if node.kind not in _CASTS or "<IntegralCast>" not in node.rest or not _NARROW.fullmatch(node.type):
            return
        inner = node.children[0] if node.children else node
        if not _WIDE.fullmatch(inner.type) or not self._has_ballot(inner):
            return
        above = node.parent
        while above is not None and above.kind in _THROUGH:
            above = above.parent
        if above is not None and above.kind == "CallExpr" and _called(above) in _BITS:
            return
        if above is not None and above.kind == "CallExpr" and _called(above).endswith("_sync"):
            return
        yield "ballot32", "sure"

    def _of_operator(self, node: Node) -> Iterator[tuple[str, Level]]:
        if node.kind != "BinaryOperator" or len(node.children) != 2:
            return
        left, right = node.children
        sign = _sign(node)
        if sign == "<<" and _NARROW.fullmatch(node.type) and self.value(left) == 1 and self._is_lane(right):
            if self._tree.name in self._program.warps:
                yield "lanemask32", "sure"
            return
        value = self.value(right) if sign in ("&", "%", ">>", "/") else None
        if value is None or not self._is_thread(left):
            return
        lane = (sign, value) in (("&", 31), ("%", 32))
        if not lane and (sign, value) not in ((">>", 5), ("/", 32)):
            return
        if lane and (_inside_shuffle(node) or self._is_of_block(left)):
            return  # a mistake of its shuffle; what is left of a block
        if self._tree.name in self._program.warps or LANE_NAMED.fullmatch(self._declares(node)):
            yield "lane31" if lane else "warp5", "look"

    def _declares(self, node: Node) -> str:
        above: Node | None = node
        while above is not None:
            if above.kind == "VarDecl":
                return above.name
            if above.kind == "BinaryOperator" and _sign(above) == "=":
                return _plain(above.children[0]).refers[2]
            if above.kind == "ReturnStmt":
                return self._tree.name
            above = above.parent
        return ""

    def _is_of_32(self, node: Node) -> bool:
        if node.kind != "BinaryOperator" or len(node.children) != 2:
            return False
        return (_sign(node), self.value(node.children[1])) in (("&", 31), ("%", 32))

    def _is_thread(self, node: Node) -> bool:
        """Whether it is made of the numbers of a thread in its block alone, and of constants."""
        found = False
        waiting = [node]
        while waiting:
            each = _plain(waiting.pop())
            if each.kind == "PseudoObjectExpr":
                if not _mentions(each, _PLACES_OF_THREADS):
                    return False
                found = True
            elif (each.kind == "DeclRefExpr" and each.refers[1] in self._threads) or (
                each.kind == "CXXMemberCallExpr" and "thread_rank" in each.children[0].rest
            ):
                found = True
            elif each.kind == "BinaryOperator" and _sign(each) in ("+", "*", "-"):
                waiting += each.children
            elif self.value(each) is None:
                return False
        return found

    def _is_of_block(self, node: Node) -> bool:
        named = [each.refers for each in node.walk() if each.kind == "DeclRefExpr"]
        return not any(name == "threadIdx" or address in self._threads for _, address, name in named)

    def _is_lane(self, node: Node) -> bool:
        """Whether it is a thread's number in its warp or wave."""
        each = _plain(node)
        if each.kind == "DeclRefExpr":
            return each.refers[1] in self._lanes
        if each.kind == "CallExpr":
            return _called(each) in ("__lane_id", "__laneid")
        if each.kind != "BinaryOperator" or len(each.children) != 2 or not self._is_thread(each.children[0]):
            return False
        return (_sign(each), self.value(each.children[1])) in (("&", 31), ("%", 32), ("&", 63), ("%", 64))

    def _has_ballot(self, node: Node) -> bool:
        """Whether its value is a bit for each lane: a ballot, or one with others by `&`, `|`, `^` and `~`."""
        waiting = [node]
        while waiting:
            each = _plain(waiting.pop())
            if each.kind == "CallExpr":
                name = _called(each)
                if name in _BALLOTS or name in self._program.ballots:
                    return True
            elif each.kind == "DeclRefExpr":
                if each.refers[1] in self._masks:
                    return True
            elif (each.kind == "BinaryOperator" and _sign(each) in ("&", "|", "^", "=")) or (
                each.kind == "UnaryOperator" and "'~'" in each.rest
            ):
                waiting += each.children
        return False

    def value(self, node: Node, depth: int = 0) -> int | None:
        """Of a constant expression."""
        node = _plain(node)
        if depth > _DEPTH:
            return None
        if node.kind == "IntegerLiteral":
            digits = node.rest.rsplit(" ", 1)[-1]
            return int(digits) if re.fullmatch(r"-?\d{1,20}", digits) else None
        if node.kind == "SubstNonTypeTemplateParmExpr" and node.children:
            return self.value(node.children[-1], depth + 1)
        if node.kind == "DeclRefExpr":
            _, address, name = node.refers
            declared = self._declared.get(address)
            if declared is not None:
                fixed = "constexpr" in declared.rest or declared.type.startswith("const ")
                return self.value(declared.children[-1], depth + 1) if fixed and declared.children else None
            if name == "warpSize":
                return _BITS_OF_WAVE
            return self._program.constants.value(read_tokens(name)) if name else None
        if node.kind == "UnaryOperator" and node.children:
            inner = self.value(node.children[0], depth + 1)
            return None if inner is None else -inner if "'-'" in node.rest else ~inner if "'~'" in node.rest else None
        if node.kind == "BinaryOperator" and len(node.children) == 2:
            first, second = (self.value(each, depth + 1) for each in node.children)
            return None if first is None or second is None else _computed(_sign(node), first, second)
        return None


def _computed(sign: str, first: int, second: int) -> int | None:
    if sign in _OPERATORS:
        return _OPERATORS[sign](first, second)
    if sign in ("/", "%") and second:
        return first // second if sign == "/" else first % second
    if sign in ("<<", ">>") and 0 <= second < _BITS_OF_WAVE:
        return first << second if sign == "<<" else first >> second
    return None


def _sign(node: Node) -> str:
    found = re.search(r"'([^'\w\s]{1,3})'", node.rest)
    return found.group(1) if found else ""


def _plain(node: Node) -> Node:
    """Without brackets and casts."""
    while node.kind in _THROUGH and node.children:
        node = (
            node.children[-1]
            if node.kind != "ConstantExpr"
            else next((each for each in node.children if each.kind != "value"), node.children[-1])
        )
    return node


def _plain_type(node: Node) -> str:
    """The type before what the compiler casts by itself."""
    while node.kind == "ImplicitCastExpr" and node.children:
        node = node.children[-1]
    return node.type


def _called(call: Node) -> str:
    """The name of what is called, as CUDA writes it."""
    named = next((each for each in call.children[:1] for each in each.walk() if each.kind == "DeclRefExpr"), None)
    return named.refers[2].removeprefix(SEEN) if named else ""


def _inside_shuffle(node: Node) -> bool:
    above = node.parent
    while above is not None and above.kind != "CompoundStmt":
        if above.kind == "CallExpr" and _SHUFFLE.fullmatch(_called(above)):
            return True
        above = above.parent
    return False


def _mentions(node: Node, names: frozenset[str] | set[str]) -> bool:
    return any(each.kind == "DeclRefExpr" and each.refers[2] in names for each in node.walk())
