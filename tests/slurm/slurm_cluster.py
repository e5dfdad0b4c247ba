"""A Slurm cluster of containers: a controller and three nodes with two GPUs each, device nodes without a driver.

The network has no way out. The daemons are Debian's; nothing here is a stand-in for Slurm.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from sysfs import EMPTY, sysfs

from amdkernel_mcp.debian import find_release, keyring
from amdkernel_mcp.errors import ToolchainError

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
HOOKS = CHECKOUT / "deploy" / "slurm"
NODES = ("gpu1", "gpu2", "gpu3")
SUITE = "forky"
PACKAGES = (
    *("slurmctld", "slurmd", "slurm-client", "docker-cli", "mount", "procps"),
    *("libssl3t64", "libsqlite3-0", "libffi8", "zlib1g", "libbz2-1.0", "liblzma5"),  # of this machine's Python
)
LABEL = "amdkernel.test.slurm"
SLURM_UID = 64030
DEVICE_MAJOR = 240


class NoClusterError(Exception):
    """The cluster cannot be made on this machine."""


def cluster_image() -> str:
    """The image with Debian's Slurm, made once. Raises NoClusterError with the reason."""
    tag = hashlib.sha256(" ".join((SUITE, *PACKAGES)).encode()).hexdigest()[:12]
    name = f"amdkernel-test-slurm:{tag}"
    if subprocess.run(["docker", "image", "inspect", name], capture_output=True, check=False).returncode == 0:
        return name
    if not shutil.which("mmdebstrap"):
        raise NoClusterError("mmdebstrap is not installed")
    try:
        mirror = find_release(SUITE, None).mirror
    except ToolchainError as error:
        raise NoClusterError(error.message) from None
    options = ('Acquire::Check-Valid-Until "false"', 'Acquire::Languages "none"', 'APT::Install-Recommends "false"')
    command = ["mmdebstrap", "--variant=essential", "--format=tar", f"--include={','.join(PACKAGES)}"]
    command += [f"--aptopt={option}" for option in options] + ["--dpkgopt=force-unsafe-io"]
    command += [f"--dpkgopt=path-exclude=/usr/share/{each}/*" for each in ("doc", "man", "locale")]
    command += [f"--keyring={key}"] if (key := keyring()) else []
    built = subprocess.run([*command, SUITE, "-", f"deb {mirror} {SUITE} main"], capture_output=True, check=False)
    if built.returncode:
        raise NoClusterError(f"mmdebstrap failed: {built.stderr.decode(errors='replace').strip()[-300:]}")
    _docker("import", "--change", f"LABEL {LABEL}=1", "-", name, stdin=built.stdout)
    return name


