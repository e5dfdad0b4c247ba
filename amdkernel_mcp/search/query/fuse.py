"""One ranking out of one for each wording of a question: reciprocal rank fusion (Cormack and others, SIGIR 2009).

Scores of different wordings cannot be compared, their ranks can.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from amdkernel_mcp.search.query.rank import Passage

RANK_OFFSET = 5  # how slowly a rank loses its worth: the first is worth 1/6, the tenth 1/15


def fuse(rankings: Sequence[Sequence[Passage]]) -> list[tuple[int, Passage]]:
    """(number of the wording, passage) of each section, best first; the wording is the one that ranks it highest.

    The ranking of a single wording stays as it is, scores included.
    """
    if len(rankings) == 1:
        return [(0, passage) for passage in rankings[0]]
    worth: dict[int, float] = defaultdict(float)
    best: dict[int, tuple[int, int, Passage]] = {}
    for wording, ranking in enumerate(rankings):
        for rank, passage in enumerate(ranking, 1):
            worth[passage.section] += 1 / (RANK_OFFSET + rank)
            if passage.section not in best or rank < best[passage.section][0]:
                best[passage.section] = rank, wording, passage
    ordered = sorted(best, key=lambda section: (-worth[section], best[section][:2]))
    return [(best[one][1], replace(best[one][2], score=worth[one])) for one in ordered]
