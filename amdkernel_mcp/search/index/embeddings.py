"""How similar a section is to a question, by word vectors that the extra `[embeddings]` installs.

WordLlama (MIT) ships its vectors and its tokenizer inside its wheel: 32,000 word pieces of 256 numbers each. A text's
vector is the mean of those of its pieces, so a section takes a fraction of a millisecond, and no network is run. Only
the build needs the extra: the index keeps a vector for every section and for every plain word, and a question's vector
is made of those of its words. A section's vector leans towards what people ask where it is the answer: their words are
nearer to a question's than the page's are. The files are read here directly, as the package's own loader asks a model
hub first.
"""

import importlib.util
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Tokenizer

    Vector = np.ndarray[Any, np.dtype[Any]]

EMBEDDED_CHARS = 700
ASKED_SHARE = 0.5
"""How much the questions of a section count in its vector, against its text."""
_WEIGHTS, _TOKENIZER = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"
_LENGTH = 127  # of a stored vector: a byte for each number


@dataclass(frozen=True)
class Model:
    """The word vectors, as rows of a matrix by the number of their piece."""

    pieces: "Vector"
    tokenizer: "Tokenizer"

    def vectors(self, texts: Sequence[str]) -> list[tuple[bytes, float] | None]:
        """For each text its vector, and what a text of its pieces weighs in the mean of a longer one; None for a text
        that holds no word."""
        return [(_packed(total), length) if length else None for total, length in self._sums(texts)]

    def section_vectors(self, texts: Sequence[str], asked: Sequence[str]) -> list[bytes | None]:
        """For each section, of its text and its questions, the vector; None for a section that holds no word."""
        made: list[bytes | None] = []
        for (text, text_length), (questions, asked_length) in zip(self._sums(texts), self._sums(asked), strict=True):
            leaning = questions * (ASKED_SHARE / asked_length) if asked_length else questions
            made.append(_packed(text / text_length + leaning) if text_length else None)
        return made

    def _sums(self, texts: Sequence[str]) -> Iterator[tuple["Vector", float]]:
        """The sum of a text's pieces and its length."""
        for encoded in self.tokenizer.encode_batch(list(texts), add_special_tokens=False):
            total = self.pieces[encoded.ids].sum(axis=0) if encoded.ids else self.pieces[0] * 0
            yield total, float(total @ total) ** 0.5


def _packed(vector: "Vector") -> bytes:
    """The direction of a vector that is not zero, a byte for each number."""
    import numpy as np

    length = float(vector @ vector) ** 0.5
    return bytes(np.rint(vector * (_LENGTH / length)).astype(np.int8).tobytes())


@lru_cache(maxsize=1)
def load_model() -> Model | None:
    """The model; None where the extra is not installed."""
    found = importlib.util.find_spec("wordllama")
    if found is None or found.origin is None or importlib.util.find_spec("tokenizers") is None:
        return None
    from tokenizers import Tokenizer

    folder = Path(found.origin).parent
    if not (folder / _WEIGHTS).is_file() or not (folder / _TOKENIZER).is_file():
        return None
    return Model(_matrix(folder / _WEIGHTS), Tokenizer.from_file(str(folder / _TOKENIZER)))


def similarity(
    connection: sqlite3.Connection, words: Iterable[str], sections: Iterable[int]
) -> Mapping[int, float] | None:
    """The cosine of the question that `words` make and each of the sections; None for an index without vectors."""
    asked = list(dict.fromkeys(word.lower() for word in words))
    rows = connection.execute(
        f"SELECT weight, vector FROM word_vectors WHERE word IN ({','.join('?' * len(asked))})", asked
    ).fetchall()
    if not rows:
        return None
    question = [0.0] * len(rows[0][1])
    for weight, vector in rows:
        question = [sum_ + weight * one for sum_, one in zip(question, memoryview(vector).cast("b"), strict=True)]
    length = _LENGTH * sum(map(mul, question, question)) ** 0.5 or 1.0
    chosen = ",".join(map(str, sections))
    found = connection.execute(f"SELECT section, vector FROM section_vectors WHERE section IN ({chosen})")
    return {section: sum(map(mul, question, memoryview(vector).cast("b"))) / length for section, vector in found}


def _matrix(file: Path) -> "Vector":
    """The one matrix of a safetensors file: the length of a JSON header, the header, the numbers."""
    import numpy as np

    with file.open("rb") as stream:
        header_bytes = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(header_bytes))
    described = next(value for name, value in header.items() if name != "__metadata__")
    kind = {"F16": np.float16, "F32": np.float32}[described["dtype"]]
    offset = 8 + header_bytes + described["data_offsets"][0]
    numbers = np.fromfile(file, kind, count=described["shape"][0] * described["shape"][1], offset=offset)
    return numbers.reshape(described["shape"]).astype(np.float32)
