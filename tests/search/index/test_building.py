"""Building an index: from folders and archives, with bad files among them, and never half."""

import io
import os
import sys
import tarfile
from pathlib import Path

import pytest
import zstandard

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.search.index.build import build_index
from amdkernel_mcp.search.index.index import Index, open_index
from amdkernel_mcp.search.query.search import search

CORPUS = Path(__file__).parents[1] / "sample_corpus"


def page(folder: Path, name: str, text: str | bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def tar_of(path: Path, **files: bytes) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name.replace("__", "/").replace("_up_", "../"))
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def test_a_plain_folder_is_one_source_called_after_it(tmp_path: Path) -> None:
    page(tmp_path / "team-notes", "a.md", "# Title\n\nWave occupancy of our kernels.\n")
    report = build_index([tmp_path / "team-notes"], tmp_path / "i.db")
    assert report.sources == ("team-notes",)
    with open_index(tmp_path / "i.db") as index:
        hit = search(index, "occupancy").results[0]
    assert (hit.source, hit.path, hit.ref) == ("team-notes", "a.md", "team-notes/a.md#title")


def test_a_corpus_folder_gives_versions_and_addresses(index: Index) -> None:
    assert index.versions == {"api": "9.9.1", "guide": "9.9", "notes": "2026-01-02"}
    hit = search(index, "float of padding in a tile").results[0]
    assert hit.url == "https://docs.example.org/guide/how-to/lds.html#bank-conflicts"


def test_a_copy_is_credited_to_the_source_that_its_folder_is_called_after(tmp_path: Path) -> None:
    text = f"# Authoring\n\n{'A quokka tile is copied by four waves in turn. ' * 5}\n"
    page(tmp_path / "c/aiter/skills/quokka-authoring", "SKILL.md", text)
    page(tmp_path / "c/quokka/skills/authoring", "SKILL.md", text)
    (tmp_path / "c/SOURCES.json").write_text('[{"source": "aiter"}, {"source": "quokka"}]')
    build_index([tmp_path / "c"], tmp_path / "i.db")
    with open_index(tmp_path / "i.db") as index:
        assert [hit.source for hit in search(index, "quokka tile").results] == ["quokka"]


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".tar.zst"])
def test_an_archive_is_read_like_a_folder(tmp_path: Path, suffix: str) -> None:
    plain = tar_of(tmp_path / "docs.tar", docs__one__a=b"", docs__a=b"")
    with tarfile.open(plain, "w") as tar:
        tar.add(CORPUS, "corpus")
    packed = tmp_path / f"packed{suffix}"
    if suffix == ".tar.zst":
        packed.write_bytes(zstandard.compress(plain.read_bytes()))
    else:
        with tarfile.open(packed, "w:gz" if suffix == ".tar.gz" else "w") as tar:
            tar.add(CORPUS, "corpus")
    assert set(build_index([packed], tmp_path / "i.db").sources) == {"guide", "api", "notes"}


