"""Building one row of a diagnosis."""

from collections.abc import Sequence

from amdkernel_mcp.results.kernels import Diagnosis


def finding(what: str, *, because: str, advice: str, docs: Sequence[str] = ()) -> Diagnosis:
    """A diagnosis; `docs` are queries that search_docs answers. (Its key `try` is a keyword of Python.)"""
    return Diagnosis.model_validate({"finding": what, "because": because, "try": advice, "docs": list(docs)})
