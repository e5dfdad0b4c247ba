"""Another machine: a container that has Python and nothing of ours."""

import io
import tarfile
from pathlib import Path

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.docker.daemon import connect
from amdkernel_mcp.execution.sandbox import Sandbox

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "verify_export.py"


def verified_in_a_container(sandbox: Sandbox, export: Path) -> tuple[int, str]:
    """The exit code and the output of scripts/verify_export.py there, without a network."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.add(export, "export")
        archive.add(SCRIPT, "verify_export.py")
    client = connect(load_settings().docker_host).client
    command = ["/tmp/verify_export.py", "/tmp/export"]
    container = client.containers.create(sandbox.image_id, entrypoint=["python3"], command=command, network_mode="none")
    try:
        container.put_archive("/tmp", stream.getvalue())
        container.start()
        code = container.wait()["StatusCode"]
        return code, container.logs().decode()
    finally:
        container.remove(force=True)
        client.close()
