"""How soon a client has the tools, and how long `amdkernel --help` takes: `make bench`.

Anchors, alternating with ours in one run: the same server without the relay, and an interpreter that does nothing.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

BIN = Path(sys.executable).parent
ROUNDS = 7


def until_tools(*arguments: str) -> tuple[float, float]:
    """Seconds until `tools/list` is answered, and the CPU seconds that the process has taken by then."""
    start = time.perf_counter()
    pipe = subprocess.PIPE
    with subprocess.Popen([str(BIN / "amdkernel-mcp"), *arguments], stdin=pipe, stdout=pipe) as server:
        assert server.stdin
        assert server.stdout
        opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}
        for identity, method, params in ((0, "initialize", opening), (1, "tools/list", {})):
            message = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}
            server.stdin.write(json.dumps(message).encode() + b"\n")
            server.stdin.flush()
            assert json.loads(server.stdout.readline())["id"] == identity
        taken = time.perf_counter() - start
        cpu = cpu_seconds(server.pid)
        server.terminate()
    return taken, cpu


def cpu_seconds(process: int) -> float:
    """What a running process has taken so far; to 10 ms, which is the kernel's tick."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(*command: str) -> float:
    """Seconds that a command takes."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def report(name: str, seconds: list[float], anchor: list[float], anchor_name: str) -> None:
    """One line: the median, its spread, and the ratio to the anchor."""
    median, other = statistics.median(seconds), statistics.median(anchor)
    print(
        f"{name}: {median * 1e3:.0f} ms  [{min(seconds) * 1e3:.0f}, {max(seconds) * 1e3:.0f}]  "
        f"{median / other:.2f} x {anchor_name} ({other * 1e3:.0f} ms)  {len(seconds)} rounds"
    )


def main() -> None:
    """Print one line for each figure."""
    relayed, cpu, plain, help_, nothing = [], [], [], [], []
    for _ in range(ROUNDS):
        wall, used = until_tools()
        relayed.append(wall)
        cpu.append(used)
        plain.append(until_tools("--no-relay")[0])
        help_.append(run(str(BIN / "amdkernel"), "--help"))
        nothing.append(run(sys.executable, "-c", "pass"))
    report("amdkernel-mcp, spawn to tools/list", relayed, plain, "without the relay")
    print(f"amdkernel-mcp, CPU of the relay until then: {statistics.median(cpu) * 1e3:.0f} ms")
    report("amdkernel --help", help_, nothing, "python -c pass")


if __name__ == "__main__":
    main()
