"""Builds, rebuilds and refreshes the index: of named folders, this machine's documents, online sources and notes."""

import hashlib
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from pydantic import BaseModel

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.progress import Progress, silent
from amdkernel_mcp.search.corpus.declared import load_specs
from amdkernel_mcp.search.corpus.default_corpus import fetch_default_corpus
from amdkernel_mcp.search.corpus.fetch import Fetcher
from amdkernel_mcp.search.corpus.online import MakeFetcher, Online, Refreshed
from amdkernel_mcp.search.corpus.sources import Source
from amdkernel_mcp.search.index.build import BuildReport, Documents, build_index
from amdkernel_mcp.search.index.index import open_index

NOTES = "notes"
SETUP_S = 120.0
"""How long set-up asks online sources before it continues with what it has."""


class _StoredRecipe(BaseModel):
    folders: list[str] = []
    online: str = ""
    built: str = ""
    not_reached: list[str] = []


@dataclass(frozen=True)
class Recipe:
    """What an index was built from, so that a refresh builds the same from newer documents.

    folders: those that were named; none means what this machine can have. online: a digest of the fetched sources that
    went in, empty for none. built: the day, as 2026-11-27. not_reached: sources that could not be fetched, and why.
    """

    folders: tuple[Path, ...] = ()
    online: str = ""
    built: str = ""
    not_reached: tuple[str, ...] = ()

    def dump(self) -> str:
        """The recipe as it is stored in the index."""
        return _StoredRecipe(
            folders=[str(path.absolute()) for path in self.folders],
            online=self.online,
            built=self.built,
            not_reached=list(self.not_reached),
        ).model_dump_json()

    @classmethod
    def of_index(cls, path: Path) -> Self:
        """The recipe of the index at `path`, of whatever release; the default one where none can be read."""
        try:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
                (value,) = connection.execute("SELECT value FROM meta WHERE key = 'recipe'").fetchone()
            stored = _StoredRecipe.model_validate_json(value)
        except (sqlite3.Error, ValueError, TypeError):  # missing, damaged, or no recipe at all
            return cls()
        return cls(tuple(map(Path, stored.folders)), stored.online, stored.built, tuple(stored.not_reached))


def build(
    settings: Settings,
    index: Path,
    folders: Sequence[Path] = (),
    *,
    online: bool = False,
    not_reached: Sequence[str] = (),
    on_progress: Progress = silent,
) -> BuildReport:
    """Builds the index of `folders`, or of what this machine can have; `online`: and of what was fetched.

    What the user declares in `docs_sources` and `docs_notes` goes in as well. Raises DocumentationError.
    """
    fetched = _online(settings).corpus if online else None
    own = [*_declared_folders(settings), *_notes(settings)]
    documents: list[Documents] = [fetched] if fetched else []
    if folders:
        documents += [*own, *folders]
    else:
        documents += [*own, *_default(settings, on_progress, required=not documents and not own)]
    recipe = Recipe(tuple(folders), _digest(fetched), datetime.now(UTC).date().isoformat(), tuple(not_reached))
    return build_index(documents, index, on_progress, recipe=recipe.dump())


def remake(settings: Settings, index: Path, *, on_progress: Progress = silent) -> BuildReport | None:
    """Rebuilds the index where it is missing, damaged or of another release, of the same documents.

    The first one takes the newest that can be reached in SETUP_S: what is published online, else packages and what is
    installed. Without a network it does not fail.
    """
    try:
        open_index(index).close()
    except DocumentationError:
        if not index.is_file():
            return first(settings, index, on_progress=on_progress)
        old = Recipe.of_index(index)
        return build(
            settings,
            index,
            old.folders,
            online=bool(old.online),
            not_reached=old.not_reached,
            on_progress=on_progress,
        )
    return None


def first(
    settings: Settings,
    index: Path,
    *,
    within_s: float = SETUP_S,
    on_progress: Progress = silent,
    make_fetcher: MakeFetcher | None = None,
) -> BuildReport:
    """Builds the index of the newest documents that can be reached in `within_s` seconds; notes what was not."""
    until = time.monotonic() + within_s
    made = make_fetcher or (lambda hosts: Fetcher(hosts, until=until))
    try:
        missing: Sequence[str] = fetch_online(settings, on_progress, made).skipped
    except DocumentationError as error:
        on_progress(f"nothing was fetched online: {error.message}")
        missing = [error.message]
    there = _online(settings).corpus is not None
    return build(settings, index, online=there, not_reached=missing, on_progress=on_progress)


def fetch_online(settings: Settings, on_progress: Progress = silent, make_fetcher: MakeFetcher = Fetcher) -> Refreshed:
    """Fetches what changed in the online sources. Raises DocumentationError where none of them could be fetched."""
    refreshed = _online(settings).refresh(load_specs(settings), on_progress, make_fetcher)
    if not refreshed.changed and not refreshed.unchanged:
        raise DocumentationError(
            f"no source could be refreshed: {'; '.join(refreshed.skipped[:3]) or 'none is declared online'}",
            hint="the index stays as it is and works without a network",
        )
    return refreshed


def refresh(
    settings: Settings,
    index: Path,
    *,
    on_progress: Progress = silent,
    make_fetcher: MakeFetcher = Fetcher,
) -> tuple[Refreshed, BuildReport | None]:
    """The same, and rebuilds the index if anything changed; what was fetched, and the new index.

    Where no online source could be fetched the index stays as it is.
    """
    refreshed = fetch_online(settings, on_progress, make_fetcher)
    old = Recipe.of_index(index)
    if index.is_file() and old.online == _digest(_online(settings).corpus):
        return refreshed, None
    missing = refreshed.skipped
    return refreshed, build(settings, index, old.folders, online=True, not_reached=missing, on_progress=on_progress)


def _online(settings: Settings) -> Online:
    return Online(settings.cache_dir / "docs" / "online")


def _digest(corpus: Path | None) -> str:
    """Changes whenever a document does."""
    digest = hashlib.sha256()
    for path in sorted(corpus.rglob("*")) if corpus else ():
        if path.is_file():
            digest.update(f"{path.relative_to(corpus)}\0".encode() if corpus else b"")
            digest.update(path.read_bytes())
    return digest.hexdigest()[:32] if corpus else ""


def _default(settings: Settings, on_progress: Progress, *, required: bool) -> list[Path]:
    """The default corpus; the one of the last time, or none, where there are other documents."""
    try:
        return [fetch_default_corpus(settings, on_progress)]
    except DocumentationError as error:
        if required:
            raise
        on_progress(f"skipped the default documents: {error.message}")
        last = settings.cache_dir / "docs" / "corpus"
        return [last] if last.is_dir() else []


def _declared_folders(settings: Settings) -> list[Source]:
    specs = load_specs(settings)
    return [Source(spec.name, spec.folder, None, spec.licence, spec.url) for spec in specs if spec.folder]


def _notes(settings: Settings) -> list[Source]:
    """The team's own notes and the lessons of past attempts; their version is the day of the newest."""
    folder = settings.docs_notes
    if folder is None:
        return []
    if not folder.is_dir():
        raise DocumentationError(
            f"the notes folder {folder} is not there", hint="`docs_notes` in the settings names it"
        )
    newest = max((path.stat().st_mtime for path in folder.rglob("*.md")), default=0.0)
    return [Source(NOTES, folder, datetime.fromtimestamp(newest, UTC).date().isoformat())]
