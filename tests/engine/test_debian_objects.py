"""The code objects of AMD's libraries as Debian builds them, and those of a folder: each loads, and nothing in it is unknown.

Debian's come by apt and stay in the cache folder; nothing of them is in the repository. Where no mirror has them, there is
nothing to look at. TESTED_OBJECTS names a folder with objects of AITER, Triton or others, which are looked at in the
same way.
"""

import fnmatch
import os
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.compiler.containers import contained
from amdkernel_mcp.compiler.elf_file import ElfFile
from amdkernel_mcp.compiler.object_kernels import read_object_kernels
from amdkernel_mcp.compiler.object_target import read_target
from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.inspect_file import inspect_file
from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.execution.runner.coverage import coverage_of_files
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.hardware.occupancy import SIMDS
from amdkernel_mcp.results.inspection import InspectResult
from amdkernel_mcp.search.corpus.debian import Archive, open_archive
from amdkernel_mcp.work import Work

pytestmark = [pytest.mark.sandbox, pytest.mark.thorough]

SUITE = "sid"
FILES = ("*.co", "*.hsaco", "*.so.*.*")
LARGEST, MOST = 3 << 20, 12
"""Of the files that are decoded: bytes, and how many of a package or folder."""
FOLDER = "TESTED_OBJECTS"


@pytest.fixture(scope="module")
def archive(settings: Settings) -> Archive:
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "amdkernel-dev"
    (cache / "docs").mkdir(parents=True, exist_ok=True)
    try:
        return open_archive(settings.model_copy(update={"cache_dir": cache}), [SUITE], lambda text: None)
    except DocumentationError as error:
        pytest.skip(error.message)


def package_of(archive: Archive, name: str) -> Path:
    version = archive.versions([name]).get((name, SUITE))
    if version is None:
        pytest.skip(f"Debian {SUITE} has no {name}")
    try:
        return archive.package(name, version)
    except DocumentationError as error:
        pytest.skip(error.message)


def files_of(package: Path) -> Iterator[tuple[str, bytes]]:
    """The package's files of code, one after the other: a library of AMD is gigabytes."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE) as unpacking:
        with tarfile.open(fileobj=unpacking.stdout, mode="r|") as members:
            for member in members:
                if member.isfile() and any(fnmatch.fnmatch(member.name, pattern) for pattern in FILES):
                    content = members.extractfile(member)
                    assert content is not None
                    yield Path(member.name).name, content.read()


def not_loaded(name: str, content: bytes) -> list[str]:
    """Why AMD's runtime would not load the code objects of a file, and those without kernels."""
    wrong = []
    for one in contained(content):
        if one.is_compressed:
            continue  # the sandbox unpacks those that are decoded
        elf = ElfFile(one.content)
        target = read_target(elf)
        kernels, odd = read_object_kernels(elf, target)
        wrong += [f"{name}: {why}" for why in (target.refused, *odd, "" if kernels else "no kernel") if why]
    return wrong


def unknown(sandbox: Sandbox, files: dict[str, bytes]) -> tuple[int, list[str]]:
    """How many instructions the files have for targets that are emulated, and those that no row has."""
    images = [image for file in coverage_of_files(sandbox, files).files for image in file.images if image.arch in SIMDS]
    return sum(image.instructions for image in images), [str(image.missing) for image in images if image.missing]


def spread(files: dict[str, bytes]) -> dict[str, bytes]:
    """Some of them, from first to last."""
    step = max(1, len(files) // MOST)
    return dict(list(files.items())[::step][:MOST])


@pytest.mark.parametrize(("package", "at_least"), [("libhipblaslt1", 200), ("librocblas4", 400)])
def test_each_object_of_a_library_loads_and_its_instructions_are_known(
    sandbox: Sandbox, archive: Archive, package: str, at_least: int
) -> None:
    count, wrong, decoded = 0, [], {}
    for name, content in files_of(package_of(archive, package)):
        count += 1
        wrong += not_loaded(name, content)
        if len(content) <= LARGEST and any(arch in name for arch in SIMDS):
            decoded[name] = content
    assert count > at_least
    assert not wrong
    instructions, missing = unknown(sandbox, spread(decoded))
    assert instructions > 100_000
    assert not missing


def test_the_kernels_of_a_library_in_one_file_have_resources_and_instructions(
    sandbox: Sandbox, archive: Archive, tmp_path: Path
) -> None:
    file = tmp_path / "librocrand.so"
    file.write_bytes(max((content for _, content in files_of(package_of(archive, "librocrand1"))), key=len))
    inspected = inspect_file(sandbox, file, work=Work())
    assert len(inspected.objects) >= 2
    assert {found.damaged for found in inspected.objects} == {None}
    assert not [note for found in inspected.objects for note in found.notes if "does not load" in note]
    assert {found.arch for found in inspected.objects} & set(SIMDS)
    check_kernels(inspected)


def check_kernels(inspected: InspectResult) -> None:
    kernels = [(found.arch, kernel) for found in inspected.objects for kernel in found.kernels]
    assert len(kernels) > 100
    for arch, kernel in kernels:
        assert None not in (kernel.vgpr, kernel.sgpr, kernel.lds_bytes, kernel.kernarg_bytes), kernel.name
        if arch in SIMDS:
            assert kernel.occupancy_waves_per_simd, kernel.name
            assert kernel.instructions, kernel.name
            assert kernel.not_emulated == [], kernel.name


def test_each_object_of_a_given_folder_loads_and_its_instructions_are_known(sandbox: Sandbox) -> None:
    if FOLDER not in os.environ:
        pytest.skip(f"{FOLDER} names no folder of code objects")
    given = sorted(file for pattern in FILES[:2] for file in Path(os.environ[FOLDER]).rglob(pattern))
    assert given
    contents = {str(file): file.read_bytes() for file in given}
    assert not [why for name, content in contents.items() for why in not_loaded(name, content)]
    assert not unknown(sandbox, spread({name: code for name, code in contents.items() if len(code) <= LARGEST}))[1]
