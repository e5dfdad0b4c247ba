"""The doctor on this machine, and on one where something is missing."""

from pathlib import Path

import pytest

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.execution.setup.doctor import describe, doctor


@pytest.mark.sandbox
def test_a_machine_that_is_set_up_lacks_nothing_but_the_index_of_this_test(settings: Settings) -> None:
    result = doctor(settings)
    status = {check.name: check.status for check in result.checks}
    assert [name for name, value in status.items() if value == "missing"] == ["docs index"], result
    assert {"Docker", "image", "toolchain", "emulator", "runner", "GPU", "disk"} <= set(status)
    assert "hipcc" in {package.split()[0] for package in result.packages}, "the image lists its Debian packages"


def test_every_missing_part_comes_with_the_command_that_fixes_it(tmp_path: Path) -> None:
    settings = load_settings({"docker_host": f"unix://{tmp_path}/none.sock", "data_dir": tmp_path}, {})
    result = doctor(settings)
    missing = [check for check in result.checks if check.status == "missing"]
    assert not result.ok
    assert "Docker" in {check.name for check in missing}
    assert [check for check in missing if not check.remedy] == []


def test_an_image_that_was_not_built_is_fixed_by_setup(tmp_path: Path) -> None:
    settings = load_settings({"image": "no-such-image:1", "data_dir": tmp_path})
    image = next(check for check in doctor(settings).checks if check.name == "image")
    assert (image.status, image.remedy) == ("missing", "amdkernel setup")


def test_docker_desktop_is_told_from_a_daemon_of_this_machine() -> None:
    linux = {"ServerVersion": "28.2.2", "NCPU": 8, "MemTotal": 8 << 30, "SecurityOptions": ["name=seccomp"]}
    desktop = linux | {"OperatingSystem": "Docker Desktop", "Architecture": "aarch64"}
    plain, found = (
        describe(linux | {"OperatingSystem": "Debian GNU/Linux 12", "Architecture": "x86_64"}),
        describe(desktop),
    )
    assert plain.found == "28.2.2, cgroup v1, 8 CPUs, 8 GiB"
    assert found.status == "ok"
    assert "Docker Desktop: these are its virtual machine's" in found.found
    assert "emulates x86-64 on aarch64" in found.found


def test_without_containers_the_doctor_says_so(tmp_path: Path) -> None:
    settings = load_settings({"isolation": "none", "data_dir": tmp_path}, {})
    docker = next(check for check in doctor(settings).checks if check.name == "Docker")
    assert docker.status == "warning"
    assert "isolation none" in docker.found


@pytest.mark.sandbox
def test_pytorch_is_optional_and_named_with_its_command(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amdkernel_mcp.execution.setup.doctor.torch_name", lambda _: "amdkernel-torch:none")
    torch = next(check for check in doctor(settings).checks if check.name == "PyTorch")
    assert (torch.status, torch.remedy) == ("ok", None)
    assert torch.found.endswith("optional, for references that import torch: amdkernel setup --torch")
