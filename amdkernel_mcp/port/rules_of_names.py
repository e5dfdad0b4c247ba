"""Rules about what HIP or an AMD GPU does not have: one look at the names of a source."""

from __future__ import annotations

import re
from collections.abc import Iterator

from amdkernel_mcp.port.functions import Source
from amdkernel_mcp.port.lint_classes import LIBRARIES, PTX_WAYS, Level
from amdkernel_mcp.port.tokens import arguments, closing

LDS_BYTES = 64 << 10
_LIBRARY = re.compile(r"(?:.*/)?(cu[a-z]+(?:Lt)?|nccl|cutlass|cute|npp|nvjpeg|nvrtc)(?:_\w+|Xt)?(?:/.*|\.h(?:pp)?)")
_COOPERATIVE = re.compile(r"cooperative_groups/(?:reduce|scan|memcpy_async)\.h")
_ASYNC = re.compile(r"__pipeline_\w+|cuda::(?:barrier|pipeline|memcpy_async|aligned_size_t)|make_pipeline")
_MATRIX = re.compile(r"\b(?:mma\.sync|wmma\.|ldmatrix|stmatrix|mma\.sp)")
_TMA = re.compile(r"\b(?:wgmma|tcgen05|cp\.async\.bulk|cp\.reduce\.async\.bulk|setmaxnreg|mbarrier|clusterlaunch)")
_TEXTURE_CALL = re.compile(r"(?:tex(?:1D|2D|3D|Cubemap)\w*|surf(?:1D|2D|3D)\w+)")
_DRIVER_TMA = ("CUtensorMap", "cuTensorMapEncodeTiled")
Raw = tuple[str, int, Level, str]


def name_hits(source: Source) -> Iterator[Raw]:
    """(class, place of the token, level, the way where it is more exact than the class's)."""
    yield from _includes(source)
    tokens = source.tokens
    device = [(each.opened, each.end) for each in source.on_gpu]
    for place, token in enumerate(tokens):
        text, following = token.text, tokens[place + 1].text if place + 1 < len(tokens) else ""
        inside = bool(token.directive) or any(begin < place < end for begin, end in device)
        if text in ("asm", "__asm__", "__asm") and inside:
            yield from _assembly(source, place)
        elif text in ("nvcuda", "wmma") and following == "::" and tokens[place - 1].text != "::":
            yield "matrix", place, "sure", ""
        elif text in _DRIVER_TMA:
            yield "tma", place, "sure", ""
        elif text == "cuda" and following == "::" and place + 2 < len(tokens):
            name = f"cuda::{tokens[place + 2].text}"
            if _ASYNC.fullmatch(name):
                yield "async_copy", place, "sure", ""
        elif (following == "(" and _ASYNC.fullmatch(text)) or (
            text == "memcpy_async" and following == "(" and tokens[place - 1].text == "::"
        ):
            yield "async_copy", place, "sure", ""
        elif text == "reduce" and following == "(" and tokens[place - 1].text == "::":
            if tokens[place - 2].text in ("cg", "cooperative_groups"):
                yield "coop_reduce", place, "sure", ""
        elif text == "texture" and following == "<" and tokens[place - 1].text != "::":
            yield "texture", place, "sure", ""
        elif _TEXTURE_CALL.fullmatch(text) and following in ("(", "<") and inside:
            yield "texture", place, "look", ""
        elif text == "__launch_bounds__" and following == "(" and len(arguments(tokens, place + 1)) > 1:
            yield "launch_bounds", place, "look", ""
        elif text.endswith("MaxDynamicSharedMemorySize") and following == ",":
            yield from _dynamic_lds(source, place)
        elif text == "<<<":
            yield from _launch(source, place)


def _includes(source: Source) -> Iterator[Raw]:
    tokens = source.tokens
    for place, token in enumerate(tokens):
        if token.directive != "#" or place + 2 >= len(tokens) or tokens[place + 1].text != "include":
            continue
        end = place + 2
        while end < len(tokens) and tokens[end].directive == "include":
            end += 1
        name = source.text[tokens[place + 2].start : tokens[end - 1].end].strip('<>"')
        if _COOPERATIVE.fullmatch(name):
            yield "coop_reduce", place, "sure", ""
        elif name in ("mma.h", "cuda_pipeline.h", "cuda/barrier", "cuda/pipeline"):
            yield "matrix" if name == "mma.h" else "async_copy", place, "sure", ""
        elif (match := _LIBRARY.fullmatch(name)) and match.group(1) in LIBRARIES:
            yield "library", place, "sure", LIBRARIES[match.group(1)]


def _assembly(source: Source, place: int) -> Iterator[Raw]:
    tokens = source.tokens
    opened = place + 1
    while opened < len(tokens) and tokens[opened].text in ("volatile", "__volatile__"):
        opened += 1
    if opened >= len(tokens) or tokens[opened].text != "(":
        return
    words = ""
    for each in tokens[opened + 1 : closing(tokens, opened)]:
        if each.text == ":":
            break
        words += each.text.strip('"') if each.kind == "text" else ""
    if not words.strip() or re.match(r"\s*(?:s_|v_|ds_|global_|buffer_|flat_|;)", words):
        return  # a barrier for the compiler, or AMD's own instructions
    kind = "tma" if _TMA.search(words) else "matrix" if _MATRIX.search(words) else "ptx"
    if re.search(r"\bcp\.async\b(?!\.bulk)", words):
        kind = "async_copy"
    yield kind, place, "sure", _ptx_way(words) if kind == "ptx" else ""


def _ptx_way(words: str) -> str:
    """HIP's way for the special register, or for the first instruction that is known."""
    for name in re.findall(r"%{1,2}([a-z][a-z_0-9]+)", words):
        if way := next((PTX_WAYS[key] for key in PTX_WAYS if name.startswith(key)), None):
            return way
    code = re.sub(r"\\[nt]", " ", words)
    for name in re.findall(r"(?:^|[;{\s])\s*(?:@!?%?\w+\s+)?([a-z][a-z0-9]*(?:\.[a-z0-9_]+)*)", code):
        ways = [key for key in PTX_WAYS if name == key or name.startswith(f"{key}.")]
        if ways:
            return PTX_WAYS[max(ways, key=len)]
    return ""


def _dynamic_lds(source: Source, place: int) -> Iterator[Raw]:
    tokens = source.tokens
    end = place + 2
    while end < len(tokens) and tokens[end].text not in (")", ";"):
        end += 1
    asked = source.constants.value(tokens[place + 2 : end])
    if asked is None:
        yield "dynamic_lds", place, "look", ""
    elif asked > LDS_BYTES:
        yield "dynamic_lds", place, "sure", ""


def _launch(source: Source, place: int) -> Iterator[Raw]:
    tokens = source.tokens
    function = source.enclosing(place)
    if function and function.device:
        yield "dynamic_parallelism", place, "sure", ""
    starts, depth = [place + 1], 0
    at = place + 1
    while at < len(tokens) and tokens[at].text != ">>>":
        depth += (tokens[at].text in ("(", "{", "[")) - (tokens[at].text in (")", "}", "]"))
        if tokens[at].text == "," and depth == 0:
            starts.append(at + 1)
        at += 1
    if len(starts) > 2:
        end = starts[3] - 1 if len(starts) > 3 else at
        asked = source.constants.value(tokens[starts[2] : end])
        if asked is not None and asked > LDS_BYTES:
            yield "dynamic_lds", place, "sure", ""
