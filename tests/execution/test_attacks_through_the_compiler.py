"""Source text that wants to use up the machine or to read it."""

import pytest

from amdkernel_mcp.execution.docker.sandbox import DockerSandbox
from amdkernel_mcp.execution.sandbox import Completed

pytestmark = pytest.mark.sandbox

_CLANG = """
clang=$(ls /usr/lib/llvm-*/bin/clang | sort -V | tail -1)
exec $clang -x c++ -std=c++20 -ferror-limit=20 -c bomb.cpp -o "$OUT/bomb.o"
"""

TEMPLATE_BOMB = """
template <int n, int m> struct Bomb {
    static const int value = Bomb<n - 1, m * 2>::value + Bomb<n - 1, m * 2 + 1>::value;
};
template <int m> struct Bomb<0, m> { static const int value = m; };
int main() { return Bomb<28, 1>::value; }
"""
ERROR_FLOOD = (
    "#define E undeclared; \n#define F E E E E E E E E E E\n#define G F F F F F F F F F F\nint f() { G G G G G G }\n"
)
MACRO_BOMB = "#define A x,x,x,x,x,x,x,x,x,x\n" + "".join(
    f"#define {b} {','.join([a] * 10)}\n" for a, b in zip("ABCDEFGH", "BCDEFGHI", strict=True)
)


def _compile(cramped: DockerSandbox, source: str, *, timeout_s: float = 4) -> Completed:
    return cramped.run("compile", ["sh", "-c", _CLANG], {"bomb.cpp": source.encode()}, timeout_s=timeout_s)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "source",
    [
        '#include "/dev/zero"',
        '#include "/dev/urandom"',
        '#include "bomb.cpp"\n#include "bomb.cpp"',
        TEMPLATE_BOMB,
        MACRO_BOMB + "int x; int f() { I; }",
        "char huge[1ul << 34] = {1};",
        'asm(".fill 8589934592, 1, 0");',
        "constexpr int f() { int s = 0; for (long i = 0; i < 1l << 40; i++) s ^= i; return s; } static_assert(f());",
    ],
    ids=["zero", "urandom", "self-include", "template", "macro", "array", "fill", "constexpr"],
)
def test_a_compile_bomb_goes_off_inside_its_limits(cramped: DockerSandbox, source: str) -> None:
    done = _compile(cramped, source)
    assert done.exit_code != 127, done.stderr
    # clang takes a device for an empty file; everything else must fail.
    assert done.exit_code != 0 or len(done.files["bomb.o"]) < 64 << 10
    assert sum(map(len, done.files.values())) <= 32 << 20


def test_an_error_flood_comes_back_bounded(cramped: DockerSandbox) -> None:
    done = _compile(cramped, ERROR_FLOOD)
    assert done.exit_code != 0
    assert len(done.stderr) < 300_000


def test_a_source_finds_nothing_of_the_host_to_include(
    cramped: DockerSandbox, tmp_path_factory: pytest.TempPathFactory
) -> None:
    secret = tmp_path_factory.mktemp("host") / "secret"
    secret.write_text("hunter2")
    source = f'#include "{secret}"\n#include "/etc/shadow"\n#include "/etc/gshadow"\n#include "/etc/machine-id"\n'
    done = _compile(cramped, source)
    assert "hunter2" not in done.stderr
    assert "'/etc/shadow'" in done.stderr or str(secret) in done.stderr
    for file in ("/etc/shadow", "/etc/gshadow", str(secret)):
        alone = _compile(cramped, f'__asm__(".incbin \\"{file}\\"");')
        assert alone.exit_code != 0, f"{file} can be read into an object file"
