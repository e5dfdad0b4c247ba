"""scripts/check_lock.py proves that a lock is closed, and names what a lock lacks."""

import re
import shutil
from pathlib import Path

import pytest

from scripts import check_lock


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    """A copy of what is declared and locked, to be altered."""
    shutil.copy(check_lock.ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(check_lock.ROOT / "requirements", tmp_path / "requirements")
    return tmp_path


def alter(locks: Path, file: str, pattern: str, replacement: str) -> None:
    lock = locks / "requirements" / file
    text, count = re.subn(pattern, replacement, lock.read_text(), flags=re.MULTILINE)
    assert count == 1, f"{pattern} is {count} times in {file}"
    lock.write_text(text)


def entry(name: str) -> str:
    """The pattern of a package's lines: its version and its hashes."""
    return rf"^{re.escape(name)}==(?:.*\\\n)+.*\n"


def test_the_locks_of_this_checkout_are_closed(locks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_lock.main(locks) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("rich", "pyproject.toml requires rich>="),  # declared
        ("pydantic-core", "pydantic [^ ]+ requires pydantic-core=="),  # of a package of a package
    ],
)
def test_a_pin_that_was_removed_is_named_with_who_requires_it(
    locks: Path, capsys: pytest.CaptureFixture[str], name: str, by: str
) -> None:
    alter(locks, "product.txt", entry(name), "")
    alter(locks, "build.txt", entry("hatchling"), "")
    assert check_lock.main(locks) == 1
    out = capsys.readouterr().out
    assert re.search(r"^requirements/build\.txt: .* requires hatchling>=.*, which is not locked$", out, re.MULTILINE), (
        out
    )
    assert re.search(rf"^requirements/product\.txt: {by}.*, which is not locked$", out, re.MULTILINE), out
    assert "requirements/dev.txt" not in out, "the other lock has it still"


def test_the_package_that_an_extra_needs_is_required(locks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alter(locks, "product.txt", entry("email-validator"), "")
    assert check_lock.main(locks) == 1
    out = capsys.readouterr().out
    assert re.search(r"pydantic [^ ]+ requires email-validator.*; extra == \"email\", which is not locked$", out, re.M)


def test_a_version_that_does_not_fit_is_named(locks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alter(locks, "dev.txt", r"^pydantic==\S+", "pydantic==1.10.0")
    assert check_lock.main(locks) == 1
    out = capsys.readouterr().out
    assert re.search(r"^requirements/dev\.txt: pyproject\.toml requires pydantic.*, but 1\.10\.0 is locked$", out, re.M)
    assert re.search(
        r"^requirements/dev\.txt: pydantic 1\.10\.0 is locked and 2\S+ installed: run `make clean`", out, re.M
    )


def test_a_declared_package_that_is_not_locked_is_named(locks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (locks / "requirements" / "build.in").write_text("hatchling>=1.25\na-new-backend>=1\n")
    assert check_lock.main(locks) == 1
    assert "pyproject.toml requires a-new-backend>=1, which is not locked" in capsys.readouterr().out


def test_a_pin_for_one_python_is_no_pin_for_the_others(locks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alter(locks, "product.txt", r"^(jinja2==\S+)", r"\1 ; python_full_version < '3.13'")
    assert check_lock.main(locks) == 1
    assert "requires jinja2" in capsys.readouterr().out
