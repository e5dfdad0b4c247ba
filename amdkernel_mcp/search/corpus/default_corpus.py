"""The default corpus: the installed and packaged documents that docs_index/sources.toml declares, in one folder."""

import glob
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.progress import Progress, silent
from amdkernel_mcp.search.corpus.archive import extract_text
from amdkernel_mcp.search.corpus.debian import open_archive
from amdkernel_mcp.search.corpus.declared import SourceSpec, load_specs
from amdkernel_mcp.search.corpus.sandbox_documents import sandbox_documents
from amdkernel_mcp.search.corpus.wheel_documents import take_docstrings

_SUBSTITUTION = re.compile(r'^\s*subst\("(\w+)", "(\w+)", "(\w+)"\);', re.MULTILINE)
_LEAST_SUBSTITUTIONS = 100


@dataclass(frozen=True)
class _Origin:
    """Where a source's documents came from."""

    version: str
    origin: str


def fetch_default_corpus(settings: Settings, on_progress: Progress = silent) -> Path:
    """A corpus folder with every available source of sources.toml, below the cache folder.

    What is installed is taken from there, the rest from Debian packages. A source that is not available is reported and
    left out. Raises DocumentationError where there is none at all.
    """
    specs = [spec for spec in load_specs(settings) if spec.packages or spec.installed]
    settings.cache_dir.mkdir(parents=True, exist_ok=True)
    corpus = settings.cache_dir / "docs" / "corpus"
    corpus.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="corpus-", dir=corpus.parent) as scratch:
        made = Path(scratch)
        sandbox, wheels = sandbox_documents(settings), settings.cache_dir / "wheels"
        origins = {spec.name: found for spec in specs if (found := _copy_installed(spec, made, sandbox, wheels))}
        missing = [spec for spec in specs if spec.name not in origins and spec.packages]
        reasons: list[str] = []
        if missing:
            origins |= _fetch(settings, missing, made, on_progress, reasons)
        if not origins:
            raise DocumentationError(
                f"no documentation is available: {'; '.join(dict.fromkeys(reasons))}",
                hint="give a folder or an archive of documents: `amdkernel docs build --from DIR`",
            )
        _write_manifest(made, [spec for spec in specs if spec.name in origins], origins)
        shutil.rmtree(corpus, ignore_errors=True)
        made.rename(corpus)
        made.mkdir()  # so that the temporary folder has something to remove
    return corpus


def _fetch(
    settings: Settings, specs: list[SourceSpec], made: Path, on_progress: Progress, reasons: list[str]
) -> dict[str, _Origin]:
    suites = {spec.name: spec.suite or settings.debian_suite for spec in specs}
    try:
        archive = open_archive(settings, list(suites.values()), on_progress)
    except DocumentationError as error:
        reasons.append(error.message)
        on_progress(f"skipped the documentation packages: {error.message}")
        return {}
    there = archive.versions([package for spec in specs for package in spec.packages])
    chosen = {spec.name: _first_there(spec, suites[spec.name], there) for spec in specs}
    on_progress(f"fetching {', '.join(package[0] for package in chosen.values() if package)}")
    archive.fetch([package for package in chosen.values() if package])
    origins: dict[str, _Origin] = {}
    for spec in specs:
        package = chosen[spec.name]
        try:
            if package is None:
                raise DocumentationError(f"Debian {suites[spec.name]} has none of {', '.join(spec.packages)}")
            origins[spec.name] = _unpack(archive.package(*package), spec, made)
        except DocumentationError as error:
            reasons.append(error.message)
            on_progress(f"skipped {spec.name}: {error.message}")
    return origins


def _first_there(spec: SourceSpec, suite: str, there: dict[tuple[str, str], str]) -> tuple[str, str] | None:
    return next(((one, there[one, suite]) for one in spec.packages if (one, suite) in there), None)


def _unpack(deb: Path, spec: SourceSpec, made: Path) -> _Origin:
    """Puts the documents of a package into the corpus folder."""
    name, version = deb.name.split("_")[:2]
    with tempfile.TemporaryDirectory(dir=made.parent) as scratch, _package_tar(deb) as tar:
        extract_text(tar, Path(scratch), deb.name, wanted=lambda path: _below(path, spec))
        if not _take(spec, Path(scratch), made / spec.name):
            raise DocumentationError(f"{deb.name} holds none of the documents that were expected")
    return _Origin(version.replace("%3a", ":"), f"Debian package {name}")


