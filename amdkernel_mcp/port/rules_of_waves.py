"""Rules about the number of lanes of a wave: what is right for warps of 32 and may not be for waves of 64."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from amdkernel_mcp.port.functions import BALLOTS, Function, Source, Variables
from amdkernel_mcp.port.lint_classes import Level
from amdkernel_mcp.port.tokens import Token, arguments, closing
from amdkernel_mcp.port.translate import WITH_MASK

_SHUFFLE = re.compile(r"__shfl(_up|_down|_xor)?(_sync)?")
_WARP_WORD = re.compile(
    r"__shfl\w*|__(?:ballot|all|any|match_any|match_all|reduce_\w+)(?:_sync)?|__activemask|__syncwarp"
)
LANE_NAMED = re.compile(
    r"(?i)(?:.*_)?(?:lane|laneid|lane_?idx|wid|warp|warpid|warp_?idx|w?lane_?id|num_?warps?|n_?warps?)\w{0,6}"
)
_SIZE_NAME = re.compile(
    r"(?i)k?_?(?:\w*_)?warp_?(?:size|threads|lanes|width)\w*|(?:threads|lanes)_?(?:per|in)_?warp|k?warpsize\w*"
)
_HALF = re.compile(r"(?i)\w*half_?warp\w*")
_BITS = frozenset(["__popc", "__ffs", "__clz"])
_BARRIER = re.compile(r"__sync\w+|\w*sync|__threadfence\w*|barrier\w*")
_TYPES = frozenset(
    [
        "__shared__",
        "float",
        "int",
        "double",
        "unsigned",
        "char",
        "short",
        "half",
        "static",
        "const",
        "constexpr",
        "bool",
        "uint",
        "float4",
    ]
)
_THREADS = frozenset(["x", "tid", "threadIdx", "t", "idx", "lane"])
_OF_32 = frozenset(["32", "31", "0x1f", "0x1F", "5", "32u", "31u"])
_OF_31 = frozenset(["31", "0x1f", "0x1F", "31u"])
_BLOCKS = re.compile(r"(?i)k?_?(?:\w*_)?(?:block_?(?:size|dim|threads)?|threads|tpb|num_?threads|n_?threads)\w*")
_HALVES = frozenset(["32", "16", "8", "4", "2", "1"])
Raw = tuple[str, int, Level, str]


def wave_hits(source: Source) -> Iterator[Raw]:
    """(class, place of the token, level, ""). Functions of the host are left out."""
    yield from _constants(source)
    narrow32 = assumes_32(source)
    with_warps = with_warp_functions(source)
    for function in source.on_gpu:
        look = _Look(source, function, Variables.of(source, function), function.name in with_warps, narrow32)
        for rule in (_calls, _lanes, _mixed, _ballots, _in_step, _spins, _half_warps):
            yield from rule(look)
    for place, token in enumerate(source.tokens):
        if token.directive == "define" and WITH_MASK.fullmatch(token.text):
            yield from _mask(source, place, frozenset())


@dataclass(frozen=True)
class _Look:
    """A function as the rules see it. `warps`: it uses functions of a warp, itself or through others of the file."""

    source: Source
    function: Function
    known: Variables
    warps: bool
    narrow32: bool

    @property
    def places(self) -> range:
        return range(self.function.opened, self.function.end)

    @property
    def tokens(self) -> Sequence[Token]:
        return self.source.tokens

    def text(self, place: int) -> str:
        return self.tokens[place].text if 0 <= place < len(self.tokens) else ""

    def value(self, begin: int, end: int) -> int | None:
        return self.source.constants.value(self.tokens[begin:end])

    def is_thread(self, end: int) -> bool:
        """Whether the operand that ends before `end` is the number of a thread."""
        if self.text(end - 1) == "x" and self.text(end - 2) == ".":
            return self.text(end - 3) in ("threadIdx", "blockDim")
        if self.text(end - 1) == ")" and self.text(end - 3) == "thread_rank":
            return True
        named = self.text(end - 1)
        return self.text(end - 2) not in (".", "->") and (named in self.known.threads or named == "tid")

    def declares(self, place: int) -> str:
        """The name whose value the expression at `place` is part of."""
        at = place
        while at > self.function.body and self.text(at) not in (";", "{", "}"):
            if self.text(at) == "=" and self.tokens[at - 1].kind == "name":
                return self.text(at - 1)
            at -= 1
        return ""


def _constants(source: Source) -> Iterator[Raw]:
    uses: dict[str, int] = {}
    for token in source.tokens:
        uses[token.text] = uses.get(token.text, 0) + 1
    for place, token in enumerate(source.tokens):
        if token.kind != "name" or not _SIZE_NAME.fullmatch(token.text) or token.text == "warpSize":
            continue
        before, after = source.tokens[place - 1].text, source.tokens[place + 1 : place + 2]
        defines = before == "define" and token.directive == "define"
        assigns = after and after[0].text in ("=", "{") and not token.directive and _is_constant(source, place)
        if (defines or assigns) and uses[token.text] > 1 and source.constants.value([token]) == 32:
            yield "warp_const", place, "look", ""


def _is_constant(source: Source, place: int) -> bool:
    words = [each.text for each in source.tokens[max(0, place - 5) : place]]
    return "constexpr" in words or "const" in words or "enum" in words


def assumes_32(source: Source) -> bool:
    """Whether the file computes lanes or warps with 32 at all; else its shuffles may be for any wave."""
    tokens = source.tokens
    for place, token in enumerate(tokens[:-1]):
        if _SIZE_NAME.fullmatch(token.text) and token.text != "warpSize" and source.constants.value([token]) == 32:
            return True
        around = tokens[place - 1].text, tokens[place + 1].text
        if token.text in ("%", "/", "&", ">>") and around[0] in _THREADS and around[1] in _OF_32:
            return True
    return False


def with_warp_functions(source: Source) -> frozenset[str]:
    """The functions that use those of a warp, themselves, by a macro, or through others of the file."""
    own = {each.name for each in source.on_gpu}
    macros = {
        source.tokens[place + 1].text
        for place, token in enumerate(source.tokens[:-1])
        if token.text == "define" and _body_has_warp_word(source, place)
    }
    calls = {each.name: {token.text for token in source.tokens[each.opened : each.end]} for each in source.on_gpu}
    found = {name for name in own if any(_WARP_WORD.fullmatch(word) or word in macros for word in calls[name])}
    callers = {name for name in own if calls[name] & found}
    return frozenset(found | callers)


def _body_has_warp_word(source: Source, place: int) -> bool:
    at = place + 1
    while at < len(source.tokens) and source.tokens[at].directive == "define":
        if _WARP_WORD.fullmatch(source.tokens[at].text):
            return True
        at += 1
    return False


def _calls(look: _Look) -> Iterator[Raw]:
    for place in look.places:
        text = look.text(place)
        if look.text(place + 1) != "(":
            continue
        if WITH_MASK.fullmatch(text):
            yield from _mask(look.source, place, look.known.narrow)
        own = any(each.name == text for each in look.source.functions)  # with a width of its own by default
        if (match := _SHUFFLE.fullmatch(text)) and not own:
            yield from _shuffle(look, place, match.group(1) or "", bool(match.group(2)))
        if text == "coalesced_threads":
            yield "tile", place, "look", ""


def _mask(source: Source, place: int, narrow: frozenset[str]) -> Iterator[Raw]:
    given = arguments(source.tokens, place + 1) if source.tokens[place + 1].text == "(" else []
    if not given:
        return
    words = source.tokens[given[0][0] : given[0][1]]
    value = source.constants.value(words)
    if (value is not None and -(1 << 31) <= value < 1 << 32) or (len(words) == 1 and words[0].text in narrow):
        yield "mask", place, "sure", ""


def _shuffle(look: _Look, place: int, how: str, sync: bool) -> Iterator[Raw]:
    given = arguments(look.tokens, place + 1)
    first = 1 if sync else 0
    if len(given) != first + 2:  # with a width, or something else
        return
    begin, end = given[first + 1]
    value = look.value(begin, end)
    uses_wave = any(look.text(at) == "warpSize" for at in range(len(look.tokens)))
    if how:
        tree = value == 16 or (value is None and end - begin == 1 and _steps_over_32(look, place, look.text(begin)))
        if tree and uses_wave:
            yield "shuffle_width", place, "sure", ""
        elif tree and how != "_xor":  # exchanges by 16 and less stay in their half of the wave
            yield "shuffle_width", place, "look", ""
    elif value is None and {look.text(at) for at in range(begin, end)} & _OF_31:
        yield "shuffle_width", place, "sure", ""
    elif look.narrow32 and (value is None or value < 32):
        yield "shuffle_width", place, "look", ""


def _steps_over_32(look: _Look, place: int, name: str) -> bool:
    """Whether the loop around `place` lets `name` begin at 16, or end below 32."""
    for at in range(place, look.function.body, -1):
        if look.text(at) != "for" or look.text(at + 1) != "(":
            continue
        end = closing(look.tokens, at + 1)
        head = [each.text for each in look.tokens[at + 2 : end]]
        if name not in head or head.count(";") != 2:
            continue
        first, second = head.index(";"), len(head) - 1 - head[::-1].index(";")
        start = look.tokens[at + 2 : at + 2 + first]
        equals = next((n for n, each in enumerate(start) if each.text == "="), None)
        begins = look.source.constants.value(start[equals + 1 :]) if equals is not None else None
        limit = look.tokens[at + 2 + first + 1 : at + 2 + second]
        ends = None
        if len(limit) > 2 and limit[0].text == name and limit[1].text in ("<", "<=", "!="):
            ends = look.source.constants.value(limit[2:])
        return begins == 16 or (begins == 1 and ends in (16, 32))
    return False


def _lanes(look: _Look) -> Iterator[Raw]:
    for place in look.places:
        sign = look.text(place)
        if sign not in ("&", "%", "/", ">>") or not look.is_thread(place):
            continue
        stop = place + 2
        if look.text(place + 1) == "(":
            stop = closing(look.tokens, place + 1) + 1
        value = look.value(place + 1, stop)
        blocks = look.text(place - 1) == "x" and look.text(place - 3) == "blockDim"
        lane = ((sign == "&" and value == 31) or (sign == "%" and value == 32)) and not blocks
        warp = (sign == ">>" and value == 5) or (sign == "/" and value == 32)
        if not (lane or warp):
            continue
        if look.warps or LANE_NAMED.fullmatch(look.declares(place)):
            yield "lane31" if lane else "warp5", place, "look", ""


def _mixed(look: _Look) -> Iterator[Raw]:
    """Threads or a block divided by 32 next to threads divided by `warpSize`: `part[t / warpSize]`, then 256 / 32."""
    uses = [at for at in look.places if look.text(at) == "warpSize" and look.text(at - 1) in ("/", "%")]
    if not any(look.is_thread(at - 1) for at in uses):
        return
    for place in look.places:
        by_name = look.tokens[place].kind == "name" and _counts_warps(look.source.constants.defined(look.text(place)))
        if by_name and not _size_of_array(look, place):
            yield "warp_mix", place, "look", ""
        sign = look.text(place)
        if sign not in ("&", "%", "/", ">>"):
            continue
        stop = closing(look.tokens, place + 1) + 1 if look.text(place + 1) == "(" else place + 2
        of_32 = (sign, look.value(place + 1, stop)) in (("&", 31), ("%", 32), ("/", 32), (">>", 5))
        of_block = sign in ("/", ">>") and _is_block(look.tokens[place - 1], look.value(place - 1, place))
        if of_32 and (look.is_thread(place) or of_block) and not _size_of_array(look, place):
            yield "warp_mix", place, "look", ""


def _counts_warps(body: Sequence[Token] | None) -> bool:
    """Whether a constant stands for `256 / 32` or alike."""
    for at, token in enumerate(list(body or ())[:-2]):
        by_32 = (body[at + 1].text, body[at + 2].text) in (("/", "32"), (">>", "5")) if body else False
        value = int(token.text) if token.text.isdigit() else None
        if by_32 and _is_block(token, value):
            return True
    return False


def _is_block(token: Token, value: int | None) -> bool:
    """Whether it is the number of threads of a block: a multiple of 32 up to 1024, or named so."""
    return bool(value and value % 32 == 0 and 64 <= value <= 1024) or (
        token.kind == "name" and bool(_BLOCKS.fullmatch(token.text))
    )


def _size_of_array(look: _Look, place: int) -> bool:
    """Whether `place` is in the brackets of an array's declaration: one that is too large does no harm."""
    at, depth = place, 0
    while at > look.function.body and look.text(at) not in (";", "{", "}"):
        depth += (look.text(at) == "[") - (look.text(at) == "]")
        at -= 1
    return depth > 0 and bool(_TYPES & {look.text(each) for each in range(at + 1, at + 4)})


