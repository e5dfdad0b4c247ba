"""Where Debian comes from."""

from datetime import UTC, datetime
from pathlib import Path

from amdkernel_mcp.debian import Release, sources


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
