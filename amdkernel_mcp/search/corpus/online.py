"""Sources that are published online, kept below the cache folder: what `amdkernel docs refresh` brings up to date.

online/pages/<source>/...   the documents, and SOURCES.json: a corpus folder like any other
online/state/<source>.json  where they came from, and what the server said of each file
online/raw/<source>.*       an llms-full.txt or an archive as it was sent
"""

import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.progress import Progress, silent
from amdkernel_mcp.search.corpus.declared import OnlinePlace, SourceSpec
from amdkernel_mcp.search.corpus.fetch import Fetcher, TimeOverError, UnreachableError, Validators
from amdkernel_mcp.search.corpus.published import Request, read_archive, read_llms, read_sphinx

MakeFetcher = Callable[[frozenset[str]], Fetcher]
_READERS = {"llms": read_llms, "sphinx": read_sphinx, "archive": read_archive}


class State(BaseModel):
    """What is remembered of a source between two refreshes."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    url: str
    version: str
    fetched: str
    files: dict[str, Validators] = {}


@dataclass(frozen=True)
class Refreshed:
    """The sources that changed, those that did not, and what could not be fetched, with the reason."""

    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    skipped: tuple[str, ...]


@dataclass(frozen=True)
class Online:
    """The folder of online sources."""

    folder: Path

    @property
    def corpus(self) -> Path | None:
        """The corpus folder of what was fetched so far, None where nothing was."""
        pages = self.folder / "pages"
        return pages if (pages / "SOURCES.json").is_file() else None

    def refresh(
        self, specs: Sequence[SourceSpec], on_progress: Progress = silent, make_fetcher: MakeFetcher = Fetcher
    ) -> Refreshed:
        """Asks for every online source of `specs` what changed. What cannot be fetched stays as it is."""
        for name in ("pages", "state", "raw"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        unreachable: set[str] = set()
        outcomes: dict[str, list[str]] = {"changed": [], "unchanged": []}
        skipped: list[str] = []
        for spec in specs:
            if not spec.online:
                continue
            on_progress(f"asking for {spec.name}")
            try:
                changed = self._refresh_one(spec, on_progress, make_fetcher, skipped, unreachable)
                outcomes["changed" if changed else "unchanged"].append(spec.name)
            except DocumentationError as error:
                skipped.append(f"{spec.name}: {error.message}")
        self._write_manifest(specs)
        return Refreshed(tuple(outcomes["changed"]), tuple(outcomes["unchanged"]), tuple(skipped))

    def _refresh_one(
        self,
        spec: SourceSpec,
        on_progress: Progress,
        make_fetcher: MakeFetcher,
        skipped: list[str],
        unreachable: set[str],
    ) -> bool:
        """Whether the source changed. Raises DocumentationError where no place has it.

        The places are tried in their order, but one that failed today does not give way to another form of the same
        pages where it has given them before.
        """
        old = self._state(spec.name)
        reasons = []
        for place in spec.online:
            if place.host in unreachable:
                reasons.append(f"{place.host} cannot be reached")
                continue
            try:
                with make_fetcher(place.all_hosts) as fetcher:
                    return self._take(spec, place, old, fetcher, on_progress, skipped)
            except DocumentationError as error:
                reasons.append(error.message)
                if isinstance(error, UnreachableError):
                    unreachable.add(place.host)
                if isinstance(error, TimeOverError):
                    break
                if old and old.url == place.url:
                    break
        raise DocumentationError("; ".join(dict.fromkeys(reasons)))

    def _take(
        self,
        spec: SourceSpec,
        place: OnlinePlace,
        old: State | None,
        fetcher: Fetcher,
        on_progress: Progress,
        skipped: list[str],
    ) -> bool:
        there = self.folder / "pages" / spec.name
        made = self.folder / "pages" / f".{spec.name}.new"
        # The validators of one place are not valid at another.
        known = old.files if old and old.url == place.url and there.is_dir() else {}
        raw = self.folder / "raw"
        request = Request(spec.name, place, spec.wants, fetcher, known, there, made, raw, on_progress, skipped)
        shutil.rmtree(made, ignore_errors=True)
        try:
            published = _READERS[place.kind](request)
            if published.changed:
                _replace(made, there)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        if published.changed:
            today = datetime.now(UTC).date().isoformat()
            state = State(
                url=place.url, version=published.version or f"latest, {today}", fetched=today, files=published.files
            )
            _write(self.folder / "state" / f"{spec.name}.json", state.model_dump_json(indent=1))
        return published.changed

    def _state(self, name: str) -> State | None:
        try:
            return State.model_validate_json((self.folder / "state" / f"{name}.json").read_text(encoding="utf-8"))
        except (OSError, ValidationError):
            return None

    def _write_manifest(self, specs: Sequence[SourceSpec]) -> None:
        """SOURCES.json of what is there; a source that is declared no longer is left out."""
        rows = []
        for spec in specs:
            state = self._state(spec.name)
            place = next((one for one in spec.online if state and one.url == state.url), None)
            if state is None or place is None or not (self.folder / "pages" / spec.name).is_dir():
                continue
            of_site = place.kind != "archive"
            rows.append(
                {
                    "source": spec.name,
                    "version": state.version,
                    "licence": spec.licence,
                    "url": f"{place.base}{{page}}.html" if of_site else spec.url,
                    "commit": None if of_site else state.version,
                    "origin": f"online {place.kind}",
                }
            )
        manifest = self.folder / "pages" / "SOURCES.json"
        if rows:
            _write(manifest, json.dumps(rows, indent=1))
        else:
            manifest.unlink(missing_ok=True)


def _replace(made: Path, there: Path) -> None:
    old = there.with_name(f".{there.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if there.exists():
        there.rename(old)
    made.rename(there)
    shutil.rmtree(old, ignore_errors=True)


def _write(path: Path, text: str) -> None:
    """Writes a file completely or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)