def _ballots(look: _Look) -> Iterator[Raw]:
    for place in look.places:
        text = look.text(place)
        if text in BALLOTS and look.text(place + 1) == "(" and _kept_narrow(look, place):
            yield "ballot32", place, "sure", ""
        elif text in _BITS and look.text(place + 1) == "(":
            inner = {look.text(at) for at in range(place + 2, closing(look.tokens, place + 1))}
            if inner & (BALLOTS | look.known.ballots):
                yield "popc32", place, "sure", ""
        elif text in ("1", "1u", "1U") and look.text(place + 1) == "<<" and look.warps:
            shifted = look.text(place + 2).strip("(")
            is_lane = shifted in look.known.lanes or re.fullmatch(r"(?i)lane(_?id|_?idx)?", shifted)
            if is_lane and look.text(place - 1) == "(":
                yield "lanemask32", place, "sure", ""


def _kept_narrow(look: _Look, place: int) -> bool:
    """Whether the ballot at `place` goes into 32 bits as it is."""
    end = closing(look.tokens, place + 1)
    if look.text(end + 1) in ("==", "!=", ">", "<", "&&", "||", "?", ">>"):
        return False
    before = look.text(place - 1)
    if before == ")" and look.text(place - 2) in ("unsigned", "int", "uint32_t", "uint"):
        return look.text(place - 3) in ("(", "unsigned")
    if before == "return":
        head = [each.text for each in look.tokens[max(0, look.function.head - 6) : look.function.head]]
        narrow = bool({"unsigned", "int", "uint32_t", "uint"} & set(head)) and "long" not in head
        return narrow and look.text(end + 1) == ";"
    if before not in ("=", "&=", "|="):
        return False
    at = place - 2
    if look.text(at) == "]":
        depth = 0
        while at > look.function.body:
            depth += (look.text(at) == "]") - (look.text(at) == "[")
            at -= 1
            if depth == 0:
                break
        return look.text(at) in look.known.narrow | look.known.words
    return look.text(at) in look.known.narrow


