"""The sandbox image with the emulator built otherwise: without x86's vectors, or for AArch64 under qemu.

In the second `python3` is AArch64's, run by qemu: what loads libamdhip64.so by ctypes gets the emulator for AArch64.
Everything else in the image stays as it is.
"""

import contextlib
import io
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from amdkernel_mcp.config import Settings
from amdkernel_mcp.debian import find_release, host_allows_expired, keyring
from amdkernel_mcp.execution.docker.daemon import Daemon
from amdkernel_mcp.execution.docker.ownership import ownership_labels
from amdkernel_mcp.execution.docker.reaper import remove

if TYPE_CHECKING:
    from docker.models.containers import Container

BUILD_TIMEOUT_S = 1500

PORTABLE = """
set -e
cd /opt/amdkernel/emulator
rm -rf glibc-hwcaps
make -j2 -s PORTABLE=1 BUILD=/tmp/objects COVERAGE=build/coverage-report all
rm -rf /tmp/objects
chmod -R a+rX .
"""

# qemu looks every path up under -L first, so that the guest's loader finds its own libraries at the usual paths.
QEMU = "exec /usr/local/bin/qemu-aarch64 -L /arm64 /arm64/usr/bin/python3"
AARCH64 = f"""
set -e
[ -e /arm64/lib ] || ln -s usr/lib /arm64/lib
home=/opt/amdkernel/emulator
clang=$(command -v clang-22 clang-21 | head -n 1)
mkdir -p /arm64$home
cross="--target=aarch64-linux-gnu --sysroot=/arm64 -fuse-ld=lld -idirafter /usr/include"
make -j2 -s -C $home BUILD=/tmp/objects LIBRARY=/arm64$home/libamdhip64.so \\
    CC="$clang $cross -Wno-unused-command-line-argument" /arm64$home/libamdhip64.so
for version in 6 7; do ln -s libamdhip64.so /arm64$home/libamdhip64.so.$version; done
rm -rf /tmp/objects
printf '#!/bin/sh\\n%s "$@"\\n' '{QEMU}' >/usr/local/bin/python3
chmod a+rx /usr/local/bin/python3 /usr/local/bin/qemu-aarch64
chmod -R a+rX /arm64
"""
PACKAGES = ("libllvm22", "libc6-dev", "libgcc-15-dev", "python3-minimal", "libpython3-stdlib")


@contextlib.contextmanager
def portable_image(daemon: Daemon, image_id: str) -> Iterator[str]:
    """The id of the image whose emulator was built with PORTABLE=1; removed at the end."""
    with _container(daemon, image_id, PORTABLE) as container:
        yield from _built(daemon, container)


@contextlib.contextmanager
def aarch64_image(daemon: Daemon, image_id: str, settings: Settings, scratch: Path) -> Iterator[str]:
    """The id of the image whose Python and emulator are AArch64's; removed at the end. Skips where a tool lacks."""
    qemu, mmdebstrap = shutil.which("qemu-aarch64-static"), shutil.which("mmdebstrap")
    if not qemu or not mmdebstrap:
        pytest.skip("needs qemu-aarch64-static and mmdebstrap: apt-get install qemu-user-static mmdebstrap")
    root = scratch / "arm64.tar"
    _make_root(root, settings)
    with _container(daemon, image_id, AARCH64) as container:
        _put_file(container, "usr/local/bin/qemu-aarch64", Path(qemu).read_bytes())
        _put_file(container, "arm64/.here", b"")
        with root.open("rb") as archive:
            container.put_archive("/arm64", archive)
        root.unlink()
        yield from _built(daemon, container)


def _make_root(root: Path, settings: Settings) -> None:
    """A tar of AArch64's C library, LLVM and Python; nothing of it runs here. Skips where Debian has none."""
    suite = settings.debian_suite
    release = find_release(suite, settings.debian_mirror)
    command = ["mmdebstrap", "--variant=extract", "--architectures=arm64", f"--include={','.join(PACKAGES)}"]
    command += ['--aptopt=Acquire::Languages "none"', "--dpkgopt=path-exclude=/usr/share/*"]
    if settings.allow_expired_release or host_allows_expired():
        command += ['--aptopt=Acquire::Check-Valid-Until "false"']
    if key := keyring():
        command += [f"--keyring={key}"]
    done = subprocess.run(
        [*command, suite, str(root), release.mirror], capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode:
        pytest.skip(f"Debian's packages for arm64 cannot be fetched: {done.stderr[-300:]}")


@contextlib.contextmanager
def _container(daemon: Daemon, image_id: str, script: str) -> "Iterator[Container]":
    container = daemon.client.containers.create(
        image=image_id, entrypoint=[], command=["sh", "-c", script], network_mode="none", user="0:0", working_dir="/",
        labels=ownership_labels("test"),
    )  # fmt: skip
    try:
        yield container
    finally:
        remove(container)


def _built(daemon: Daemon, container: "Container") -> Iterator[str]:
    container.start()
    status = container.wait(timeout=BUILD_TIMEOUT_S)["StatusCode"]
    assert status == 0, container.logs(tail=40).decode(errors="replace")
    image = container.commit(changes=["ENTRYPOINT []", "CMD []", "USER 65532:65532"])
    try:
        yield str(image.id)
    finally:
        with contextlib.suppress(Exception):
            daemon.client.images.remove(str(image.id), force=True)


def _put_file(container: "Container", path: str, content: bytes) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo(path)
        member.size, member.mode = len(content), 0o755
        archive.addfile(member, io.BytesIO(content))
    container.put_archive("/", buffer.getvalue())
