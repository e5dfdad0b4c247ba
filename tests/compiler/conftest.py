"""A compiler on the shared sandbox."""

from collections.abc import Callable
from pathlib import Path

import pytest

from amdkernel_mcp.compiler.compile import Compiled, Compiler
from amdkernel_mcp.execution.sandbox import Sandbox


@pytest.fixture(scope="session")
def compiler(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    return Compiler(sandbox, tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def compile_ok(compiler: Compiler) -> Callable[..., Compiled]:
    """Compile what must compile; the diagnostics are the message when it does not."""

    def compile_ok(source: str, arch: str = "gfx942", flags: tuple[str, ...] = ()) -> Compiled:
        compiled = compiler.compile(source, arch=arch, flags=flags)
        assert compiled.result.ok, compiled.result.diagnostics
        return compiled

    return compile_ok


@pytest.fixture
def cold_compiler(sandbox: Sandbox, tmp_path: Path) -> Compiler:
    """A compiler whose cache is empty."""
    return Compiler(sandbox, tmp_path)
