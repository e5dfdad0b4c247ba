"""Builds the index: reads every source, cuts pages into chunks, writes one SQLite file and puts it in place at once."""

import json
import os
import re
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.progress import Progress, silent
from amdkernel_mcp.search.checksum import write_checksum
from amdkernel_mcp.search.corpus.archive import is_archive, unpacked
from amdkernel_mcp.search.corpus.sources import (
    Source,
    document_paths,
    read_pages,
    sources_in,
)
from amdkernel_mcp.search.formats.page import Page, Section, slug
from amdkernel_mcp.search.index.chunk import chunks_of
from amdkernel_mcp.search.index.embeddings import EMBEDDED_CHARS, Model, load_model
from amdkernel_mcp.search.index.families import families_in
from amdkernel_mcp.search.index.index import FORMAT, NO_INDEX_HINT, SCHEMA, pack_text
from amdkernel_mcp.search.index.postings import SCHEMA as POSTINGS_SCHEMA
from amdkernel_mcp.search.index.postings import PostingsWriter
from amdkernel_mcp.search.index.priors import Priors, load_priors
from amdkernel_mcp.search.index.section_questions import Questions, load_questions, questions_of
from amdkernel_mcp.search.index.section_summary import section_summary
from amdkernel_mcp.search.index.tokens import STOP_WORDS, pieces, tokens, tokens_of_word, words
from amdkernel_mcp.search.index.weights import Weights, chosen_weights

Documents = Path | Source
"""A corpus folder, an archive of one, or one source."""
_WORD_CHARS = re.compile(r"\W+")
_CUDA_ROW = re.compile(
    r"^\|\s*`((?:cuda|cu[A-Z_]|CU[A-Z_]|nvrtc|NVRTC|curand|cublas|cufft|cusparse|cusolver|cudnn)\w*)`\s*\|(.*)$", re.M
)
_HIP_NAME = re.compile(r"`((?:hip|HIP|rocblas_|rocsparse_|rocsolver_|rocrand_|miopen)\w+)`")
_DIGITS_AND_SPACE = re.compile(r"[\d\W]+")
_TABLE_FILE = re.compile(r"\.ya?ml/")
_ROW_CHARS = 40
_TELLING_NAME = 5  # letters; a folder that begins with `hip-` or `rocm-` is not a copy
EMBEDDED_AT_ONCE = 500
_IDENTIFIER = re.compile(r"^[\w-]+$")


@dataclass(frozen=True)
class BuildReport:
    """What an index was made of. `skipped` says why a page could not be used."""

    index: Path
    sources: tuple[str, ...]
    pages: int
    sections: int
    chunks: int
    seconds: float
    bytes: int
    skipped: tuple[str, ...]


def build_index(
    documents: Sequence[Documents], index_path: Path, on_progress: Progress = silent, *, recipe: str = "{}"
) -> BuildReport:
    """Builds the index of all `documents` at `index_path`. Of two sources of one name the first is taken.

    An existing index stays in place until the new one is complete. `recipe` is stored in it for the next refresh.
    Raises DocumentationError where nothing can be read at all; a page that cannot be read is skipped and reported.
    """
    began = time.monotonic()
    try:
        index_path.parent.mkdir(parents=True, exist_ok=True)
        partial = index_path.with_name(f".{index_path.name}.{os.getpid()}.partial")
        with (
            _removed_on_error(partial),
            ExitStack() as open_archives,
            closing(sqlite3.connect(partial)) as connection,
        ):
            writer = _Writer(connection)
            for one in documents:
                for source in _sources_of(one, open_archives, on_progress):
                    _add_source(writer, source, on_progress)
            if not writer.pages:
                places = [str(one.folder if isinstance(one, Source) else one) for one in documents]
                raise DocumentationError(
                    f"no documents were found in {', '.join(places) or 'no folder at all'}",
                    hint="documents are .rst, .md, .html, .txt and C/C++ header files",
                )
            on_progress("writing the index")
            writer.finish(recipe)
        write_checksum(partial)
        os.replace(partial, index_path)
    except (OSError, sqlite3.OperationalError) as error:
        raise DocumentationError(f"the index {index_path} cannot be written: {error}", hint=NO_INDEX_HINT) from None
    return BuildReport(
        index=index_path,
        sources=tuple(writer.sources),
        pages=writer.pages,
        sections=writer.sections,
        chunks=writer.chunks,
        seconds=time.monotonic() - began,
        bytes=index_path.stat().st_size,
        skipped=tuple(writer.skipped),
    )


