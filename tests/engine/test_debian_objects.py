"""The code objects of AMD's libraries as Debian builds them, and of a folder: each loads, and nothing in it is unknown.

Debian's come by apt and stay in the cache folder; nothing of them is in the repository. Where no mirror has them, there
is nothing to look at. TESTED_OBJECTS names a folder with objects of AITER, Triton or others, which are looked at in the
same way.
"""

import os
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.compiler.containers import contained
from amdkernel_mcp.compiler.elf_file import MAGIC, ElfFile
from amdkernel_mcp.compiler.object_kernels import read_object_kernels
from amdkernel_mcp.compiler.object_target import read_target
from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.inspect_file import inspect_file
from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.execution.runner.coverage import coverage_of_files
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.hardware.occupancy import SIMDS
from amdkernel_mcp.progress import silent
from amdkernel_mcp.results.inspection import InspectResult
from amdkernel_mcp.search.corpus.debian import Archive, open_archive
from amdkernel_mcp.work import Work

pytestmark = [pytest.mark.sandbox, pytest.mark.thorough]

SUITE = "sid"
FILES = (".co", ".hsaco")
LARGEST, SMALL, MOST = 2 << 20, 500 << 10, 10
"""Of the files that are decoded and inspected: bytes, and how many of a package or folder are decoded."""
FOLDER = "TESTED_OBJECTS"


@pytest.fixture(scope="module")
def archive(settings: Settings) -> Archive:
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "amdkernel-dev"
    (cache / "docs").mkdir(parents=True, exist_ok=True)
    try:
        return open_archive(settings.model_copy(update={"cache_dir": cache}), [SUITE], silent)
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


def files_of(package: Path, each: int) -> Iterator[tuple[str, bytes]]:
    """Every `each`-th of the package's code objects, one after the other: a library of AMD is gigabytes."""
    number = 0
    command = ["dpkg-deb", "--fsys-tarfile", str(package)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as unpacking,
        tarfile.open(fileobj=unpacking.stdout, mode="r|") as members,
    ):
        for member in members:
            number += wanted(member)
            if wanted(member) and number % each == 0:
                content = members.extractfile(member)
                assert content is not None
                yield Path(member.name).name, content.read()


def wanted(member: tarfile.TarInfo) -> bool:
    return member.isfile() and member.name.endswith(FILES)


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


@pytest.mark.parametrize(
    ("package", "each", "at_least"), [("libhipblaslt1", 1, 700), ("librocblas4", 4, 200)], ids=["hipBLASLt", "rocBLAS"]
)
def test_the_objects_of_a_library_load_and_their_instructions_are_known(
    sandbox: Sandbox, archive: Archive, tmp_path: Path, package: str, each: int, at_least: int
) -> None:
    """Every `each`-th file is read, and those of some kernels are inspected."""
    count, wrong, decoded, kernels = 0, [], {}, tmp_path / "kernels.hsaco"
    for name, content in files_of(package_of(archive, package), each):
        count += 1
        wrong += not_loaded(name, content)
        emulated = any(arch in name for arch in SIMDS)
        if len(content) <= LARGEST and emulated:
            decoded[name] = content
        if len(content) <= SMALL and emulated and content.startswith(MAGIC):
            kernels.write_bytes(content)
    assert count > at_least
    assert not wrong
    instructions, missing = unknown(sandbox, spread(decoded))
    assert instructions > 100_000
    assert not missing
    check_kernels(inspect_file(sandbox, kernels, work=Work()))


def check_kernels(inspected: InspectResult) -> None:
    assert {found.damaged for found in inspected.objects} == {None}
    kernels = [(found.arch, kernel) for found in inspected.objects for kernel in found.kernels]
    assert kernels
    for arch, kernel in kernels:
        assert arch in SIMDS
        assert None not in (kernel.vgpr, kernel.sgpr, kernel.lds_bytes, kernel.kernarg_bytes), kernel.name
        assert kernel.occupancy_waves_per_simd, kernel.name
        assert kernel.instructions, kernel.name
        assert kernel.not_emulated == [], kernel.name


def test_each_object_of_a_given_folder_loads_and_its_instructions_are_known(sandbox: Sandbox) -> None:
    if FOLDER not in os.environ:
        pytest.skip(f"{FOLDER} names no folder of code objects")
    given = sorted(file for file in Path(os.environ[FOLDER]).rglob("*") if file.name.endswith(FILES))
    assert given
    contents = {str(file): file.read_bytes() for file in given}
    assert not [why for name, content in contents.items() for why in not_loaded(name, content)]
    assert not unknown(sandbox, spread({name: code for name, code in contents.items() if len(code) <= LARGEST}))[1]
