"""An export can be verified without its server, and every change to it is noticed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from amdkernel_mcp.errors import HistoryError
from amdkernel_mcp.history.attempt import Attempt
from amdkernel_mcp.history.export import verify_export, write_export
from amdkernel_mcp.history.history import History

Make = Callable[..., Attempt]


@pytest.fixture
def export(history: History, make: Make, tmp_path: Path) -> Path:
    write_export(history.find(make("the kernel", verdict="incorrect").id), history.artefacts, tmp_path / "export")
    return tmp_path / "export"


def test_an_export_verifies(export: Path) -> None:
    found = verify_export(export)
    assert found.attempt.verdict == "incorrect"
    assert found.artefacts == {found.attempt.source: b"the kernel"}


def test_a_changed_verdict_is_noticed(export: Path) -> None:
    record = (export / "attempt.json").read_bytes()
    (export / "attempt.json").write_bytes(record.replace(b'"verdict":"incorrect"', b'"verdict":"correct"'))
    with pytest.raises(HistoryError, match="signature does not fit"):
        verify_export(export)


def test_a_changed_source_is_noticed(export: Path) -> None:
    source = next((export / "artefacts").iterdir())
    source.write_bytes(b"another kernel")
    with pytest.raises(HistoryError, match="was changed"):
        verify_export(export)


@pytest.mark.parametrize("name", ["attempt.json", "attempt.sig", "public_key.pem"])
def test_a_missing_file_is_named(export: Path, name: str) -> None:
    (export / name).unlink()
    with pytest.raises(HistoryError, match=name):
        verify_export(export)


@pytest.mark.parametrize("key", [b"", b"no key", b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"])
def test_what_is_not_a_key_is_reported(export: Path, key: bytes) -> None:
    (export / "public_key.pem").write_bytes(key)
    with pytest.raises(HistoryError, match="key"):
        verify_export(export)


def test_a_signed_text_that_is_no_record_is_refused(export: Path, history: History) -> None:
    text = b'{"format":"amdkernel-attempt/1","id":"../../etc"}'
    (export / "attempt.json").write_bytes(text)
    (export / "attempt.sig").write_bytes(history._key.sign(text))
    with pytest.raises(HistoryError, match="not the record of an attempt"):
        verify_export(export)


def test_an_export_never_overwrites_another(export: Path, history: History, make: Make) -> None:
    with pytest.raises(HistoryError, match="has an export already"):
        write_export(history.find(make().id), history.artefacts, export)


def test_the_readme_says_whose_key_it_is(export: Path) -> None:
    assert verify_export(export).fingerprint in (export / "README.txt").read_text()