@contextmanager
def _removed_on_error(partial: Path) -> Iterator[None]:
    partial.unlink(missing_ok=True)
    try:
        yield
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _sources_of(documents: Documents, open_archives: ExitStack, on_progress: Progress) -> list[Source]:
    """The sources of a folder, an archive or a source whose folder may be an archive."""
    place = documents.folder if isinstance(documents, Source) else documents
    root = open_archives.enter_context(unpacked(place, on_progress)) if is_archive(place) else place
    if isinstance(documents, Source):
        return [replace(documents, folder=root)]
    found = sources_in(root)
    names = {source.name for source in found}
    # Tables last: a row is left out if another source has an entry for it already, with its text in order. Sources with
    # a copy of another's pages next to last: a text is of the source that is read first.
    return sorted(found, key=lambda source: (source.name.endswith("-tables"), _has_copies(source, names)))


def _has_copies(source: Source, names: set[str]) -> bool:
    """Whether a folder of it is called after another source, as `.claude/skills/flydsl-kernel-authoring` of aiter."""
    others = {name for name in names if len(name) >= _TELLING_NAME} - {source.name}
    folders = {part for path in document_paths(source) for part in path.split("/")[:-1]}
    return any(folder.startswith(f"{name}-") for folder in folders for name in others)


def _add_source(writer: "_Writer", source: Source, on_progress: Progress) -> None:
    if source.name in writer.sources:
        writer.skipped.append(f"{source.folder}: a source called {source.name} was already read")
        return
    before = writer.pages
    paths = list(document_paths(source))
    for at, path in enumerate(paths):
        if at % 200 == 0:
            on_progress(f"reading {source.name}: {at} of {len(paths)} files")
        try:
            for page in read_pages(source, path):
                writer.add_page(source, page)
        except DocumentationError as error:
            writer.skipped.append(f"{source.name}/{path}: {error.message}")
    if writer.pages > before:
        writer.add_source(source)


