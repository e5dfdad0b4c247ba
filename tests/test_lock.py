"""The locks fix what pyproject.toml declares: a version that it allows, with hashes, and no address of a registry."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from scripts import check_lock

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PRODUCT, TEAM, BUILD, DEV = (f"requirements/{name}.txt" for name in ("product", "team", "build", "dev"))
IMAGE = "sandbox/image/hip-python.txt"
MOST_PACKAGES = 60  # that an MCP user installs


def declared_in(file: str) -> list[str]:
    lines = (ROOT / file).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


DECLARED = {
    PRODUCT: PROJECT["dependencies"],
    TEAM: PROJECT["dependencies"] + PROJECT["optional-dependencies"]["team"],
    BUILD: declared_in("requirements/build.in"),
    DEV: PROJECT["dependencies"] + PROJECT["optional-dependencies"]["dev"] + declared_in("requirements/build.in"),
    IMAGE: declared_in("requirements/image.in"),
}


def locked(file: str) -> dict[str, list[Version]]:
    versions: dict[str, list[Version]] = {}
    for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / file).read_text(), re.MULTILINE):
        versions.setdefault(canonicalize_name(name), []).append(Version(version))
    return versions


@pytest.mark.parametrize("file", DECLARED)
def test_a_lock_has_a_version_of_everything_that_is_declared(file: str) -> None:
    versions = locked(file)
    for text in DECLARED[file]:
        wanted = Requirement(text)
        found = versions.get(canonicalize_name(wanted.name), [])
        assert found, f"{file} has no {wanted.name}: run `make lock`"
        assert all(wanted.specifier.contains(version) for version in found), f"{file}: {found} is not {text}"


@pytest.mark.parametrize("file", DECLARED)
def test_every_locked_package_has_hashes_and_no_address(file: str) -> None:
    text = (ROOT / file).read_text()
    entries = re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]
    assert entries
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert "://" not in text
    assert "--index-url" not in text


@pytest.mark.parametrize("file", [PRODUCT, TEAM, BUILD])
def test_the_locks_agree_on_the_versions_of_the_product(file: str) -> None:
    dev = locked(DEV)
    assert {name: dev.get(name) for name in locked(file)} == locked(file)


@pytest.mark.parametrize("environment", list(check_lock.environments()), ids=lambda each: each["python_version"])
def test_what_a_user_installs_stays_small(environment: check_lock.Environment) -> None:
    entries = check_lock.read_lock(ROOT / PRODUCT)
    names = {each.name for each in entries if each.marker is None or each.marker.evaluate(environment)}
    assert len(names) <= MOST_PACKAGES, sorted(names)
