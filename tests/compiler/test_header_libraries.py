"""Header libraries of the setting `headers`: what is taken, what decides the cache's key, what is refused."""

from pathlib import Path

import pytest

from amdkernel_mcp.compiler.compile import Compiler
from amdkernel_mcp.compiler.header_libraries import MOST_FILES, named_libraries, read_libraries
from amdkernel_mcp.errors import FlagError, InputError
from amdkernel_mcp.execution.sandbox import Sandbox

TILE = """#pragma once
#include "detail/rows.inc"
namespace tile {
template <int ROWS, int COLS, class T>
struct Tile {
  T at[ROWS][COLS];
  __device__ void fill(T value) {
    for (int r = 0; r < ROWS; r++) for (int c = 0; c < COLS; c++) at[r][c] = value;
  }
};
template <int R, int C, class T, class A, class B>
__device__ void multiply_add(Tile<R, C, T>& sum, const A& column, const B& row) {
  for (int r = 0; r < R; r++) for (int c = 0; c < C; c++) sum.at[r][c] += T(column[r]) * T(row[c]);
}
}
"""
GEMM = """// amdkernel: build --headers=tiles
// amdkernel: launch gemm grid=[n // 16, m // 16] block=[4, 4] args=[a, b, c, m, n, k]
#include "tile/tile.hpp"
extern "C" __global__ void gemm(const _Float16* a, const _Float16* b, float* c, int m, int n, int k) {
  int row = blockIdx.y * 16 + threadIdx.y * tile::ROWS, col = blockIdx.x * 16 + threadIdx.x * 4;
  tile::Tile<tile::ROWS, 4, float> sum;
  sum.fill(0);
  for (int i = 0; i < k; i++) {
    _Float16 left[4], right[4];
    for (int r = 0; r < 4; r++) left[r] = a[(row + r) * k + i];
    for (int r = 0; r < 4; r++) right[r] = b[i * n + col + r];
    tile::multiply_add(sum, left, right);
  }
  for (int r = 0; r < 4; r++) for (int s = 0; s < 4; s++) c[(row + r) * n + col + s] = sum.at[r][s];
}
"""


@pytest.fixture
def tiles(tmp_path: Path) -> Path:
    (tmp_path / "tile/detail").mkdir(parents=True)
    (tmp_path / "tile/tile.hpp").write_text(TILE)
    (tmp_path / "tile/detail/rows.inc").write_text("namespace tile { constexpr int ROWS = 4; }\n")
    return tmp_path


def test_headers_are_taken_and_nothing_else(tiles: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    secret = tmp_path_factory.mktemp("host") / "secret.h"
    secret.write_text("secret")
    (tiles / "tile/link.h").symlink_to(secret)
    (tiles / "elsewhere").symlink_to(secret.parent)
    for name in ("notes.md", "tile/kernel.cpp", ".hidden.h"):
        (tiles / name).write_text("no header")
    (tiles / ".git").mkdir()
    (tiles / ".git/config").write_text("no header")
    found = read_libraries({"tiles": tiles}, ["tiles"])
    assert list(found.files) == ["headers/tiles/tile/detail/rows.inc", "headers/tiles/tile/tile.hpp"]
    assert found.folders == ["headers/tiles"]


def test_the_digest_follows_names_and_content(tiles: Path) -> None:
    def digest() -> str:
        return read_libraries({"tiles": tiles}, ["tiles"]).digests["tiles"]

    first = digest()
    assert digest() == first
    (tiles / "tile/detail/rows.inc").write_text("namespace tile { constexpr int ROWS = 2; }\n")
    changed = digest()
    (tiles / "tile/tile.hpp").rename(tiles / "tile/other.hpp")
    assert len({first, changed, digest()}) == 3


def test_what_cannot_be_used_is_said(tiles: Path, tmp_path: Path) -> None:
    assert named_libraries(["-O2", "--headers=ck", "--headers=ck"]) == (["ck"], ["-O2"])
    with pytest.raises(FlagError, match="no header library is called 'ck'") as raised:
        read_libraries({"tiles": tiles}, ["ck"])
    assert raised.value.hint == "known are tiles"
    with pytest.raises(InputError, match="gone has no folder"):
        read_libraries({"gone": tmp_path / "gone"}, ["gone"])
    (empty := tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty has no header"):
        read_libraries({"empty": empty}, ["empty"])
    for number in range(MOST_FILES + 1):
        (empty / f"{number}.h").touch()
    with pytest.raises(InputError, match="more than 6,000 headers or 64 MiB"):
        read_libraries({"empty": empty}, ["empty"])


@pytest.mark.sandbox
def test_a_kernel_is_compiled_with_the_library_and_again_when_it_changes(
    sandbox: Sandbox, tiles: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    compiler = Compiler(sandbox, tmp_path_factory.mktemp("cache"), headers={"tiles": tiles})
    flags = ("--headers=tiles",)
    first = compiler.compile(GEMM, arch="gfx942", flags=flags).result
    assert first.ok, first.diagnostics
    assert compiler.compile(GEMM, arch="gfx942", flags=flags).result.cached
    (tiles / "tile/detail/rows.inc").write_text("namespace tile { constexpr int ROWS = 5; }\n")
    second = compiler.compile(GEMM, arch="gfx942", flags=flags).result
    assert (second.ok, second.cached) == (True, False)
    assert first.headers.keys() == second.headers.keys() == {"tiles"}
    assert first.headers != second.headers
    (tiles / "tile/tile.hpp").write_text("#error no tiles\n")
    broken = compiler.compile(GEMM, arch="gfx942", flags=flags).result
    assert not broken.ok
    assert (broken.diagnostics[0].line, "no tiles" in broken.diagnostics[0].message) == (3, True)
    without = compiler.compile(GEMM, arch="gfx942").result
    assert "tile/tile.hpp" in without.diagnostics[0].message