@dataclass
class _Writer:
    """Fills the tables of a new index."""

    connection: sqlite3.Connection
    priors: Priors = field(default_factory=load_priors)
    model: Model | None = field(default_factory=lambda: load_model())
    weights: Weights = field(default_factory=chosen_weights)
    questions: Questions = field(default_factory=load_questions)
    sources: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    pages: int = 0
    sections: int = 0
    chunks: int = 0
    _spellings: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _documents: Counter[str] = field(default_factory=Counter)
    _to_embed: list[tuple[int, str, str]] = field(default_factory=list)
    _postings: PostingsWriter = field(default_factory=PostingsWriter)
    _bodies: dict[str, str] = field(default_factory=dict)
    _twins: dict[object, int] = field(default_factory=dict)
    _rows: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 4096;")
        self.connection.executescript(SCHEMA + POSTINGS_SCHEMA)
        self.connection.execute("BEGIN")

    def add_source(self, source: Source) -> None:
        """Remembers a source whose pages were added."""
        self.sources.append(source.name)
        api = int(source.name in self.priors.api_sources)
        row = (source.name, source.version, source.licence, api, int(source.has_anchors))
        self.connection.execute("INSERT INTO sources VALUES (?, ?, ?, ?, ?)", row)

    def add_page(self, source: Source, page: Page) -> None:
        """Adds the sections of a page that have text of their own."""
        kept = [section for section in page.sections if self._says_something(source.name, section, page)]
        if not kept:
            return
        self.pages += 1
        prior = self.priors.factor(source.name, page.path)
        row = (self.pages, source.name, page.path, page.title, source.address(page.path), prior)
        try:
            self.connection.execute("INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?)", row)
        except sqlite3.IntegrityError:
            self.pages -= 1
            raise DocumentationError("a page with this path was already read") from None
        anchors: Counter[str] = Counter()
        for at, section in enumerate(kept):
            anchor = slug(section.labels[-1] if section.labels else section.heading) or "section"
            anchors[anchor] += 1
            unique = anchor if anchors[anchor] == 1 else f"{anchor}-{anchors[anchor]}"
            asked = questions_of(self.questions, source.name, page.path, unique)
            self._add_section(page, section, unique, page.keywords if at == 0 else "", asked)
        if source.name == "hipify":
            self._add_aliases(page)

    def _says_something(self, source: str, section: Section, page: Page) -> bool:
        body = _WORD_CHARS.sub("", section.text).lower()
        if self._is_known_row(page, section):
            return False
        if not body:
            return len(section.breadcrumb) == 1 and bool(page.keywords)
        if len(body) <= 120:
            return True
        return self._bodies.setdefault(body if len(body) < 400 else str(hash(body)), source) == source

    def _is_known_row(self, page: Page, section: Section) -> bool:
        """Whether another source has the same entry of a table: its name, and the beginning of what it says."""
        key = (section.heading, _WORD_CHARS.sub("", section.text.split("\n", 1)[0]).lower()[:_ROW_CHARS])
        if _TABLE_FILE.search(page.path):
            return key in self._rows
        self._rows.add(key)
        return False

    def _add_section(self, page: Page, section: Section, anchor: str, keywords: str, questions: str) -> None:
        self.sections += 1
        below = section.breadcrumb[1:]
        text = section.text
        gpus = " ".join(sorted(families_in(" ".join([page.path, *section.breadcrumb]))))
        twin = self._twins.setdefault(_twin_key(section), self.sections)
        self.connection.execute(
            "INSERT INTO sections VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self.sections,
                self.pages,
                anchor,
                json.dumps(below),
                len(text),
                section.line,
                twin,
                gpus,
                pack_text(text),
            ),
        )
        if self.model:
            begun = f"{' > '.join(section.breadcrumb)}. {text}"[:EMBEDDED_CHARS]
            plain = " ".join(word for word in words(questions) if _is_plain(word.lower()))
            self._to_embed.append((self.sections, begun, plain))
            if len(self._to_embed) == EMBEDDED_AT_ONCE:
                self._add_section_vectors()
        if _IDENTIFIER.match(section.heading):
            self.connection.execute(
                "INSERT INTO headings VALUES (?, ?)", (section.heading.strip("_").lower(), self.sections)
            )
        title = tokens(f"{page.title} {page.path}")
        head = tokens(" ".join(below) or section.heading)
        self._count_words(words(f"{page.title} {' '.join(below)}"))
        about = tokens(section_summary(section.heading, text, self.priors.spelled))
        asked = tokens(questions)
        weights = self.weights
        for chunk in chunks_of(text):
            self.chunks += 1
            shown = list(words(text[chunk.start : chunk.end]))
            body = [token for word in shown for token in tokens_of_word(word)] + tokens(f"{chunk.header}\n{keywords}")
            self._count_words(shown)
            row = (self.chunks, self.sections, chunk.start, chunk.end)
            self.connection.execute("INSERT INTO chunks VALUES (?, ?, ?, ?)", row)
            self._postings.add(
                (
                    (weights.title, title),
                    (weights.head, head),
                    (weights.summary, about),
                    (weights.body, body),
                ),
                beside=(weights.questions, asked),
            )
            about = asked = []  # count for the first chunk only

    def _count_words(self, found: Iterable[str]) -> None:
        for word in {piece for one in set(found) for piece in pieces(one)}:
            folded = word.lower()
            self._documents[folded] += 1
            self._spellings[folded][word] += 1

    def _add_aliases(self, page: Page) -> None:
        for section in page.sections:
            for cuda, rest in _CUDA_ROW.findall(section.text):
                found = _HIP_NAME.search(rest)
                if found:
                    self.connection.execute(
                        "INSERT OR IGNORE INTO aliases VALUES (?, ?, ?)", (cuda.lower(), cuda, found[1])
                    )

    def _add_section_vectors(self) -> None:
        if self.model and self._to_embed:
            sections, texts, asked = zip(*self._to_embed, strict=True)
            vectors = self.model.section_vectors(texts, asked)
            rows = [(section, vector) for section, vector in zip(sections, vectors, strict=True) if vector]
            self.connection.executemany("INSERT INTO section_vectors VALUES (?, ?)", rows)
        self._to_embed.clear()

    def _add_word_vectors(self) -> None:
        """Vectors of the plain words that more than one passage holds; a name means nothing to the model."""
        plain = [folded for folded, documents in self._documents.items() if documents > 1 and _is_plain(folded)]
        if self.model and plain:
            found = zip(plain, self.model.vectors(plain), strict=True)
            rows = [(word, vector[1], vector[0]) for word, vector in found if vector]
            self.connection.executemany("INSERT INTO word_vectors VALUES (?, ?, ?)", rows)

    def finish(self, recipe: str) -> None:
        """Writes what is known only at the end, and packs the file."""
        rows = (
            (folded, self._spellings[folded].most_common(1)[0][0], documents)
            for folded, documents in sorted(self._documents.items())
            if len(folded) > 2 and folded not in STOP_WORDS and not folded.isdigit()
        )
        self.connection.executemany("INSERT INTO words VALUES (?, ?, ?)", rows)
        self.connection.execute("CREATE INDEX headings_by_name ON headings (folded)")
        self._postings.write(self.connection)
        self.connection.execute("INSERT INTO meta VALUES ('format', ?), ('recipe', ?)", (FORMAT, recipe))
        self._add_section_vectors()
        self._add_word_vectors()
        self.connection.commit()
        self.connection.execute("VACUUM")


def _is_plain(word: str) -> bool:
    """Whether a word in lower case means something to the model of embeddings: a name does not."""
    return len(word) > 2 and word.isalpha() and word not in STOP_WORDS


def _twin_key(section: Section) -> object:
    """Equal for sections that say the same: one heading, one text, numbers aside (pages per architecture, READMEs)."""
    return section.heading, hash(_DIGITS_AND_SPACE.sub("", section.text))
