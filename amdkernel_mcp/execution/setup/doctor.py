"""`amdkernel doctor`: what works, what is missing, and the one command that fixes it."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import AmdkernelError
from amdkernel_mcp.execution.docker.daemon import connect, start_command
from amdkernel_mcp.execution.docker.image import (
    SUITES,
    compiler_name,
    compilers,
    find_image,
    image_name,
    of_compiler,
    settled,
    torch_name,
    triton_name,
)
from amdkernel_mcp.execution.gpus import local_gpus
from amdkernel_mcp.execution.open_sandbox import open_sandbox, uses_no_containers
from amdkernel_mcp.execution.setup.packages import debian_packages
from amdkernel_mcp.extensions import listed
from amdkernel_mcp.results.machine import DoctorCheck, DoctorResult

_SETUP = "amdkernel setup"
_NEEDED_BYTES = 3 << 30

# One job that inspects all parts; a part that is missing prints nothing after its name.
_INSPECT = """cd /opt/amdkernel
echo "toolchain $(cat toolchain)"
echo "emulator $(ls emulator/libamdhip64.so)"
echo "runner $(PYTHONPATH=python:runner LD_LIBRARY_PATH=emulator python3 -c 'from hip import hip; print("hip-python")')"
"""


def doctor(settings: Settings) -> DoctorResult:
    """All checks, in the order in which they depend on each other. Starts nothing and fixes nothing."""
    packages: list[str] = []
    checks = [*_sandbox(settings, packages), _docs_index(settings), _gpu(), _disk(settings), *_extensions()]
    return DoctorResult(ok=all(check.status != "missing" for check in checks), checks=checks, packages=packages)


def _sandbox(settings: Settings, packages: list[str]) -> Iterator[DoctorCheck]:
    """The checks of the sandbox; `packages` gets what is installed in it."""
    if uses_no_containers(settings):
        remedy = None if settings.isolation == "none" else "sudo apt-get install docker.io"
        found = "not used: jobs run as subprocesses, isolation none"
        yield DoctorCheck(name="Docker", status="warning", found=found, remedy=remedy)
    else:
        docker = _docker(settings)
        yield docker
        if docker.status == "missing":
            yield from (_unknown(name) for name in ("image", "toolchain", "emulator", "runner"))
            return
        image = _image(settings)
        yield image
        if image.status == "missing":
            yield from (_unknown(name) for name in ("toolchain", "emulator", "runner"))
            return
        yield from _beside(settings)
    yield from _parts(settings, packages)


def _docker(settings: Settings) -> DoctorCheck:
    try:
        daemon = connect(settings.docker_host)
    except AmdkernelError as error:
        return DoctorCheck(name="Docker", status="missing", found=error.message, remedy=start_command())
    try:
        return describe(daemon.info)
    except AmdkernelError as error:
        return DoctorCheck(name="Docker", status="missing", found=error.message, remedy=error.hint)
    finally:
        daemon.close()


def describe(info: Mapping[str, Any]) -> DoctorCheck:
    """What `docker info` says about limits, and about Docker Desktop, which runs a virtual machine."""
    found = f"{info['ServerVersion']}, cgroup v{info.get('CgroupVersion', '1')}, {info['NCPU']} CPUs"
    found += f", {info['MemTotal'] / 2**30:.0f} GiB"
    if info.get("OperatingSystem") == "Docker Desktop":
        found += "; Docker Desktop: these are its virtual machine's, and no GPU of this machine reaches it"
    if info.get("Architecture", "x86_64") not in ("x86_64", "amd64"):
        found += f"; it emulates x86-64 on {info['Architecture']}: the same results, more slowly"
    missing = [name for name in ("MemoryLimit", "PidsLimit", "CpuCfsQuota") if info.get(name) is False]
    if not any("seccomp" in option for option in info.get("SecurityOptions") or []):
        missing.append("seccomp")
    if missing:
        found += f"; it cannot enforce {', '.join(missing)}"
        remedy = "run the daemon as root, with the cgroup controllers cpu, memory and pids"
        return DoctorCheck(name="Docker", status="warning", found=found, remedy=remedy)
    return DoctorCheck(name="Docker", status="ok", found=found)


def _image(settings: Settings) -> DoctorCheck:
    daemon = connect(settings.docker_host)
    try:
        name = image_name(settled(daemon, settings))
        image = find_image(daemon, name)
    except AmdkernelError as error:
        return DoctorCheck(name="image", status="missing", found=error.message, remedy=error.hint)
    finally:
        daemon.close()
    if image is None:
        return DoctorCheck(name="image", status="missing", found=f"no {name}", remedy=_SETUP)
    size = image.attrs["Size"] / 1e9
    found = f"{name}, {str(image.id)[:19]}, {size:.1f} GB"
    if suites := image.labels.get(SUITES):
        found += f", Debian {suites}"
    return DoctorCheck(name="image", status="ok", found=found)


def _beside(settings: Settings) -> Iterator[DoctorCheck]:
    """Other compilers and the images with PyTorch and with Triton, which most users do without."""
    daemon = connect(settings.docker_host)
    try:
        ours = settled(daemon, settings)
        images = [
            ("PyTorch", torch_name(ours), "for references that import torch: amdkernel setup --torch"),
            (
                "Triton and FlyDSL",
                triton_name(ours),
                "for kernels in them and in Gluon: amdkernel setup --triton",
            ),
        ]
        others = [hip for hip in compilers() if find_image(daemon, compiler_name(of_compiler(settings, hip)))]
        none = "none; optional, for compile --compare hip:6.4: amdkernel setup --compiler 6.4"
        found = ", ".join(f"HIP {hip}" for hip in others) or none
        yield DoctorCheck(name="other compilers", status="ok", found=found)
        for title, name, what_for in images:
            image = find_image(daemon, name)
            found = f"{name}, {image.attrs['Size'] / 1e9:.1f} GB" if image else f"not installed; optional, {what_for}"
            yield DoctorCheck(name=title, status="ok", found=found)
    finally:
        daemon.close()


def _parts(settings: Settings, packages: list[str]) -> Iterator[DoctorCheck]:
    """The parts that a job in the sandbox finds, which also proves that the sandbox works."""
    try:
        sandbox = open_sandbox(settings)
    except AmdkernelError as error:
        yield DoctorCheck(name="sandbox", status="missing", found=error.message, remedy=error.hint)
        return
    try:
        done = sandbox.run("run", ["sh", "-c", _INSPECT], {}, timeout_s=60)
        packages += [f"{found.name} {found.version} {found.architecture}" for found in debian_packages(sandbox)]
    except AmdkernelError as error:
        yield DoctorCheck(name="sandbox", status="missing", found=error.message, remedy=error.hint)
        return
    finally:
        sandbox.close()
    yield DoctorCheck(name="sandbox", status="ok", found=f"a job took {done.seconds * 1000:.0f} ms")
    lines = done.stderr.splitlines()
    for name in ("toolchain", "emulator", "runner"):
        found = next((line.removeprefix(name).strip() for line in lines if line.startswith(f"{name} ")), "")
        if found:
            yield DoctorCheck(name=name, status="ok", found=found)
        else:
            yield DoctorCheck(name=name, status="missing", found="not in the image", remedy=_SETUP)


def _unknown(name: str) -> DoctorCheck:
    return DoctorCheck(name=name, status="missing", found="not checked: it needs the above", remedy=_SETUP)


def _docs_index(settings: Settings) -> DoctorCheck:
    index = settings.data_dir / "docs.sqlite3"
    if not index.exists():
        return DoctorCheck(name="docs index", status="missing", found=f"no {index}", remedy=_SETUP)
    return DoctorCheck(name="docs index", status="ok", found=f"{index}, {index.stat().st_size / 1e6:.1f} MB")


def _gpu() -> DoctorCheck:
    gpus = local_gpus()
    if gpus:
        found = ", ".join(f"local:{gpu.index} {gpu.name} ({gpu.arch})" for gpu in gpus)
        return DoctorCheck(name="GPU", status="ok", found=found)
    if any("1002" in line for line in _display_controllers()):
        remedy = "install the amdgpu driver, so that /dev/kfd exists"
        return DoctorCheck(name="GPU", status="warning", found="an AMD GPU without its compute driver", remedy=remedy)
    return DoctorCheck(name="GPU", status="ok", found="none; kernels run on the emulated MI300X")


def _display_controllers() -> list[str]:
    """Vendor ids of PCI display controllers (class 03) and accelerators (class 12)."""
    vendors: list[str] = []
    for device in Path("/sys/bus/pci/devices").glob("*"):
        try:
            kind, vendor = (device / "class").read_text(), (device / "vendor").read_text()
        except OSError:
            continue
        if kind.startswith(("0x03", "0x12")):
            vendors.append(vendor.strip())
    return vendors


def _extensions() -> Iterator[DoctorCheck]:
    """What other packages add, where they add something."""
    if found := listed():
        yield DoctorCheck(name="extensions", status="ok", found="; ".join(found))


def _disk(settings: Settings) -> DoctorCheck:
    folder = settings.data_dir
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    found = f"{free / 2**30:.0f} GiB free at {folder}"
    if free < _NEEDED_BYTES:
        remedy = "set AMDKERNEL_DATA_DIR to a folder with 3 GiB free"
        return DoctorCheck(name="disk", status="warning", found=found, remedy=remedy)
    return DoctorCheck(name="disk", status="ok", found=found)
