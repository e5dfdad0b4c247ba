"""An export is verified where there is no server and no package of ours: with Python alone, or with openssl."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.errors import HistoryError
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.history.attempts import verify
from amdkernel_mcp.history.export import verify_export, write_export
from amdkernel_mcp.history.history import History
from amdkernel_mcp.history.recorder import Recorder, Tried
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.results.kernels import CheckResult
from tests.history.container import SCRIPT, verified_in_a_container
from tests.waiting import AT_MOST_S


def export_of(settings: Settings, folder: Path, verdict: str = "incorrect") -> Path:
    recorder = Recorder(settings)
    answer = CheckResult.model_validate({"verdict": verdict, "reason": "übel", "target": "emulator:gfx942"})
    tried = Tried("check", "// the kernel 🙂", "k.hip", problem=load_problem("vector_add"), baseline="// other")
    name = recorder.record(tried, answer).attempt or ""
    write_export(recorder.history().find(name), recorder.history().artefacts, folder)
    recorder.close()
    return folder


@pytest.fixture
def export(file_settings: Settings, tmp_path: Path) -> Path:
    return export_of(file_settings, tmp_path / "export")


def with_python_alone(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", str(SCRIPT), str(folder), *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=AT_MOST_S)


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))


def one_artefact(folder: Path) -> Path:
    return min((folder / "artefacts").iterdir())


def other_signature(folder: Path) -> None:
    other = export_of(load_settings({"data_dir": folder / "../other"}, {}), folder.parent / "other-export")
    for name in ("attempt.sig", "public_key.pem"):
        shutil.copy(other / name, folder / name)


TAMPERED: dict[str, Callable[[Path], object]] = {
    "the record changed": lambda folder: flip(folder / "attempt.json"),
    "the verdict changed": lambda folder: (folder / "attempt.json").write_bytes(
        (folder / "attempt.json").read_bytes().replace(b'"verdict":"incorrect"', b'"verdict":"correct"')
    ),
    "the signature changed": lambda folder: flip(folder / "attempt.sig"),
    "the signature cut": lambda folder: (folder / "attempt.sig").write_bytes(b"short"),
    "the key changed": lambda folder: flip(folder / "public_key.pem"),
    "another key and its signature": other_signature,
    "an artefact changed": lambda folder: flip(one_artefact(folder)),
    "an artefact removed": lambda folder: one_artefact(folder).unlink(),
    "an artefact added": lambda folder: (folder / "artefacts" / ("0" * 64)).write_text("more"),
    "two artefacts swapped": lambda folder: swap(*sorted((folder / "artefacts").iterdir())[:2]),
    "the record removed": lambda folder: (folder / "attempt.json").unlink(),
    "the signature removed": lambda folder: (folder / "attempt.sig").unlink(),
    "the key removed": lambda folder: (folder / "public_key.pem").unlink(),
    "the artefacts removed": lambda folder: shutil.rmtree(folder / "artefacts"),
}


def swap(one: Path, other: Path) -> None:
    aside = one.with_suffix(".aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


@pytest.mark.parametrize("name", TAMPERED)
def test_whatever_is_changed_removed_or_added_is_noticed_by_both_verifiers(export: Path, name: str) -> None:
    TAMPERED[name](export)
    with pytest.raises(HistoryError):
        verify_export(export)
    ended = with_python_alone(export)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("does not hold: ")


def test_python_alone_verifies_an_export_and_its_key(export: Path) -> None:
    key = verify_export(export).fingerprint
    for more in ((), (key,), (key.upper(),)):
        ended = with_python_alone(export, *more)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert "incorrect, by local" in ended.stdout
        assert f"signed by {key}" in ended.stdout
    assert with_python_alone(export, "0" * 16).returncode == 1


def test_a_record_that_was_signed_again_with_another_key_is_signed_by_an_unknown_one(
    export: Path, tmp_path: Path
) -> None:
    mine = verify(export).key
    forged = export_of(load_settings({"data_dir": tmp_path / "forger"}, {}), tmp_path / "forged", "correct")
    assert not verify(forged, data_dir=tmp_path / "reader").known_key
    with pytest.raises(HistoryError, match=f"not {mine}"):
        verify(forged, key=mine)
    assert verify(export, key=mine).known_key


@pytest.mark.parametrize("as_pem", [False, True])
def test_a_key_that_was_noted_has_an_owner(export: Path, tmp_path: Path, as_pem: bool) -> None:
    folder = tmp_path / "reader" / "trusted_keys"
    folder.mkdir(parents=True)
    (folder / "another.txt").write_text("0123456789abcdef\n")
    (folder / "broken.pem").write_text("-----BEGIN PUBLIC KEY-----\n")
    assert not verify(export, data_dir=tmp_path / "reader").known_key
    pem = (export / "public_key.pem").read_text()
    (folder / "lab.txt").write_text(pem if as_pem else f"{verify(export).key.upper()} of the lab\n")
    found = verify(export, data_dir=tmp_path / "reader")
    assert (found.known_key, found.key_owner) == (True, "lab")


def test_the_server_that_exported_knows_its_own_key(tmp_path: Path) -> None:
    export = export_of(load_settings({"data_dir": tmp_path / "own"}, {}), tmp_path / "mine", "correct")
    assert verify(export, data_dir=tmp_path / "own").key_owner == "this server"


def test_a_changed_readme_is_pointed_out(export: Path) -> None:
    assert verify(export).warnings == []
    with (export / "README.txt").open("a") as readme:
        readme.write("It is all fine.\n")
    assert "README.txt is not signed" in verify(export).warnings[0]


def test_a_file_besides_the_record_is_refused(export: Path) -> None:
    (export / "run-me.sh").write_text("")
    with pytest.raises(HistoryError, match=r"does not name run-me\.sh"):
        verify(export)


def commands_of(readme: str) -> str:
    """The commands that the README gives for a machine without amdkernel, in its order."""
    without = readme[readme.index("Without amdkernel") :]
    return "\n".join(re.findall(r"^  (?!amdkernel)(\S.*)$", without, re.MULTILINE))


def test_the_commands_of_the_readme_verify_with_openssl_alone(export: Path) -> None:
    script = commands_of((export / "README.txt").read_text())
    key = verify_export(export).fingerprint
    ended = subprocess.run(["sh", "-ec", script], cwd=export, capture_output=True, text=True, timeout=AT_MOST_S)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("Signature Verified Successfully")
    assert ended.stdout.count(": OK") == 4
    assert ended.stdout.splitlines()[-1].startswith(key)
    flip(export / "attempt.json")
    assert subprocess.run(["sh", "-ec", script], cwd=export, capture_output=True, timeout=AT_MOST_S).returncode != 0


RFC_8032 = {  # section 7.1: secret key left out; public key, message, signature
    "test 1": (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        "d25bf5f0595bbe24655141438e7a100b",
    ),
    "test 2": (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
        "387b2eaeb4302aeeb00d291612bb0c00",
    ),
}


@pytest.mark.parametrize("name", RFC_8032)
def test_the_script_follows_the_test_vectors_of_the_standard(name: str) -> None:
    from scripts.verify_export import is_signed

    key, message, signature = (bytes.fromhex(part) for part in RFC_8032[name])
    assert is_signed(message, signature, key)
    assert not is_signed(message + b"x", signature, key)
    assert not is_signed(message, signature[:63] + bytes([signature[63] ^ 0x10]), key)


@pytest.mark.sandbox
def test_an_export_is_verified_in_a_container_that_has_python_alone(sandbox: Sandbox, export: Path) -> None:
    code, printed = verified_in_a_container(sandbox, export)
    assert code == 0, printed
    assert f"signed by {verify_export(export).fingerprint}" in printed
    flip(one_artefact(export))
    code, printed = verified_in_a_container(sandbox, export)
    assert code == 1
    assert "was changed" in printed


def test_records_survive_a_new_key(file_settings: Settings, tmp_path: Path) -> None:
    first = export_of(file_settings, tmp_path / "first")
    (file_settings.data_dir / "signing_key.pem").rename(tmp_path / "old.pem")
    second = export_of(file_settings, tmp_path / "second")
    assert verify(first).key != verify(second).key
    history = History(file_settings)
    write_export(history.find(verify(first).attempt), history.artefacts, tmp_path / "again")
    assert verify(tmp_path / "again").key == verify(first).key
    history.close()
