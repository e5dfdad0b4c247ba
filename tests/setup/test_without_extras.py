"""What an MCP user installs is enough: the packages of requirements/product.txt, and nothing of an extra."""

import os
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from tests.setup.packages import locked

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of a virtual environment with this checkout and the packages of the lock, which are links to those here."""
    made = tmp_path_factory.mktemp("product") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", made], check=True)
    (packages,) = made.glob("lib/python3*/site-packages")
    for name in locked(ROOT / "requirements" / "product.txt", sys.executable):
        files = distribution(name).files or []
        for top in {file.parts[0] for file in files if file.parts[0] not in ("..", "__pycache__")}:
            os.symlink(Path(str(distribution(name).locate_file(top))), packages / top)
    (packages / "checkout.pth").write_text(str(ROOT))
    return made / "bin"


@pytest.mark.anyio
async def test_a_client_gets_the_answer_of_a_tool(bin_folder: Path, tmp_path: Path) -> None:
    own = {"AMDKERNEL_DATA_DIR": str(tmp_path), "AMDKERNEL_CACHE_DIR": str(tmp_path), "PATH": os.environ["PATH"]}
    server = StdioServerParameters(command=str(bin_folder / "python"), args=["-m", "amdkernel_mcp.stdio.main"], env=own)
    async with Client(server) as client:
        answer = await client.call_tool("list_problems", {})
    assert not answer.is_error, answer
    assert answer.structured_content["problems"]


@pytest.mark.parametrize("arguments", [["serve"], ["worker", "--url", "http://127.0.0.1:9"]])
def test_a_command_that_needs_an_extra_says_so_in_one_sentence(bin_folder: Path, arguments: list[str]) -> None:
    command = [str(bin_folder / "python"), "-c", "import amdkernel_mcp.cli.main as cli; cli.main()", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done
    assert f"`amdkernel {arguments[0]}` needs prometheus_client and websockets, which are not installed" in done.stderr
    assert "pip install 'amdkernel-mcp[team]'" in done.stderr
