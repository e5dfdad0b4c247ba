"""Gathering the documents that a machine can have."""

import json
import zipfile
from pathlib import Path

import pytest

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.search.corpus.default_corpus import fetch_default_corpus, load_specs
from amdkernel_mcp.search.index.build import build_index
from amdkernel_mcp.search.index.index import open_index
from amdkernel_mcp.search.query.search import search

CORPUS = Path(__file__).parents[1] / "sample_corpus"


@pytest.fixture
def offline(tmp_path: Path) -> Settings:
    """Settings whose mirror is a port where nobody listens."""
    flags = {
        "data_dir": tmp_path / "data",
        "cache_dir": tmp_path / "cache",
        "debian_mirror": "http://127.0.0.1:9/debian",
    }
    return load_settings(flags, {})


@pytest.fixture
def rocm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation with one header and a hipify-perl."""
    root = tmp_path / "rocm-9.9"
    (root / "include/hip").mkdir(parents=True)
    (root / "bin").mkdir()
    (root / ".info").mkdir()
    (root / ".info/version").write_text("9.9.9-1\n")
    header = (CORPUS / "api/example_api.h").read_text()
    (root / "include/hip/hip_runtime_api.h").write_text(header)
    rows = "".join(f'    subst("cudaExample{n}", "hipExample{n}", "memory");\n' for n in range(150))
    (root / "bin/hipify-perl").write_text(f"sub simple {{\n{rows}}}\n")
    monkeypatch.setenv("ROCM_PATH", str(root))
    return root


def test_an_installation_is_indexed_without_any_network(offline: Settings, rocm: Path) -> None:
    said: list[str] = []
    corpus = fetch_default_corpus(offline, said.append)
    listed = {row["source"]: row for row in json.loads((corpus / "SOURCES.json").read_text())}
    assert listed["hip-api"]["version"] == "9.9.9"
    assert listed["hip-api"]["origin"] == str(rocm / "include/hip")
    assert any("skipped" in line for line in said), "what could not be fetched is reported"
    build_index([corpus], offline.data_dir / "docs.sqlite3")
    with open_index(offline.data_dir / "docs.sqlite3") as index:
        assert search(index, "exMemcpyAsync").results[0].version == "9.9.9"
        ported = search(index, "cudaExample7")
    assert any("hipExample7" in line for line in ported.applied)


def test_a_second_run_replaces_the_first(offline: Settings, rocm: Path) -> None:
    first = fetch_default_corpus(offline)
    (rocm / "include/hip/hiprtc.h").write_text("/** Compiles. */\nint hiprtcExample(int x);\n")
    assert fetch_default_corpus(offline) == first
    assert (first / "hip-api/hiprtc.h").is_file()
    assert [path.name for path in first.parent.iterdir() if path.name.startswith("corpus-")] == []


def test_no_source_at_all_is_a_clear_error(offline: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = [spec.model_copy(update={"installed": []}) for spec in load_specs()]
    monkeypatch.setattr("amdkernel_mcp.search.corpus.default_corpus.load_specs", lambda _: everything)
    with pytest.raises(DocumentationError) as caught:
        fetch_default_corpus(offline)
    assert "docs build --from" in (caught.value.hint or "")


def test_every_source_names_its_licence_and_its_address() -> None:
    for spec in load_specs():
        assert spec.licence
        assert spec.url
        assert spec.url.startswith("https://")
        assert all(place.url.startswith("https://") for place in spec.online)


def test_the_reference_of_hip_is_read_from_the_wheel_that_setup_fetched(offline: Settings) -> None:
    bindings = (
        'def hipQuokkaAsync(dst, stream):\n    r"""Copies a quokka.\n\n    See:\n        :py:obj:`~.hipMemcpy`\n\n'
        "    .. rubric:: C signature\n\n    .. code-block:: c\n\n"
        "        hipError_t hipQuokkaAsync(void * dst, hipStream_t stream)\n"
        '    """\n    ...\n\n\ndef _hidden():\n    """Not part of the interface of the bindings."""\n'
    )
    wheel = offline.cache_dir / "wheels/cp312/rocm_bindings_hip-10.0.0.0.1.2-cp312-abi3-any.whl"
    wheel.parent.mkdir(parents=True)
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("rocm/bindings/hip.pyi", bindings)
        archive.writestr("rocm/bindings/hiprtc.pyi", "this is not Python (")
    corpus = fetch_default_corpus(offline)
    listed = {row["source"]: row for row in json.loads((corpus / "SOURCES.json").read_text())}
    assert listed["hip-api-10"]["version"] == "10.0.0.0.1.2"
    build_index([corpus], offline.data_dir / "docs.sqlite3")
    with open_index(offline.data_dir / "docs.sqlite3") as index:
        first, *others = search(index, "hipQuokkaAsync").results
    assert not others, "what is private has no entry"
    assert first.heading.endswith("hipQuokkaAsync")
    assert "hipError_t hipQuokkaAsync(void * dst, hipStream_t stream)" in first.snippet
    assert ":py:obj:" not in first.snippet
