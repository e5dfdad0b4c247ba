"""What a publisher's forms give: an llms-full.txt, a built Sphinx site, an archive of a repository, as documents."""

import json
import re
import shutil
import tarfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.progress import Progress
from amdkernel_mcp.search.corpus.archive import extract_text, open_tar
from amdkernel_mcp.search.corpus.declared import OnlinePlace
from amdkernel_mcp.search.corpus.fetch import Fetcher, NotThereError, TimeOverError, Validators
from amdkernel_mcp.search.formats.llms import pages_of_llms

MOST_PAGES = 3_000
Known = dict[str, Validators]
_FILENAMES = re.compile(r'"?filenames"?\s*:\s*(\[[^\]]*\])')
_SAFE_NAME = re.compile(r"[\w.+-]+(?:/[\w.+-]+)*")
_VERSION = re.compile(r"/en/(?:docs-)?(\d[\w.]*)/")
_COMMIT = re.compile(r"[0-9a-f]{40,64}")


@dataclass(frozen=True)
class Request:
    """One source to be read from one place.

    known: what the server said of each file the last time. there: the folder of the documents as they are now. made:
    where the new ones go. raw: where a file as it was sent is kept. skipped: takes the reason of each page left out.
    """

    name: str
    place: OnlinePlace
    wants: Callable[[str], bool]
    fetcher: Fetcher
    known: Known
    there: Path
    made: Path
    raw: Path
    on_progress: Progress
    skipped: list[str]


@dataclass(frozen=True)
class Published:
    """`changed`: `made` holds new documents. `version`: the one the publisher names, empty where it moves."""

    changed: bool
    version: str
    files: Known


def read_llms(request: Request) -> Published:
    """The pages of an llms-full.txt."""
    url = request.place.url
    raw = request.raw / f"{request.name}.llms-full.txt"
    asked = request.fetcher.fetch(url, raw, known=request.known.get(url))
    if asked.changed:
        text = raw.read_text(encoding="utf-8", errors="replace")
        for page in pages_of_llms(text, request.place.base, request.skipped):
            if request.wants(page.path):
                into = request.made / page.path
                into.parent.mkdir(parents=True, exist_ok=True)
                into.write_text(page.text, encoding="utf-8")
        if not request.made.is_dir():
            raise DocumentationError(f"{url} holds none of the pages that the source takes")
    return Published(asked.changed, _version(request.place.base), {url: asked.validators})


def read_archive(request: Request) -> Published:
    """The documents of a repository's archive."""
    url = request.place.url
    raw = request.raw / f"{request.name}.tar.gz"
    asked = request.fetcher.fetch(url, raw, known=request.known.get(url))
    if not asked.changed:
        return Published(False, "", {url: asked.validators})

    def wanted(path: PurePosixPath) -> PurePosixPath | None:
        with suppress(ValueError):
            # An archive of a repository has one folder, named after repository and revision, around everything.
            below = PurePosixPath(*path.parts[1:]).relative_to(request.place.inside)
            return below if request.wants(below.as_posix()) else None
        return None

    try:
        with open_tar(raw) as tar:
            files = extract_text(tar, request.made, raw.name, wanted=wanted)
            commit = str(tar.pax_headers.get("comment", ""))  # where `git archive` leaves it
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise DocumentationError(f"{url} is not an archive: {error}") from None
    if not files:
        raise DocumentationError(f"{url} holds none of the documents that the source takes")
    return Published(True, commit[:12] if _COMMIT.fullmatch(commit) else "", {url: asked.validators})


def read_sphinx(request: Request) -> Published:
    """The pages that a site's search index names, from `_sources`; each is asked for only if it changed."""
    names = [name for name in _listed(request) if request.wants(name)][:MOST_PAGES]
    files: Known = {}
    reasons = []
    for at, name in enumerate(names):
        if at % 50 == 0:
            request.on_progress(f"asking for {request.name}: {at} of {len(names)} pages")
        try:
            files[name] = _source_of(name, request)
        except TimeOverError:
            raise  # half of a site is worse than the packaged pages
        except DocumentationError as error:
            reasons.append(f"{request.name}/{name}: {error.message}")
            if name in request.known:
                files[name] = request.known[name]
    if len(reasons) > len(names) // 2 or not files:
        raise DocumentationError(f"{request.place.url}: {len(reasons)} of {len(names)} pages could not be fetched")
    request.skipped.extend(reasons)
    return Published(files != request.known, _version(request.place.base), files)


def _listed(request: Request) -> list[str]:
    """The file names of a Sphinx search index. They are the site's words: nothing that leaves its folder."""
    url = f"{request.place.base}searchindex.js"
    listing = request.raw / f"{request.name}.searchindex.js"
    request.fetcher.fetch(url, listing)
    found = _FILENAMES.search(listing.read_text(encoding="utf-8", errors="replace"))
    listed = None
    if found:
        with suppress(ValueError):
            listed = json.loads(found[1])
    if not isinstance(listed, list):
        raise DocumentationError(f"{url} names no pages")
    return [name for name in listed if isinstance(name, str) and _SAFE_NAME.fullmatch(name) and ".." not in name]


def _source_of(name: str, request: Request) -> Validators:
    """Brings one page to `made`. Read the Docs serves its source by its own name, other sites with `.txt` behind it."""
    url = f"{request.place.base}_sources/{name}"
    if not request.fetcher.allows_robots(url):
        raise DocumentationError(f"{url}: the site's robots.txt asks programs to leave it alone")
    into = request.made / name
    into.parent.mkdir(parents=True, exist_ok=True)
    known = request.known.get(name)
    if known and (request.there / name).is_file():
        shutil.copyfile(request.there / name, into)
    try:
        return request.fetcher.fetch(url, into, known=known).validators
    except NotThereError:
        return request.fetcher.fetch(f"{url}.txt", into, known=known).validators


def _version(url: str) -> str:
    found = _VERSION.search(url)
    return found[1] if found else ""