def _in_step(look: _Look) -> Iterator[Raw]:
    """Steps of a tree in LDS one after the other, and __syncwarp in a branch."""
    steps: list[int] = []
    volatile = any(look.text(place) == "volatile" for place in look.places)
    start = look.function.body + 1
    for place in range(look.function.body, look.function.end):
        text = look.text(place)
        if text == ";":
            statement = range(start, place)
            step = _tree_step(look, statement)
            if step:
                steps.append(start)
            elif any(_BARRIER.fullmatch(look.text(at)) for at in statement) or len(statement) > 0:
                yield from _tree(steps, volatile)
                steps = []
        if text in (";", "{", "}"):
            start = place + 1
        if text == "__syncwarp" and _in_branch(look, place):
            yield "syncwarp_diverged", place, "look", ""
    yield from _tree(steps, volatile)


def _tree(steps: Sequence[int], volatile: bool) -> Iterator[Raw]:
    if len(steps) > 2:
        yield "warp_sync", steps[0], "look" if volatile else "sure", ""


def _tree_step(look: _Look, statement: range) -> bool:
    """Whether it is `s[t] += s[t + 16]` or alike, or that behind an `if`."""
    words = [look.text(at) for at in statement]
    begin = closing(look.tokens, statement[1]) + 1 - statement[0] if words[:1] == ["if"] and len(words) > 1 else 0
    words = words[begin:]
    if len(words) < 8 or words[1] != "[":
        return False
    for at in range(4, len(words) - 4):
        same = words[at] == words[0] and words[at + 1] == "[" and words[at + 3] == "+"
        if same and words[at + 4] in _HALVES:
            return True
    return False


