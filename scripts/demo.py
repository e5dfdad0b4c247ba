"""`make demo`: an MCP client takes a row softmax through the optimise loop, as a coding agent would.

The server is started as an editor starts it, `amdkernel-mcp` over stdio in a process of its own; all that is printed
here came back through MCP. No GPU is needed: the target is the emulated MI300X.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "row_softmax"
KERNELS = EXAMPLE / "kernels"
SERVER = Path(sys.executable).parent / "amdkernel-mcp"
BROKEN = ("broken_tail.hip", "broken_overflow.hip")  # one is wrong on a line, the other in its numbers
VERDICT_STYLE = {"correct": "bold green", "faster": "bold green", "incorrect": "bold red", "invalid": "bold red"}

console = Console(soft_wrap=False, width=None if sys.stdout.isatty() else 110)
Answer = dict[str, Any]


class ToolError(Exception):
    """What the server says of a call that failed."""


class Loop:
    """One pass of an agent's loop over one MCP connection."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._step = 0

    def say(self, title: str, tool: str) -> None:
        self._step += 1
        console.print()
        console.rule(f"[bold]{self._step}. {title}[/]  [dim]{tool}[/]", align="left", style="dim")

    async def call(self, tool: str, **arguments: object) -> Answer:
        """Call a tool; a job that is still running is followed to its end."""
        with console.status(f"{tool} ..."):
            answer = await self._answer(tool, arguments)
            while answer.get("status") in ("queued", "running"):
                job = await self._answer("get_job", {"job_id": answer["job_id"]})
                answer = job if job["status"] in ("queued", "running") else job[tool.removesuffix("_kernel")]
        return answer

    async def _answer(self, tool: str, arguments: Answer) -> Answer:
        result = await self._client.call_tool(tool, arguments)
        if result.is_error:
            raise ToolError(" ".join(getattr(part, "text", "") for part in result.content))
        return result.structured_content or {}

    async def search(self) -> None:
        self.say("Read before writing", "search_docs")
        answer = await self.call("search_docs", query="LDS bank conflicts", limit=3)
        for hit in answer["results"]:
            console.print(f"  [cyan]{hit['heading']}[/]  [dim]{hit['source']} {hit['version'] or ''}[/]")

    async def compile(self, name: str) -> None:
        self.say(f"Compile {name} for gfx942", "compile_kernel")
        answer = await self.call("compile_kernel", path=str(KERNELS / name))
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        columns = ("vgpr", "sgpr", "lds_bytes", "scratch_bytes", "occupancy_waves_per_simd")
        for column in ("kernel", *columns):
            table.add_column(column)
        for kernel in answer["kernels"]:
            table.add_row(kernel["name"], *(str(kernel[column]) for column in columns))
        console.print(table)
        console.print(f"  [dim]{answer['toolchain']}, {answer['seconds']:.2f} s{', cached' * answer['cached']}[/]")

    async def check(self, name: str) -> Answer:
        self.say(f"Check {name} against the reference", "check_kernel")
        answer = await self.call("check_kernel", problem="row_softmax", path=str(KERNELS / name))
        verdict = answer["verdict"]
        console.print(
            Text.assemble("  ", (verdict, VERDICT_STYLE.get(verdict, "bold yellow")), f": {answer['reason']}")
        )
        for case in answer["cases"]:
            mark = "[green]ok[/]" if case["verdict"] == "correct" else f"[red]{case['verdict']}[/]"
            console.print(f"  {mark}  {case['case']}{'  [dim]held out[/]' * case['held_out']}")
        worst = next((case["worst"] for case in answer["cases"] if case["worst"]), None)
        if worst and verdict != "correct":
            where = f"{worst['argument']}{worst['index']}"
            console.print(f"  worst element [bold]{where}[/]: got {worst['got']}, expected {worst['expected']}")
        self._show_findings(answer, (KERNELS / name).read_text())
        return answer

    def _show_findings(self, answer: Answer, source: str) -> None:
        for finding in answer["findings"]:
            said = "" if finding["message"] in answer["reason"] else f": {finding['message']}"
            console.print(f"  [yellow]{finding['kind']}[/]{said}")
            if line := finding["line"]:
                window = (max(1, line - 1), line + 1)
                console.print(Syntax(source, "cpp", line_numbers=True, line_range=window, highlight_lines={line}))

    async def profile(self, name: str, compare_to: str | None = None) -> Answer:
        self.say(f"Profile {name}", "profile_kernel")
        compared = {} if compare_to is None else {"compare_to": str(KERNELS / compare_to)}
        answer = await self.call("profile_kernel", problem="row_softmax", path=str(KERNELS / name), **compared)
        troubles = [entry for entry in answer["diagnosis"] if not entry["finding"].startswith("Ruled out")]
        if not troubles:
            console.print("  nothing stands out any more")
        for entry in troubles[:3]:
            console.print(f"  [bold]{entry['finding']}[/]")
            console.print(f"    [dim]because[/] {entry['because']}")
            console.print(f"    [dim]try[/]     {entry['try']}")
        return answer

    async def benchmark(self, name: str, baseline: str) -> None:
        self.say(f"Is {name} better than {baseline}?", "benchmark_kernel")
        answer = await self.call(
            "benchmark_kernel",
            problem="row_softmax",
            path=str(KERNELS / name),
            baseline_path=str(KERNELS / baseline),
        )
        verdict = answer["verdict"]
        console.print(
            Text.assemble("  ", (verdict, VERDICT_STYLE.get(verdict, "bold yellow")), f": {answer['reason']}")
        )
        console.print(f"  time {answer['time_us']['value']:.3g} us, evidence: {answer['time_us']['evidence']}")


def show_comparison(comparison: Answer) -> None:
    """What the profile of the better kernel says of the naive one."""
    for time_change in comparison["times"]:
        console.print(f"  [bold]{time_change.get('kernel') or 'all launches'}[/]: {time_change['says']}")
    for finding in comparison["gone"]:
        console.print(f"  [dim]gone[/]  {finding['finding']}")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    for column in ("figure", "naive", "better", "unit"):
        table.add_column(column, justify="right" if column in ("naive", "better") else "left")
    for row in comparison["figures"]:
        table.add_row(row["metric"], _figure(row["before"]), _figure(row["after"]), row["unit"])
    console.print(table)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


async def main() -> int:
    started = time.monotonic()
    console.print(Panel("An MCP client, [bold]amdkernel-mcp[/] over stdio, a HIP kernel, no GPU", expand=False))
    async with Client(StdioServerParameters(command=str(SERVER))) as client:
        loop = Loop(client)
        try:
            await loop.search()
            await loop.compile("naive.hip")
            broken = [await loop.check(name) for name in BROKEN]
            naive = await loop.check("naive.hip")
            await loop.profile("naive.hip")
            better = await loop.check("better.hip")
            profile = await loop.profile("better.hip", compare_to="naive.hip")
            show_comparison(profile["comparison"])
            await loop.benchmark("better.hip", "naive.hip")
        except ToolError as error:
            console.print(f"[bold red]The server could not do it:[/] {error}")
            return 3
    console.print(f"\n[bold green]Done[/] in {time.monotonic() - started:.1f} s. Next: `amdkernel install CLIENT`.")
    console.print('  It connects your editor or agent; README.md, "In your editor", lists the clients.')
    verdicts = [answer["verdict"] for answer in (*broken, naive, better)]
    return 0 if verdicts == ["incorrect"] * len(broken) + ["correct", "correct"] else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
