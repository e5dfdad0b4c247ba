"""Sources that are published online, from a server on this machine: fetched once, asked politely, never half."""

import hashlib
import io
import json
import sqlite3
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.search.corpus.fetch import ATTEMPTS, Fetcher, Validators
from amdkernel_mcp.search.documented import documented
from amdkernel_mcp.search.index.index import open_index
from amdkernel_mcp.search.query.search import search
from amdkernel_mcp.search.update import build, first, refresh, remake

LOCAL = frozenset(("127.0.0.1",))


@dataclass
class Site:
    """A web site of fixed files. `faults`: what the next requests for a path get instead of a plain answer."""

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    faults: dict[str, list[str]] = field(default_factory=dict)
    asked: list[tuple[str, int, dict[str, str]]] = field(default_factory=list)

    def paths(self, status: int | None = None) -> list[str]:
        return [path for path, answered, _ in self.asked if status in (None, answered)]


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            fault = site.faults.get(self.path, [])
            said = fault.pop(0) if fault else ""
            body = site.files.get(self.path)
            if said.isdigit():
                self._answer(int(said), b"later", {"Retry-After": "3"})
            elif self.path in site.redirects:
                self._answer(302, b"", {"Location": site.redirects[self.path]})
            elif body is None:
                self._answer(404, b"none")
            else:
                self._file(body, truncated=said == "truncated")

        def _file(self, body: bytes, *, truncated: bool) -> None:
            etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
            headers = {"ETag": etag}
            if self.headers.get("If-None-Match") == etag:
                return self._answer(304, b"", headers)
            start = 0
            status = 200
            if self.headers.get("Range") and self.headers.get("If-Range") == etag:
                start = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
                headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
                status = 206
            rest = body[start:]
            self._answer(status, rest[: len(rest) // 2] if truncated else rest, headers, length=len(rest))
            self.close_connection = truncated
            return None

        def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None, length: int = -1) -> None:
            site.asked.append((self.path, status, dict(self.headers)))
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body) if length < 0 else length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Tests print nothing."""

    return Handler


@pytest.fixture
def site() -> Iterator[Site]:
    """A server on this machine that stands in for a documentation site."""
    made = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(made))
    made.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def waited() -> list[float]:
    """The pauses that were made."""
    return []


@pytest.fixture
def make_fetcher(waited: list[float]) -> Callable[[frozenset[str]], Fetcher]:
    """A fetcher that notes its pauses and does not make them."""
    return lambda hosts: Fetcher(hosts, pause_s=0, sleep=waited.append)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings without a Debian mirror, whose own sources file the tests write."""
    flags = {
        "data_dir": tmp_path / "data",
        "cache_dir": tmp_path / "cache",
        "debian_mirror": "http://127.0.0.1:9/debian",
        "docs_sources": tmp_path / "sources.toml",
    }
    return load_settings(flags, {})


