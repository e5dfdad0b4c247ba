#!/usr/bin/env python3
"""Writes the parts of the product as CycloneDX JSON: Python packages of this environment, Debian packages of the image.

scripts/sbom.py [FILE]      without FILE: dist/sbom.cdx.json
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.open_sandbox import open_sandbox
from amdkernel_mcp.execution.setup.packages import DebianPackage, debian_packages


def main() -> None:
    """Write the file and print its name."""
    file = Path(sys.argv[1] if len(sys.argv) > 1 else "dist/sbom.cdx.json")
    sandbox = open_sandbox(load_settings())
    try:
        packages = debian_packages(sandbox)
    finally:
        sandbox.close()
    bom = python_bom()
    bom["components"] += [component(package) for package in packages]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(bom, indent=1, sort_keys=True) + "\n")
    print(f"{file}: {len(bom['components'])} components, {len(packages)} of them Debian packages of the sandbox image")


def python_bom() -> dict[str, Any]:
    """The packages of the environment that runs this script. Source: cyclonedx-bom, "environment"."""
    tool = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", "--output-format", "JSON"]
    bom: dict[str, Any] = json.loads(subprocess.run([*tool, sys.executable], capture_output=True, check=True).stdout)
    return bom


def component(package: DebianPackage) -> dict[str, str]:
    """A Debian package as CycloneDX has it. Source of the purl: package-url/purl-spec, type `deb`."""
    purl = f"pkg:deb/debian/{package.name}@{quote(package.version, safe='')}?arch={package.architecture}"
    return {"type": "library", "name": package.name, "version": package.version, "purl": purl, "bom-ref": purl}


if __name__ == "__main__":
    main()