def test_a_bad_page_is_skipped_and_reported(tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    page(folder, "good.md", "# Good\n\ntext\n")
    page(folder, "binary.md", b"\x00\x01\x02" * 100)
    page(folder, "latin.md", "# Größe\n\ntext\n".encode("latin-1"))
    (folder / "outside.md").symlink_to("/etc/hostname")
    (folder / "dangling.md").symlink_to(folder / "nowhere.md")
    report = build_index([folder], tmp_path / "i.db")
    assert report.pages == 2
    assert [reason for reason in report.skipped if "binary.md" in reason]


def test_an_interrupted_build_leaves_the_old_index(tmp_path: Path) -> None:
    page(tmp_path / "a", "a.md", "# Old\n\nfirst\n")
    build_index([tmp_path / "a"], tmp_path / "i.db")
    before = (tmp_path / "i.db").read_bytes()

    def interrupt(message: str) -> None:
        raise KeyboardInterrupt(message)

    with pytest.raises(KeyboardInterrupt):
        build_index([CORPUS], tmp_path / "i.db", interrupt)
    assert (tmp_path / "i.db").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["a", "i.db"], "nothing half-written is left"


@pytest.mark.parametrize("empty", [True, False])
def test_a_folder_without_documents_is_a_clear_error(tmp_path: Path, empty: bool) -> None:
    folder = tmp_path / "none"
    if empty:
        folder.mkdir()
    with pytest.raises(DocumentationError) as caught:
        build_index([folder], tmp_path / "i.db")
    assert caught.value.hint
    assert not (tmp_path / "i.db").exists()


def test_an_archive_that_reaches_outside_is_refused(tmp_path: Path) -> None:
    for evil in ("../evil.md", "/tmp/evil.md"):
        with tarfile.open(tmp_path / "evil.tar", "w") as tar:
            member = tarfile.TarInfo(evil)
            member.size = 4
            tar.addfile(member, io.BytesIO(b"text"))
        with pytest.raises(DocumentationError, match="outside"):
            build_index([tmp_path / "evil.tar"], tmp_path / "i.db")
    assert not (tmp_path.parent / "evil.md").exists()


def test_links_in_an_archive_are_left_out(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "links.tar", "w") as tar:
        for name, kind in (("d/passwd.md", tarfile.SYMTYPE), ("d/hard.md", tarfile.LNKTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            tar.addfile(member)
        member = tarfile.TarInfo("d/real.md")
        member.size = 12
        tar.addfile(member, io.BytesIO(b"# Real\n\ntext"))
    assert build_index([tmp_path / "links.tar"], tmp_path / "i.db").pages == 1


@pytest.mark.parametrize("content", [b"this is no archive", b"\x28\xb5\x2f\xfd broken", b""])
@pytest.mark.parametrize("suffix", [".tar.zst", ".tar.gz"])
def test_a_damaged_archive_is_a_clear_error(tmp_path: Path, content: bytes, suffix: str) -> None:
    bad = tmp_path / f"bad{suffix}"
    bad.write_bytes(content)
    with pytest.raises(DocumentationError):
        build_index([bad], tmp_path / "i.db")


def test_without_its_package_a_zstandard_archive_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / "docs.tar.zst"
    packed.write_bytes(zstandard.compress(tar_of(tmp_path / "docs.tar", a__md=b"# A").read_bytes()))
    monkeypatch.setitem(sys.modules, "zstandard", None)  # as if it were not installed
    with pytest.raises(DocumentationError) as caught:
        build_index([packed], tmp_path / "i.db")
    assert "amdkernel-mcp[zstd]" in (caught.value.hint or "")
    assert caught.value.file == str(packed)


def test_a_decompression_bomb_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amdkernel_mcp.search.corpus.archive.MOST_BYTES", 1_000_000)
    inner = tar_of(tmp_path / "inner.tar", zeros=b"0" * 3_000_000)
    bomb = tmp_path / "bomb.tar.zst"
    bomb.write_bytes(zstandard.compress(inner.read_bytes()))
    assert bomb.stat().st_size < 10_000
    with pytest.raises(DocumentationError, match="more than"):
        build_index([bomb], tmp_path / "i.db")


def test_a_broken_manifest_is_named_with_its_line(tmp_path: Path) -> None:
    page(tmp_path / "c", "SOURCES.json", '[\n {"source": "a"}\n {}]')
    with pytest.raises(DocumentationError) as caught:
        build_index([tmp_path / "c"], tmp_path / "i.db")
    assert caught.value.line == 3
    page(tmp_path / "c", "SOURCES.json", '[{"source": "../../etc"}]')
    with pytest.raises(DocumentationError, match="cannot name a source"):
        build_index([tmp_path / "c"], tmp_path / "i.db")


@pytest.mark.parametrize("content", [None, b"", b"no database", b"SQLite format 3\x00" + b"x" * 5000])
def test_what_is_no_index_is_a_clear_error(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "i.db").write_bytes(content)
    with pytest.raises(DocumentationError) as caught:
        open_index(tmp_path / "i.db")
    assert ("amdkernel setup" if content is None else "amdkernel docs build") in (caught.value.hint or "")