def _below(path: PurePosixPath, spec: SourceSpec) -> PurePosixPath | None:
    """Where a file of the package goes: its path below `inside`, or None for what is not wanted."""
    depth = len(PurePosixPath(spec.inside).parts)
    if not fnmatchcase("/".join(path.parts[:depth]), spec.inside) or len(path.parts) <= depth:
        return None
    below = PurePosixPath(*path.parts[depth:])
    return below if spec.wants(below.as_posix()) else None


@contextmanager
def _package_tar(deb: Path) -> Iterator[tarfile.TarFile]:
    """The files of a Debian package as a tar stream."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE) as unpack:
        try:
            with tarfile.open(fileobj=unpack.stdout, mode="r|") as tar:
                yield tar
        except (tarfile.TarError, EOFError, OSError) as error:
            deb.unlink(missing_ok=True)
            raise DocumentationError(f"{deb.name} is damaged: {error}") from None
        finally:
            unpack.kill()


def _copy_installed(spec: SourceSpec, made: Path, sandbox: Path, wheels: Path) -> _Origin | None:
    """The documents of the sandbox, of a wheel that set-up fetched, or of an installation on this host."""
    for declared in spec.installed:
        place = declared.replace("$SANDBOX", glob.escape(str(sandbox))).replace("$WHEELS", glob.escape(str(wheels)))
        if place.startswith("$ROCM_PATH") and "ROCM_PATH" not in os.environ:
            continue
        for path in sorted(glob.glob(os.path.expandvars(place)), reverse=True):
            if path.endswith(".whl"):
                if take_docstrings(Path(path), spec, made / spec.name):
                    return _Origin(path.rsplit("/", 1)[-1].split("-")[1], path)
            elif _take(spec, Path(path), made / spec.name):
                return _Origin(_installed_version(Path(path)), path)
    return None


def _installed_version(path: Path) -> str:
    """The version of the ROCm installation above `path`, as its file .info/version says; else `installed`."""
    for parent in path.parents:
        version = parent / ".info" / "version"
        if version.is_file():
            return version.read_text(encoding="utf-8", errors="replace").strip()[:40]
    header = path / "hip_version.h"
    if header.is_file():
        text = header.read_text(encoding="utf-8", errors="replace")
        parts = [re.search(rf"HIP_VERSION_{part}\s+(\d+)", text) for part in ("MAJOR", "MINOR", "PATCH")]
        if all(parts):
            return ".".join(part[1] for part in parts if part)
    return "installed"


def _take(spec: SourceSpec, origin: Path, target: Path) -> int:
    """Copies the documents below `origin` to `target`; how many there were."""
    count = 0
    for path in sorted(origin.rglob("*")) if origin.is_dir() else []:
        below = path.relative_to(origin).as_posix()
        if not spec.wants(below) or not path.is_file():
            continue
        into = target / below.removesuffix(".txt")
        into.parent.mkdir(parents=True, exist_ok=True)
        if spec.read == "hipify":
            count += _write_hipify_table(path, target)
        else:
            shutil.copyfile(path, into)
            count += 1
    return count


def _write_hipify_table(script: Path, target: Path) -> int:
    """The CUDA names that hipify-perl translates, as Markdown, a page for each kind; how many pages."""
    text = script.read_text(encoding="utf-8", errors="replace")
    kinds: dict[str, dict[str, str]] = defaultdict(dict)
    for cuda, hip, kind in _SUBSTITUTION.findall(text):
        if cuda != hip:
            kinds[kind].setdefault(cuda, hip)
    if sum(map(len, kinds.values())) < _LEAST_SUBSTITUTIONS:
        return 0
    for kind, names in kinds.items():
        rows = "\n".join(f"|`{cuda}`|`{hip}`|" for cuda, hip in sorted(names.items()))
        page = f"# CUDA names and their HIP names: {kind.replace('_', ' ')}\n\n|CUDA|HIP|\n|:--|:--|\n{rows}\n"
        (target / f"{kind}.md").write_text(page, encoding="utf-8")
    return len(kinds)


def _write_manifest(made: Path, specs: list[SourceSpec], origins: dict[str, _Origin]) -> None:
    rows = []
    for spec in specs:
        origin = origins[spec.name]
        upstream = re.sub(r"^\d+:|[+~-].*$", "", origin.version)
        named = f"docs-{upstream}" if upstream[:1].isdigit() else "latest"
        url = spec.url.replace("docs-{version}", named) if spec.url else None
        rows.append(
            {"source": spec.name, "version": upstream, "licence": spec.licence, "url": url, "origin": origin.origin}
        )
    (made / "SOURCES.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
