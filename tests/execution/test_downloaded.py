"""What a set-up says while packages are downloaded."""

from pathlib import Path

from amdkernel_mcp.execution.setup.downloaded import Downloaded, bytes_there


def test_it_says_how_much_has_come_at_which_rate_and_what_is_left() -> None:
    seen = Downloaded(250_000_000)
    assert seen.says(0.0, 0) is None
    assert seen.says(3.0, 30_000_000) == "downloaded 30 of about 250 MB, 10.0 MB/s, 22 s left"
    assert seen.says(6.0, 30_000_000) is None, "nothing has come since"
    assert seen.says(9.0, 270_000_000) == "downloaded 270 of about 270 MB, 30.0 MB/s, 0 s left"
    assert seen.says(12.0, 0) is None, "apt has removed them"


def test_packages_count_where_apt_keeps_them_whole_and_in_part(tmp_path: Path) -> None:
    archives = tmp_path / "mmdebstrap.x1" / "var/cache/apt/archives"
    (archives / "partial").mkdir(parents=True)
    assert bytes_there(tmp_path) == 0
    (archives / "a.deb").write_bytes(bytes(70))
    (archives / "lock").write_bytes(bytes(1000))
    (archives / "partial" / "b.deb").write_bytes(bytes(7))
    assert bytes_there(tmp_path) == 77
    assert bytes_there(tmp_path / "gone") == 0
