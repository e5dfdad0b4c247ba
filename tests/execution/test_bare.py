"""The fallback without containers. The commands are ours; that is all it is for."""

import gc
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.cancellation import Cancellation, CancelledWorkError
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.errors import SandboxError, TargetError, ToolchainError
from amdkernel_mcp.execution.bare.runtime import runtime_folder
from amdkernel_mcp.execution.bare.sandbox import BareSandbox, read_folder
from amdkernel_mcp.execution.bare.toolchain import Toolchain, find_toolchain, rocm_environment
from amdkernel_mcp.execution.gpus import Gpu, GpuDevice, visible_device
from amdkernel_mcp.execution.open_sandbox import open_sandbox, uses_no_containers
from amdkernel_mcp.execution.stdin_stream import StdinStream
from amdkernel_mcp.work import cancelled_by


@pytest.fixture
def runtime() -> Iterator[Path]:
    """An empty runtime that any user may read; pytest's own folders are closed to others."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="amdkernel-runtime-"))
    folder.chmod(0o755)
    (folder / "toolchain").write_text("none")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def bare(runtime: Path) -> BareSandbox:
    return BareSandbox(runtime, runtime)


def test_a_job_gets_its_files_and_gives_its_output_folder_back(bare: BareSandbox) -> None:
    lines: list[str] = []
    command = ["sh", "-c", 'cat in/word > "$OUT/word"; echo said; ls /opt/amdkernel']
    done = bare.run("compile", command, {"in/word": b"hip"}, timeout_s=60, on_stderr=lines.append)
    assert (done.exit_code, dict(done.files)) == (0, {"word": b"hip"})
    assert lines[0] == "said"
    assert "toolchain" in done.stderr, "what the image has in /opt/amdkernel is found in the runtime"
    assert bare.isolation == "none"


def test_a_job_reads_its_stdin_stream_and_then_the_end(bare: BareSandbox) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"more")
    os.close(writer)
    stdin_stream = StdinStream(reader, already=b"first")
    done = bare.run("run", ["sh", "-c", 'cat > "$OUT/read"'], {}, timeout_s=60, stdin_stream=stdin_stream)
    os.close(reader)
    assert dict(done.files) == {"read": b"Zmlyc3Q=\nbW9yZQ==\n.\n"}
    assert bytes(stdin_stream.seen) == b"firstmore"


def test_a_run_sees_the_gpu_of_its_target_alone(runtime: Path) -> None:
    gpus = [Gpu(n, "gfx942", "MI300X", f"/dev/dri/renderD{128 + n}", f"1a2b3c4d5e6f700{n}") for n in range(8)]
    device = GpuDevice(gpus[3].render_node, host_gids=(44110,), visible=visible_device(gpus[3], gpus))
    bare = BareSandbox(runtime, runtime, gpu=device)
    shown = ["sh", "-c", "echo ${ROCR_VISIBLE_DEVICES-unset} $(id -G)"]
    visible, *groups = bare.run("run", shown, {}, timeout_s=60).stderr.split()
    assert visible == "GPU-1a2b3c4d5e6f7003"
    assert "44110" in groups or os.geteuid() != 0, "else it could not open the device"
    assert bare.run("compile", shown, {}, timeout_s=60).stderr.startswith("unset")
    space = {kind: bare.run(kind, ["sh", "-c", "ulimit -v"], {}, timeout_s=60).stderr for kind in ("run", "compile")}
    assert space["run"] == "unlimited\n", "AMD's runtime reserves addresses for the memory of all GPUs"
    assert int(space["compile"]) > 1 << 20


def test_gpus_that_share_a_number_are_told_apart_by_their_index() -> None:
    partitions = [Gpu(n, "gfx942", "MI300X, 38 of 304 CUs", f"/dev/dri/renderD{128 + n}", "1a") for n in range(8)]
    assert visible_device(partitions[5], partitions) == "5"
    unnamed = Gpu(1, "gfx1201", "RX 9070 XT", "/dev/dri/renderD129")
    assert visible_device(unnamed, [unnamed]) == "1"


def test_without_containers_a_gpu_that_is_not_there_is_not_replaced_by_another() -> None:
    with pytest.raises(TargetError, match="this machine has no GPU 99"):
        open_sandbox(load_settings({"isolation": "none"}, {}), gpu=99)


def test_a_job_of_root_is_not_root(bare: BareSandbox) -> None:
    done = bare.run("run", ["sh", "-c", "id -u; id -G"], {}, timeout_s=60)
    uid, groups = done.stderr.split("\n")[:2]
    assert uid != "0"
    assert os.geteuid() != 0 or groups == uid


def test_root_refuses_a_kit_that_only_root_can_read(runtime: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root changes users")
    runtime.chmod(0o700)
    with pytest.raises(SandboxError, match="cannot read"):
        BareSandbox(runtime, runtime)


def test_a_late_job_is_ended_and_so_is_its_daemonised_child(bare: BareSandbox) -> None:
    done = bare.run("compile", ["sh", "-c", "setsid sleep 4712 & sleep 4712"], {}, timeout_s=0.5)
    assert done.timed_out
    if os.geteuid() == 0:
        alive = [p for p in Path("/proc").glob("[0-9]*/cmdline") if b"sleep\x004712" in _read(p)]
        assert alive == []


def test_links_and_fifos_in_the_output_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "good").write_text("good")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "folder").symlink_to("/etc")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_text("x")
    assert read_folder(tmp_path, 1 << 20) == ({"good": b"good", "deep/file": b"x"}, False)
    assert read_folder(tmp_path, 4)[0] == {"good": b"good"} or read_folder(tmp_path, 4)[0] == {"deep/file": b"x"}


def test_it_is_used_only_on_request_or_where_docker_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert uses_no_containers(load_settings({"isolation": "none"}, {}))
    assert not uses_no_containers(load_settings({"isolation": "docker"}, {}))
    assert not uses_no_containers(load_settings({"docker_host": "ssh://gpu1"}, {}))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    assert not uses_no_containers(load_settings({}, {})), "Docker is installed here"


def test_without_a_compiler_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    with pytest.raises(ToolchainError) as caught:
        open_sandbox(load_settings({"isolation": "none"}, {}))
    assert "no hipcc" in caught.value.message
    assert "amdkernel setup" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("says", "verdict"),
    [("clang version 17.0.1", "its clang is 17.0.1, and 18 is needed"), ("gcc", "names no clang")],
)
def test_a_compiler_that_cannot_be_used_is_rejected_with_the_reason(tmp_path: Path, says: str, verdict: str) -> None:
    _fake_hipcc(tmp_path, says)
    with pytest.raises(ToolchainError, match=verdict):
        find_toolchain({"ROCM_PATH": str(tmp_path), "PATH": ""})


def test_the_compiler_of_rocm_path_comes_first(tmp_path: Path) -> None:
    _fake_hipcc(tmp_path, "HIP version: 7.1.2\nAMD clang version 20.0.0git")
    found = find_toolchain({"ROCM_PATH": str(tmp_path), "PATH": ""})
    assert (found.rocm_path, found.hip_version, found.clang_version) == (tmp_path, "7.1.2", "20.0.0")


def _fake_hipcc(root: Path, says: str) -> None:
    (root / "bin").mkdir()
    (root / "bin" / "hipcc").write_text(f"#!/bin/sh\necho '{says}'\n")
    (root / "bin" / "hipcc").chmod(0o755)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_distributions_hipcc_gets_no_rocm_path() -> None:
    assert rocm_environment(Path("/usr")) == {}
    assert rocm_environment(Path("/opt/rocm-7.0.2")) == {"ROCM_PATH": "/opt/rocm-7.0.2"}


def test_a_cancelled_job_is_ended_and_its_process_collected(bare: BareSandbox) -> None:
    token = Cancellation()
    threading.Timer(0.5, token.cancel).start()
    began = time.monotonic()
    with cancelled_by(token), pytest.raises(CancelledWorkError):
        bare.run("run", ["sleep", "300"], {}, timeout_s=310)
    assert time.monotonic() - began < 100, "the job ran on"


def test_a_job_whose_watcher_fails_is_ended(bare: BareSandbox) -> None:
    class OddError(Exception):
        pass

    def fail(_line: str) -> None:
        raise OddError

    with pytest.raises(OddError):
        bare.run("run", ["sh", "-c", "echo said; exec sleep 300"], {}, timeout_s=310, on_stderr=fail)
    gc.collect()  # a process that was not collected is a ResourceWarning, which is an error


def test_the_runtime_of_root_is_where_the_users_of_its_jobs_can_read_it(
    runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a rented pod, where all is root's: its home is closed to others, and its data folder may be made later."""
    of_root, data = runtime / "of_root", runtime / "data"
    monkeypatch.setattr("amdkernel_mcp.execution.bare.runtime.OF_ROOT", of_root)
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    def found() -> Path:
        toolchain = Toolchain(Path("/opt/rocm/bin/hipcc"), "7.2", "22.0")
        return runtime_folder(load_settings({"data_dir": data}, {}), toolchain)

    made = found()
    assert made.parent == of_root / "runtimes", "there is no data folder yet"
    data.mkdir(mode=0o755)
    assert found().parent == data / "runtimes"
    made.mkdir(parents=True)
    (made / "ready").touch()
    assert found() == made, "what was set up before"
    data.chmod(0o700)
    assert found() == made
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert found().parent == data / "runtimes", "jobs have this user"
