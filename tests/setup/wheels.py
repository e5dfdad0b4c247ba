"""Wheels made here: enough for pip to install and list, and to require others."""

import hashlib
import zipfile
from pathlib import Path


def make_wheel(folder: Path, name: str, version: str, *requires: str) -> str:
    """Write a wheel without code. Returns its line in a lock."""
    distribution = name.replace("-", "_").replace(".", "_")
    info = f"{distribution}-{version}.dist-info"
    metadata = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {one}" for one in requires)]
    files = {
        f"{info}/METADATA": "\n".join(["Metadata-Version: 2.1", *metadata, ""]),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": f"{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n",
    }
    wheel = folder / f"{distribution}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}"