@pytest.fixture
def only_declared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The sources that come with the package are published elsewhere: no test asks for them."""
    empty = tmp_path / "bundled"
    empty.mkdir()
    (empty / "sources.toml").write_text("source = []\n")
    monkeypatch.setattr("amdkernel_mcp.search.corpus.declared.folder", lambda _: empty)


def declare(settings: Settings, **places: list[dict[str, str]]) -> None:
    assert settings.docs_sources
    rows = []
    for name, online in places.items():
        tables = ", ".join("{ " + ", ".join(f"{k} = {json.dumps(v)}" for k, v in one.items()) + " }" for one in online)
        rows.append(f'[[source]]\nname = "{name}"\nlicence = "MIT"\nonline = [{tables}]\n')
    settings.docs_sources.write_text("\n".join(rows) or "source = []\n")


def llms_full(site: Site, **pages: str) -> bytes:
    """The format of rocm-docs-core: an index, then each page behind a rule and its canonical address."""
    parts = ["# Example documentation\n\n> Index of its pages.\n\n- [One](one.html): a page"]
    base = f"{site.address}/projects/HIP/en/docs-7.2.3/"
    parts += [f"---\n\nSource: {base}{name.replace('__', '/')}.html\n\n{text}" for name, text in pages.items()]
    return ("\n\n".join(parts) + "\n").encode()


LLMS = "/projects/HIP/en/latest/llms-full.txt"
STREAMS = "# Streams\n\n## Priorities\n\nA zebrawood stream runs first.\n\nSource: https://example.org/figure\n"


@pytest.mark.usefixtures("only_declared")
def test_a_page_that_is_only_online_is_found_after_a_refresh(
    site: Site, settings: Settings, tmp_path: Path, make_fetcher: Callable[..., Fetcher], waited: list[float]
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/a.md").write_text("# Mine\n\nA page of my own.\n")
    index = tmp_path / "docs.sqlite3"
    declare(settings, hip=[{"kind": "llms", "url": site.address + LLMS}])
    build(settings, index, [tmp_path / "mine"])
    with open_index(index) as opened:
        assert search(opened, "zebrawood").results == []
    site.files[LLMS] = llms_full(site, **{"how-to__streams": STREAMS, "index": "# Start\n\nWelcome.\n"})
    site.faults[LLMS] = ["503", "truncated"]

    refreshed, report = refresh(settings, index, make_fetcher=make_fetcher)

    assert refreshed.changed == ("hip",)
    assert report is not None
    assert waited[0] == 3, "the server said how long to wait"
    assert [status for _, status, _ in site.asked] == [503, 200, 206], "the rest of the truncated body is asked for"
    with open_index(index) as opened:
        hit = search(opened, "zebrawood stream").results[0]
        assert search(opened, "a page of my own").results[0].source == "mine"
    assert (hit.source, hit.path) == ("hip", "how-to/streams.md")
    assert hit.url == f"{site.address}/projects/HIP/en/latest/how-to/streams.html#priorities"
    assert "Source: https://example.org/figure" in hit.snippet, "a page's own text does not end it"


@pytest.mark.usefixtures("only_declared")
def test_what_did_not_change_is_not_sent_again_and_the_index_stays(
    site: Site, settings: Settings, tmp_path: Path, make_fetcher: Callable[..., Fetcher]
) -> None:
    declare(settings, hip=[{"kind": "llms", "url": site.address + LLMS}])
    site.files[LLMS] = llms_full(site, one=STREAMS)
    index = tmp_path / "docs.sqlite3"
    refresh(settings, index, make_fetcher=make_fetcher)
    before = index.read_bytes()

    refreshed, report = refresh(settings, index, make_fetcher=make_fetcher)

    assert (refreshed.changed, refreshed.unchanged, report) == ((), ("hip",), None)
    assert site.asked[-1][1] == 304
    assert index.read_bytes() == before
    site.files[LLMS] = llms_full(site, two="# Other\n\nQuokka.\n")
    assert refresh(settings, index, make_fetcher=make_fetcher)[0].changed == ("hip",)
    with open_index(index) as opened:
        assert search(opened, "quokka").results[0].path == "two.md"
        assert search(opened, "zebrawood").results == [], "a page that is gone is not found any more"


@pytest.mark.usefixtures("only_declared")
def test_with_the_site_gone_everything_stays_as_it_was(
    site: Site, settings: Settings, tmp_path: Path, make_fetcher: Callable[..., Fetcher], waited: list[float]
) -> None:
    declare(settings, hip=[{"kind": "llms", "url": site.address + LLMS}])
    site.files[LLMS] = llms_full(site, one=STREAMS)
    index = tmp_path / "docs.sqlite3"
    refresh(settings, index, make_fetcher=make_fetcher)
    before = index.read_bytes()
    site.faults[LLMS] = ["503"] * ATTEMPTS
    with pytest.raises(DocumentationError) as caught:
        refresh(settings, index, make_fetcher=make_fetcher)
    assert "stays as it is" in (caught.value.hint or "")
    assert waited[-3:] == [3, 3, 3]
    assert index.read_bytes() == before
    build(settings, index, online=True)  # with what was fetched, and no network at all
    with open_index(index) as opened:
        assert search(opened, "zebrawood").results[0].source == "hip"


@pytest.mark.usefixtures("only_declared")
def test_a_site_without_llms_is_read_page_by_page(
    site: Site, settings: Settings, tmp_path: Path, make_fetcher: Callable[..., Fetcher]
) -> None:
    base = f"{site.address}/projects/X/en/docs-7.2.3"
    declare(settings, x=[{"kind": "llms", "url": f"{base}/llms-full.txt"}, {"kind": "sphinx", "url": base}])
    root = "/projects/X/en/docs-7.2.3"
    names = ["index.rst", "how-to/a.md", "../../etc/passwd", "secret/b.rst", "gone.rst"]
    site.files[f"{root}/searchindex.js"] = f'Search.setIndex({{"filenames":{json.dumps(names)},"x":1}})'.encode()
    site.files[f"{root}/_sources/index.rst"] = b"Start\n=====\n\nAardvark.\n"
    site.files[f"{root}/_sources/how-to/a.md.txt"] = b"# A\n\nQuokka.\n"
    site.files[f"{root}/_sources/secret/b.rst"] = b"B\n=\n\nHidden.\n"
    site.files["/robots.txt"] = f"User-agent: *\nDisallow: {root}/_sources/secret/\n".encode()
    index = tmp_path / "docs.sqlite3"

    refreshed, _ = refresh(settings, index, make_fetcher=make_fetcher)

    assert refreshed.changed == ("x",)
    assert any("robots.txt" in reason for reason in refreshed.skipped), refreshed.skipped
    assert any("gone.rst" in reason for reason in refreshed.skipped), "a broken page is reported and skipped"
    assert not any("passwd" in path for path in site.paths())
    with open_index(index) as opened:
        hit = search(opened, "quokka").results[0]
    assert (hit.version, hit.url) == ("7.2.3", f"{base}/how-to/a.html")
    site.asked.clear()
    site.files[f"{root}/_sources/index.rst"] = b"Start\n=====\n\nWombat.\n"
    assert refresh(settings, index, make_fetcher=make_fetcher)[0].changed == ("x",)
    assert site.paths(304) == [f"{root}/_sources/how-to/a.md.txt"]
    with open_index(index) as opened:
        assert search(opened, "wombat").results
        assert search(opened, "quokka").results, "a page that did not change is kept"


def archive_of(commit: str, **files: bytes) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz", format=tarfile.PAX_FORMAT, pax_headers={"comment": commit}) as tar:
        for name, content in files.items():
            member = tarfile.TarInfo("HIP-develop/" + name.replace("__", "/"))
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return made.getvalue()


@pytest.mark.usefixtures("only_declared")
def test_of_an_archive_the_documents_are_taken_and_its_commit_is_the_version(
    site: Site, settings: Settings, tmp_path: Path, make_fetcher: Callable[..., Fetcher]
) -> None:
    url = f"{site.address}/HIP/archive/develop.tar.gz"
    declare(settings, hip=[{"kind": "archive", "url": url, "inside": "docs"}])
    site.files["/HIP/tar/develop"] = archive_of(
        "0123456789abcdef" * 2 + "01234567", **{"docs__a.rst": b"A\n=\n\nQuokka.\n", "src__b.md": b"# B\n"}
    )
    site.redirects["/HIP/archive/develop.tar.gz"] = "/HIP/tar/develop"
    refresh(settings, tmp_path / "i.db", make_fetcher=make_fetcher)
    with open_index(tmp_path / "i.db") as opened:
        assert [hit.path for hit in search(opened, "quokka").results] == ["a.rst"]
        assert opened.versions == {"hip": "0123456789ab"}


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/a",
        "ftp://127.0.0.1/a",
        "file:///etc/passwd",
        "https://example.org/a",
        "https://me:secret@127.0.0.1/a",
        "http://169.254.169.254/latest/meta-data",
    ],
)
def test_an_address_that_is_not_declared_is_never_asked(
    url: str, site: Site, tmp_path: Path, make_fetcher: Callable[..., Fetcher]
) -> None:
    site.redirects["/moved"] = url
    with make_fetcher(LOCAL) as fetcher:
        for asked in (url, f"{site.address}/moved"):
            with pytest.raises(DocumentationError):
                fetcher.fetch(asked, tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_redirects_that_never_end_are_left(site: Site, tmp_path: Path, make_fetcher: Callable[..., Fetcher]) -> None:
    site.redirects["/a"] = "/a"
    with make_fetcher(LOCAL) as fetcher, pytest.raises(DocumentationError, match="redirects"):
        fetcher.fetch(f"{site.address}/a", tmp_path / "a")


def test_a_body_larger_than_allowed_leaves_nothing(
    site: Site, tmp_path: Path, make_fetcher: Callable[..., Fetcher]
) -> None:
    site.files["/a"] = b"x" * 100_000
    with make_fetcher(LOCAL) as fetcher, pytest.raises(DocumentationError, match="larger"):
        fetcher.fetch(f"{site.address}/a", tmp_path / "a", most_bytes=50_000)
    assert list(tmp_path.iterdir()) == []


def test_a_download_that_was_broken_off_goes_on_in_the_next_run(
    site: Site, tmp_path: Path, make_fetcher: Callable[..., Fetcher]
) -> None:
    site.files["/a"] = bytes(range(256)) * 1000
    site.faults["/a"] = ["truncated"] * ATTEMPTS
    with make_fetcher(LOCAL) as fetcher:
        with pytest.raises(DocumentationError, match="connection failed"):
            fetcher.fetch(f"{site.address}/a", tmp_path / "a")
        assert not (tmp_path / "a").exists(), "a truncated body is never taken for the file"
        fetched = fetcher.fetch(f"{site.address}/a", tmp_path / "a")
        assert (tmp_path / "a").read_bytes() == site.files["/a"]
        assert site.asked[-1][1] == 206
        assert not fetcher.fetch(f"{site.address}/a", tmp_path / "a", known=fetched.validators).changed
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_file_that_changed_meanwhile_is_fetched_from_its_beginning(
    site: Site, tmp_path: Path, make_fetcher: Callable[..., Fetcher]
) -> None:
    site.files["/a"] = b"old " * 1000
    site.faults["/a"] = ["truncated"] * ATTEMPTS
    with make_fetcher(LOCAL) as fetcher:
        with pytest.raises(DocumentationError):
            fetcher.fetch(f"{site.address}/a", tmp_path / "a")
        site.files["/a"] = b"new " * 1000
        fetcher.fetch(f"{site.address}/a", tmp_path / "a", known=Validators('"gone"'))
    assert (tmp_path / "a").read_bytes() == site.files["/a"]


@pytest.mark.usefixtures("only_declared")
def test_an_error_page_in_place_of_an_llms_full_is_refused(
    site: Site, settings: Settings, tmp_path: Path, make_fetcher: Callable[..., Fetcher]
) -> None:
    declare(settings, hip=[{"kind": "llms", "url": site.address + LLMS}])
    site.files[LLMS] = b"<html>We are moving.</html>"
    with pytest.raises(DocumentationError, match=r"not an llms-full\.txt"):
        refresh(settings, tmp_path / "i.db", make_fetcher=make_fetcher)


@pytest.mark.usefixtures("only_declared")
def test_a_team_s_notes_are_a_source(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/lessons.md").write_text("# Softmax\n\nA zebrawood tile of 64 was the fastest.\n")
    declare(settings)
    with_notes = settings.model_copy(update={"docs_notes": tmp_path / "notes"})
    build(with_notes, tmp_path / "i.db")
    with open_index(tmp_path / "i.db") as opened:
        assert search(opened, "zebrawood tile").results[0].source == "notes"


@pytest.mark.usefixtures("only_declared")
def test_an_index_of_another_release_is_made_again_of_the_same_folders(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/a.md").write_text("# Mine\n\nZebrawood.\n")
    declare(settings)
    index = tmp_path / "docs.sqlite3"
    build(settings, index, [tmp_path / "mine"])
    assert remake(settings, index) is None
    with closing(sqlite3.connect(index)) as connection, connection:
        connection.execute("UPDATE meta SET value = '1' WHERE key = 'format'")
    assert remake(settings, index) is not None
    with open_index(index) as opened:
        assert search(opened, "zebrawood").results


@pytest.mark.usefixtures("only_declared")
def test_without_a_network_no_host_is_asked_twice(
    settings: Settings, tmp_path: Path, make_fetcher: Callable[..., Fetcher], waited: list[float]
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/a.md").write_text("# Mine\n\nZebrawood.\n")
    nobody = "http://127.0.0.1:9/{}/llms-full.txt"
    declare(settings, **{name: [{"kind": "llms", "url": nobody.format(name)}] for name in "abc"})
    index = tmp_path / "docs.sqlite3"
    build(settings, index, [tmp_path / "mine"])
    asked: list[frozenset[str]] = []

    def counting(hosts: frozenset[str]) -> Fetcher:
        asked.append(hosts)
        return make_fetcher(hosts)

    with pytest.raises(DocumentationError, match="cannot be reached"):
        refresh(settings, index, make_fetcher=counting)
    assert (len(asked), waited) == (1, [])
    with open_index(index) as opened:
        assert search(opened, "zebrawood").results, "what was there still answers"


@pytest.mark.usefixtures("only_declared")
def test_the_first_index_takes_what_is_online_before_the_same_source_elsewhere(
    site: Site, settings: Settings, tmp_path: Path, make_fetcher: Callable[..., Fetcher]
) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "lds.md").write_text("# Old page\n\nText of the page that came with a package.\n")
    site.files[LLMS] = llms_full(site, **{"how-to__streams": STREAMS})
    online = [{"kind": "llms", "url": site.address + LLMS}]
    gone = [{"kind": "llms", "url": f"{site.address}/gone/llms-full.txt"}]
    declare(settings, hip=online, lost=gone)
    sources = settings.docs_sources
    assert sources
    text = sources.read_text().replace('name = "hip"\n', f'name = "hip"\nfolder = "{old}"\n')
    sources.write_text(text)
    index = tmp_path / "index.sqlite3"
    first(settings, index, make_fetcher=make_fetcher)
    found = documented(index, datetime.now(UTC).date())
    assert [(name, age) for name, _, age in found.sources] == [("hip", 0)]
    assert len(found.not_reached) == 1, found
    assert found.not_reached[0].startswith("lost: ")
    with open_index(index) as opened:
        assert not any("Old page" in hit.title for hit in search(opened, "text of the page").results)


@pytest.mark.usefixtures("only_declared")
def test_without_a_network_the_first_index_is_of_what_is_there(
    settings: Settings, tmp_path: Path, make_fetcher: Callable[..., Fetcher]
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Our note\n\nTiles of 64 by 32 are best for this shape.\n")
    declare(settings, hip=[{"kind": "llms", "url": "http://127.0.0.1:9/llms-full.txt"}])
    index = tmp_path / "index.sqlite3"
    first(settings.model_copy(update={"docs_notes": notes}), index, make_fetcher=make_fetcher)
    found = documented(index, datetime.now(UTC).date())
    assert [name for name, *_ in found.sources] == ["notes"]
    assert "cannot be reached" in found.text


@pytest.mark.usefixtures("only_declared")
def test_when_the_time_is_over_nothing_else_is_asked(site: Site, settings: Settings, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Our note\n\nTiles of 64 by 32 are best for this shape.\n")
    declare(settings, hip=[{"kind": "sphinx", "url": f"{site.address}/en/latest/"}])
    first(settings.model_copy(update={"docs_notes": notes}), tmp_path / "index.sqlite3", within_s=-1)
    assert site.asked == []
    assert "in the time for it" in documented(tmp_path / "index.sqlite3", datetime.now(UTC).date()).text
