"""A search in 3 KB: of each section the sentence that answers, of a card its beginning, the best first."""

from amdkernel_mcp.results.documentation import Card, Hit, SearchResult
from amdkernel_mcp.search.library import cut_card
from amdkernel_mcp.search.query.search import OTHER_VERSION
from amdkernel_mcp.search.query.sentence import answering

SEARCH_BYTES = 3_000
_USUAL_RESULTS, _BYTES_A_RESULT, MOST_BYTES = 5, 500, 8_000
# Results, characters of the first result and of the others, characters of all cards, of a lesson: the first that fits.
_SIZES = (
    (20, 420, 260, 1_800, 300),
    (20, 340, 200, 1_300, 200),
    (10, 300, 170, 1_000, 150),
    (5, 260, 150, 900, 120),
    (4, 240, 140, 850, 120),
    (3, 220, 140, 800, 100),
    (2, 200, 140, 700, 100),
    (1, 160, 120, 500, 80),
    (1, 120, 120, 300, 60),
)


def room_of(result: SearchResult) -> int:
    """Bytes that the answer may take: 3,000, and more for more results than usual, as the caller asked for them."""
    return min(SEARCH_BYTES + _BYTES_A_RESULT * max(len(result.results) - _USUAL_RESULTS, 0), MOST_BYTES)


def short_search(result: SearchResult) -> SearchResult:
    """`result` in `room_of(result)` bytes as JSON, or as near to it as long names let it come.

    Addresses of pages go first: `read_doc` shows them.
    """
    room, made = room_of(result), result
    for size in _SIZES:
        if len(made.model_dump_json().encode()) <= room:
            break
        made = _shortened(result, *size)
    return made


def _shortened(result: SearchResult, most: int, first: int, others: int, cards: int, lesson: int) -> SearchResult:
    hits = [_hit(hit, result.query, others if at else first) for at, hit in enumerate(result.results[:most])]
    left_out = len(result.results) - len(hits)
    notes = [result.note, f"left out: {left_out} of {len(result.results)} results" if left_out else None]
    lessons = [one.model_copy(update={"text": answering(one.text, result.query, lesson)}) for one in result.lessons]
    return result.model_copy(
        update={
            "exact": _cards(result.exact, cards),
            "results": hits,
            "near": result.near[:3],
            "lessons": lessons,
            "note": "; ".join(filter(None, notes)) or None,
        }
    )


def _hit(hit: Hit, query: str, room: int) -> Hit:
    """The line of other versions is kept whole where it is there: it is not part of the text."""
    lines = hit.snippet.split("\n")
    first = next((at for at, line in enumerate(lines) if at and line.startswith(OTHER_VERSION)), len(lines))
    text, others = "\n".join(lines[:first]), lines[first:]
    return hit.model_copy(update={"url": None, "snippet": "\n".join([answering(text, query, room), *others])})


def _cards(cards: list[Card], room: int) -> list[Card]:
    """The first card is the likeliest answer and has half of the room."""
    first = room if len(cards) == 1 else room // 2
    others = room // 2 // max(len(cards) - 1, 1)
    shares = (others if at else first for at in range(len(cards)))
    return [
        card if len(card.text) <= share else cut_card(card, share) for card, share in zip(cards, shares, strict=True)
    ]