def _in_branch(look: _Look, place: int) -> bool:
    """Whether the innermost `if` around `place` asks for some lanes of a warp."""
    depth = 0
    for at in range(place, look.function.body, -1):
        depth += (look.text(at) == "}") - (look.text(at) == "{")
        opened = look.text(at) == "{" and depth < 0
        if not opened:
            continue
        depth = 0
        if look.text(at - 1) != ")":  # `do` or `else`
            continue
        begin, inner = at - 1, 0
        while begin > look.function.body:
            inner += (look.text(begin) == ")") - (look.text(begin) == "(")
            if inner == 0:
                break
            begin -= 1
        if look.text(begin - 1) != "if":
            return False
        condition = look.tokens[begin + 1 : at - 1]
        words = {each.text for each in condition}
        lanes = words & look.known.lanes or any(re.fullmatch(r"(?i)lane(_?id|_?idx)?", word) for word in words)
        return bool(lanes)
    return False


def _spins(look: _Look) -> Iterator[Raw]:
    """Loops without a body that wait for what another lane writes."""
    for place in look.places:
        if look.text(place) != "while" or look.text(place + 1) != "(":
            continue
        end = closing(look.tokens, place + 1)
        empty = look.text(end + 1) == ";" or (look.text(end + 1) == "{" and look.text(end + 2) in ("}", ";"))
        if not empty or look.text(place - 1) == "}":  # the end of a do loop
            continue
        if _for_one_thread(look, place):
            continue
        words = [look.text(at) for at in range(place + 2, end)]
        atomic = any(word in ("atomicCAS", "atomicExch", "atomicAdd", "atomicOr") for word in words)
        reads = any(word in ("*", "[") for word in words) and not any(word in ("++", "--", "=") for word in words)
        if atomic or reads:
            yield "scheduling", place, "look", ""