class SlurmCluster:
    """A running cluster. Its containers are named after it; `stop` removes them, the network and nothing else."""

    def __init__(self, folder: Path) -> None:
        self.name = f"amdkernel-slurm-{secrets.token_hex(4)}"
        self.folder = folder
        self._etc = folder / "etc"
        self._hosts = ""
        self.shared = folder / "shared"
        """Mounted on all machines as /shared."""
        self.shared.mkdir(parents=True)

    def start(self) -> None:
        """Returns when all nodes are idle. Raises NoClusterError."""
        image = cluster_image()
        self._write_configuration()
        try:
            self._start_machines(image)
        except RuntimeError as error:  # Docker here may not give the rights that a node needs
            raise NoClusterError(str(error)) from None
        try:
            self.until(lambda: self.states() == dict.fromkeys(NODES, "idle"), 60, "all nodes are idle")
        except AssertionError as error:
            raise NoClusterError(f"{error}; {self.logs()}") from None

    def _start_machines(self, image: str) -> None:
        _docker("network", "create", "--internal", "--label", f"{LABEL}=1", self.name)
        self._start_controller(image)
        for node in NODES:
            self._start_node(image, node)
        self._hosts = "".join(f"{self.address(each)} {each}\n" for each in ("ctl", *NODES))
        self._name_machines("ctl", *NODES)

    def stop(self) -> None:
        """Remove the containers and the network."""
        containers = [self.container(each) for each in ("ctl", *NODES)]
        subprocess.run(["docker", "rm", "--force", "--volumes", *containers], capture_output=True, check=False)
        subprocess.run(["docker", "network", "rm", self.name], capture_output=True, check=False)

    def container(self, machine: str) -> str:
        """Name of the container of `ctl` or of a node."""
        return f"{self.name}-{machine}"

    @property
    def prefix(self) -> str:
        """What a server puts before Slurm's commands."""
        return f"docker exec --interactive --env HOME=/tmp --workdir /tmp {self.container('ctl')}"

    @property
    def gateway(self) -> str:
        """The address of this machine that the nodes reach."""
        form = "{{(index .IPAM.Config 0).Gateway}}"
        return _docker("network", "inspect", "--format", form, self.name).strip()

    def address(self, machine: str) -> str:
        form = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        return _docker("inspect", "--format", form, self.container(machine)).strip()

    def inside(self, machine: str, *command: str, stdin: bytes = b"") -> str:
        """What a command prints on a machine. Raises RuntimeError with its stderr."""
        return _docker("exec", "-i", self.container(machine), *command, stdin=stdin)

    def states(self) -> dict[str, str]:
        """The state of each node, as sinfo says it; `-` after it means that jobs are planned there."""
        lines = self.inside("ctl", "sinfo", "-hN", "-o", "%N %t").splitlines()
        return {node: state.rstrip("-") for node, state in (line.split(maxsplit=1) for line in lines)}

    def jobs(self) -> list[str]:
        """Id, comment, state and reason of each job that has not ended."""
        return self.inside("ctl", "squeue", "-h", "-o", "%i|%k|%T|%r|%N").splitlines()

    def kill_controller(self) -> None:
        """What a crash of its machine does."""
        self.inside("ctl", "sh", "-c", "kill -9 $(pgrep -x slurmctld); while pgrep -x slurmctld; do sleep 0.1; done")

    def start_controller(self) -> None:
        """Start slurmctld again, and wait for it to answer."""
        self.inside("ctl", "slurmctld")
        self.until(lambda: "UP" in self.inside("ctl", "scontrol", "ping"), 120, "the controller answers")

    def kill_node(self, node: str) -> None:
        """What a failure of its power does."""
        _docker("kill", self.container(node))

    def revive(self, node: str) -> None:
        """Start it again, with the address that the others know. Returns when it takes jobs, or is drained."""
        _docker("start", self.container(node))
        self._name_machines(node)
        there = ("idle", "mix", "alloc", "drain", "drng", "comp")
        self.until(lambda: self.states()[node] in there, 180, f"{node} is back")

    def _name_machines(self, *machines: str) -> None:
        """A controller that cannot resolve a lost node's name is slow to start again."""
        for each in machines:
            self.inside(each, "sh", "-c", "cat >> /etc/hosts", stdin=self._hosts.encode())

    def break_gpu(self, node: str, *, busy: bool = True) -> None:
        """From now on another process uses the GPUs of a node, or does no more."""
        folder = "/sys/class/kfd/kfd/proc/4711"
        make = f"mkdir -p {folder} && touch {folder}/vram_51140 {folder}/vram_51141"
        self.inside(node, "sh", "-c", make if busy else f"rm -rf {folder}")

    def clean(self) -> None:
        """End all jobs, and make all nodes idle again."""
        for node in NODES:
            self.break_gpu(node, busy=False)
        self.inside("ctl", "sh", "-c", "scancel -u root; scontrol update nodename=ALL state=resume 2>/dev/null || true")
        self.until(lambda: not self.jobs(), 60, "no job is left")
        self.inside("ctl", "sh", "-c", "scontrol update nodename=gpu[1-3] state=resume 2>/dev/null || true")
        self.until(lambda: set(self.states().values()) == {"idle"}, 60, "all nodes are idle")

    def until(self, done: Callable[[], bool], most_s: float, what: str) -> None:
        """Wait for it. Raises AssertionError with what it was."""
        deadline = time.monotonic() + most_s
        while True:
            try:
                if done():
                    return
            except RuntimeError:
                pass  # the controller is not there at the moment
            assert time.monotonic() < deadline, f"not within {most_s:.0f} s: {what}"
            time.sleep(0.2)

    def logs(self) -> str:
        """The last lines of the logs, for a failure."""
        said = []
        for machine, file in (("ctl", "slurmctld.log"), *((node, "slurmd.log") for node in NODES)):
            command = ["docker", "exec", self.container(machine), "tail", "-n", "5", f"/var/log/{file}"]
            said.append(f"{machine}: {subprocess.run(command, capture_output=True, text=True, check=False).stdout}")
        return "\n".join(said)

    def _write_configuration(self) -> None:
        self._etc.mkdir(parents=True)
        for file in (*HERE.joinpath("machine").glob("*.conf"), *HOOKS.glob("*.sh")):
            shutil.copy(file, self._etc)
        (self._etc / "amdkernel-health.conf").write_text("AMDKERNEL_RECOVERY_S=2\n")
        (self._etc / "slurm.key").write_bytes(os.urandom(1024))
        (self._etc / "slurm.key").chmod(0o600)
        for path in (self._etc, *self._etc.iterdir()):
            os.chown(path, SLURM_UID, SLURM_UID)
        self._etc.chmod(0o755)

    def _start_controller(self, image: str) -> None:
        _docker("run", *self._common("ctl"), image, "/machine/controller")

    def _start_node(self, image: str, node: str) -> None:
        folders = {sys.base_prefix, str(CHECKOUT), *(each for each in sys.path if each.endswith("-packages"))}
        python = [f"--volume={each}:{each}:ro" for each in sorted(folders)]
        # --privileged asks for SYS_RESOURCE, which few containers can give. A wildcard rule undoes ConstrainDevices.
        rights = ["--cap-add=ALL", "--cap-drop=SYS_RESOURCE", "--security-opt=seccomp=unconfined"]
        rights += ["--security-opt=apparmor=unconfined", "--cgroupns=private"]
        rules = [f"--device-cgroup-rule=c {DEVICE_MAJOR}:{minor} rwm" for minor in (0, 128, 129)]
        _docker("run", *self._common(node), *python, *rights, *rules, image, "/machine/node")

    def _common(self, machine: str) -> list[str]:
        return [
            "--detach", "--init", f"--name={self.container(machine)}", f"--hostname={machine}",
            f"--network={self.name}", f"--network-alias={machine}", f"--label={LABEL}=1",
            f"--volume={self._etc}:/etc/slurm", f"--volume={self._machine(machine)}:/machine:ro",
            f"--volume={self.shared}:/shared",
        ]  # fmt: skip

    def _machine(self, machine: str) -> Path:
        """The folder with its start script, and with the driver's files of a node."""
        folder = self.folder / machine
        shutil.copytree(HERE / "machine", folder)
        (folder / "command").write_text(str(Path(sys.executable).with_name("amdkernel")))
        if machine in NODES:
            files = sysfs(NODES.index(machine) + 1)
            for path, text in files.items():
                (folder / "sys" / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / "sys" / path).write_text(text)
            for path in EMPTY:
                (folder / "sys" / path).mkdir(parents=True, exist_ok=True)
        return folder


def _docker(*arguments: str, stdin: bytes = b"") -> str:
    ended = subprocess.run(["docker", *arguments], input=stdin, capture_output=True, timeout=120, check=False)
    if ended.returncode:
        said = ended.stderr.decode(errors="replace")[-3000:]
        raise RuntimeError(f"docker {' '.join(arguments)[:300]}: exit code {ended.returncode}\n{said}")
    return ended.stdout.decode(errors="replace")
