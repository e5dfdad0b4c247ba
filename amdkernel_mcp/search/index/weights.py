"""The numbers of the ranking, from docs_index/weights.toml."""

import tomllib
from dataclasses import dataclass
from functools import lru_cache

from amdkernel_mcp.bundled import folder


@dataclass(frozen=True)
class Weights:
    """docs_index/weights.toml says what each field does."""

    title: float
    head: float
    summary: float
    questions: float
    body: float
    related: float
    heading: float
    other_gpu: float
    same_gpu: float
    other_version: float
    embeddings: float


@lru_cache(maxsize=1)
def chosen_weights() -> Weights:
    """The weights in use."""
    return Weights(**tomllib.loads((folder("docs_index") / "weights.toml").read_text(encoding="utf-8")))