def _for_one_thread(look: _Look, place: int) -> bool:
    """Whether an `if` around `place` lets one thread through: it waits for other waves."""
    depth = 0
    for at in range(place, look.function.body, -1):
        depth += (look.text(at) == "}") - (look.text(at) == "{")
        if look.text(at) != "{" or depth >= 0:
            continue
        depth = 0
        begin = at - 1
        while begin > look.function.body and look.text(begin) not in (";", "{", "}"):
            begin -= 1
        words = [look.text(each) for each in range(begin + 1, at)]
        if (
            "if" in words
            and "==" in words
            and {"0", "1"} & set(words)
            and {*_THREADS, "rank", "thread_rank"} & set(words)
        ):
            return True
    return False


def _half_warps(look: _Look) -> Iterator[Raw]:
    for place in look.places:
        if look.tokens[place].kind == "name" and _HALF.fullmatch(look.text(place)):
            yield "half_warp", place, "look", ""
    for place in look.places:
        if look.text(place) != "warpSize":
            continue
        begin = place
        while begin > look.function.body and look.text(begin - 1) not in (";", "{", "}"):
            begin -= 1
        words = [look.text(at) for at in range(begin, place)]
        array = look.text(place - 1) == "[" and bool(_TYPES & set(words[:2])) and "=" not in words
        value = "constexpr" in words[:3] and "=" in words
        if array or value or (look.text(place - 1) == "<" and look.text(place + 1) == ">"):
            yield "warp_size_constant", place, "sure", ""
