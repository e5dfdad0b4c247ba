"""Where Debian comes from."""

import http.server
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from amdkernel_mcp.debian import Release, find_release, sources, tool_mirrors
from amdkernel_mcp.errors import ToolchainError


def test_mirrors_are_read_from_both_formats_of_apt_sources(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text(
        "# deb http://off.example/debian sid main\n"
        "deb [arch=amd64 signed-by=/k.gpg] http://one.example/debian/ trixie main\n"
        "deb-src http://source.example/debian trixie main\n"
        "deb cdrom:[Debian]/ trixie main\n"
    )
    (tmp_path / "sources.list.d" / "two.sources").write_text(
        "Types: deb\nURIs: http://two.example/debian\n  https://three.example/debian\nSuites: forky\n"
    )
    (tmp_path / "sources.list.d" / "old.sources.save").write_text("URIs: http://saved.example/debian\n")
    assert sources(tmp_path) == [
        "http://one.example/debian",
        "http://two.example/debian",
        "https://three.example/debian",
    ]


def test_a_release_without_an_end_never_expires() -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    assert not Release("m", "s", None).is_expired(now)
    assert Release("m", "s", datetime(2026, 1, 1, tzinfo=UTC)).is_expired(now)


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[str]:
    """A web server with an Ubuntu under /ubuntu and a Debian where no apt source is near, under /other/debian."""
    for path, origin in {"ubuntu/dists/noble": "Ubuntu", "other/debian/dists/forky": "Debian"}.items():
        folder = tmp_path / "www" / path
        folder.mkdir(parents=True)
        (folder / "InRelease").write_text(f"Origin: {origin}\nDate: Fri, 30 Oct 2026 08:08:01 UTC\n")
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "www"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("tool", "line"), [("mmdebstrap", "    my $mirror    = '{}';"), ("debootstrap", 'DEF_MIRROR="{}"')]
)
def test_where_apt_has_no_debian_the_mirror_is_that_of_the_tool(
    mirror: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, line: str
) -> None:
    apt, programs = tmp_path / "apt", tmp_path / "bin"
    for folder in (apt, programs):
        folder.mkdir()
    (apt / "sources.list").write_text(f"deb {mirror}/ubuntu noble main\n")
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(ToolchainError, match="none of this host's apt sources has Debian forky"):
        find_release("forky", None, apt=apt)
    script = programs / tool
    script.write_text(f"#!/bin/sh\n{line.format(f'{mirror}/other/debian')}\n")
    script.chmod(0o755)
    assert find_release("forky", None, apt=apt) == Release(
        f"{mirror}/other/debian", "forky", None, datetime(2026, 10, 30, 8, 8, 1, tzinfo=UTC)
    )


def test_the_mirror_of_the_tool_of_this_machine_is_found() -> None:
    assert [uri for uri in tool_mirrors() if uri.endswith("/debian")], "mmdebstrap names its mirror in another way now"
