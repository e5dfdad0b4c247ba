"""Takes the pictures of the page in docs/page/: a real server, real attempts on the emulator, two users.

Needs what `make setup` installs, and Chromium. `--all FOLDER` writes every size, theme and page for a look at them, and
the attempts in FOLDER/data; `--attempts FOLDER/data` takes those instead of making new ones.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from chromium import Chromium, chromium
from fastmcp import Client
from fastmcp.client.auth import BearerAuth

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
PICTURES = ROOT / "docs/page"
ANN, BOB = "token-of-ann-for-pictures", "token-of-bob-for-pictures"
DEADLINE_S = 600.0

Theme = Literal["light", "dark"]


def kernel(problem: str, name: str) -> str:
    return (EXAMPLES / problem / "kernels" / f"{name}.hip").read_text()


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """The address of a server for two users that does one job at a time."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    tokens = folder / "tokens"
    tokens.write_text(f"{ANN} ann\n{BOB} bob\n")
    tokens.chmod(0o600)
    environment = os.environ | {
        "AMDKERNEL_DATA_DIR": str(folder / "data"),
        "AMDKERNEL_TOKENS_FILE": str(tokens),
        "AMDKERNEL_MAX_WORKERS": "1",
    }
    command = [str(Path(sys.executable).with_name("amdkernel")), "serve", "--port", str(port)]
    process = subprocess.Popen(command, env=environment)
    try:
        until = time.monotonic() + DEADLINE_S
        while time.monotonic() < until and process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(120)


async def work(address: str, token: str, *calls: tuple[str, dict[str, Any]]) -> None:
    """Call tools one after the other and wait for each; a call with `wait_s` 0 is only handed in."""
    async with Client(f"{address}/mcp", auth=BearerAuth(token)) as client:
        for tool, arguments in calls:
            answer = (await client.call_tool(tool, {"wait_s": 110} | arguments)).structured_content or {}
            if answer.get("status") in ("queued", "running") and "wait_s" not in arguments:
                await client.call_tool("get_job", {"job_id": answer["job_id"], "wait_s": 110})
            print(tool, answer.get("verdict") or answer.get("status"), flush=True)


def judged(tool: str, problem: str, name: str, over: str | None = None, **more: Any) -> tuple[str, dict[str, Any]]:
    baseline = {"baseline_source": kernel(problem, over)} if over else {}
    return tool, {"problem": problem, "source": kernel(problem, name)} | baseline | more


def seed(address: str) -> None:
    """What ann and bob tried: a wrong kernel and its cure, times that fall, a profile."""
    wider = kernel("row_softmax", "better").replace("256", "512")
    calls = [
        judged("check_kernel", "transpose", "naive"),
        judged("benchmark_kernel", "transpose", "naive"),
        judged("check_kernel", "transpose", "broken_stride"),
        judged("benchmark_kernel", "transpose", "better", "naive"),
        judged("check_kernel", "row_softmax", "broken_tail"),
        judged("check_kernel", "row_softmax", "naive"),
        judged("benchmark_kernel", "row_softmax", "naive"),
        judged("benchmark_kernel", "row_softmax", "better", "naive"),
        judged("benchmark_kernel", "row_softmax", "better", "naive", source=wider),
        judged("profile_kernel", "row_softmax", "naive"),
        judged("profile_kernel", "row_softmax", "better"),
    ]
    asyncio.run(work(address, ANN, *calls))
    narrower = kernel("row_softmax", "better").replace("256", "128")
    bobs = [
        judged("benchmark_kernel", "row_softmax", "better", "naive", source=narrower),
        judged("benchmark_kernel", "transpose", "naive"),
        judged("benchmark_kernel", "reduce_sum", "naive"),
    ]
    asyncio.run(work(address, BOB, *bobs))


def fill_queue(address: str) -> None:
    """Jobs of both users at once, which run and wait while the pictures are taken."""
    soon: dict[str, Any] = {"wait_s": 0}
    bobs = [judged("check_kernel", name, "naive", **soon) for name in ("gemm_f32", "reduce_sum", "rmsnorm")]
    anns = [judged("benchmark_kernel", name, "naive", **soon) for name in ("gemm_f16", "histogram")]

    async def fill() -> None:
        await asyncio.gather(*(work(address, BOB, call) for call in bobs), *(work(address, ANN, call) for call in anns))

    asyncio.run(fill())


def admin_token(folder: Path) -> str:
    """Carol's: she leads the team."""
    file = folder / "carol.token"
    command = [str(Path(sys.executable).with_name("amdkernel")), "admin", "tokens", "add", "carol", "--to", str(file)]
    environment = os.environ | {"AMDKERNEL_DATA_DIR": str(folder / "data")}
    scopes = ["--scope", "docs", "--scope", "admin"]
    subprocess.run([*command, *scopes], check=True, env=environment, stdout=subprocess.DEVNULL)
    return file.read_text().strip()


@contextmanager
def gpu_server(folder: Path) -> Iterator[tuple[str, str]]:
    """The address of a server with a GPU that users held in the last week, and a token of an admin. Its figures are
    made up: no GPU is needed for the picture."""
    import random
    from concurrent.futures import ThreadPoolExecutor

    import uvicorn

    sys.path.insert(0, str(ROOT))
    from sqlalchemy import insert

    from amdkernel_mcp.database.open_database import database_now, writing
    from amdkernel_mcp.database.tables import gpu_leases
    from tests.pages.served import BOB as ADMIN
    from tests.pages.served import GPU, served
    from tests.server.http_server import free_port

    draw = random.Random(3)
    with served(folder) as here:
        here.scopes[ADMIN] = ("docs", "admin")
        with writing(here.leases._engine()) as connection:
            now = database_now(connection)
            for hour in range(2, 168):
                busy = 0.85 if 7 <= hour % 24 <= 16 else 0.15
                if draw.random() < busy:
                    begun, seconds = now - hour * 3600.0, draw.uniform(300, 3500)
                    owner = draw.choice(["user:ann", "user:ann", "user:bob"])
                    kind = draw.choice(["exclusive", "shared"])
                    row = {"gpu": GPU, "kind": kind, "owner": owner, "holder": "", "asked": begun, "granted": begun}
                    ends = {"lease_until": begun + seconds, "ended": begun + seconds}
                    connection.execute(insert(gpu_leases).values(row | ends))
        here.leases.ask(GPU, "exclusive", "user:ann")
        port = free_port()
        config = uvicorn.Config(here.app, port=port, log_level="warning", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(server.run)
            try:
                yield f"http://127.0.0.1:{port}", ADMIN
            finally:
                server.should_exit = True


def sign_in(browser: Chromium, address: str, token: str) -> None:
    for _ in range(50):
        browser.open(f"{address}/")
        if browser.run("document.getElementById('token') !== null"):
            break
        time.sleep(0.1)
    browser.run(f"document.getElementById('token').value = '{token}'; document.forms[0].submit()")
    browser.wait_for("document.querySelector('.connection.open') !== null")


def picture(browser: Chromium, file: Path, width: int, theme: Theme, height: int = 0) -> None:
    """A picture of the page; `height` 0: of all of it."""
    browser.look(width, height or 844, theme)
    file.write_bytes(browser.screenshot(whole=not height))
    print(f"{file}: {file.stat().st_size >> 10} KiB", flush=True)


def profile(browser: Chromium, folder: Path) -> None:
    """The page that `amdkernel profile --html` writes, of a kernel that has something to find."""
    page = folder / "profile.html"
    kernel = EXAMPLES / "gemm_f32/kernels/naive.hip"
    command = [
        str(Path(sys.executable).with_name("amdkernel")),
        "profile",
        "gemm_f32",
        str(kernel),
        "--html",
        str(page),
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    browser.open(page.as_uri())
    browser.wait_for("document.querySelectorAll('.plot circle').length > 0")
    picture(browser, folder / "profile.png", 1280, "light", 1180)
    page.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", type=Path, metavar="FOLDER")
    parser.add_argument("--attempts", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    every: Path | None = given.all
    with tempfile.TemporaryDirectory() as name:
        if given.attempts:
            shutil.copytree(given.attempts, Path(name) / "data")
        with server(Path(name)) as address, chromium(Path(name)) as browser:
            if not given.attempts:
                seed(address)
            take(address, browser, every, admin_token(Path(name)))
            with gpu_server(Path(name) / "gpus") as (gpus, token):
                sign_in(browser, gpus, token)
                browser.open(f"{gpus}/gpus")
                shots(browser, every, "gpus", 440)
            for line in browser.console_errors:
                print(f"console: {line}")
        if every is not None:
            shutil.copytree(Path(name) / "data", every / "data", dirs_exist_ok=True)


SIZES: tuple[tuple[int, Theme], ...] = ((1280, "light"), (1280, "dark"), (390, "light"), (390, "dark"))


def shots(browser: Chromium, every: Path | None, name: str, height: int = 0) -> None:
    """The page that is open: in every size for a look, or for the documentation wide, light and of this height."""
    if every is None:
        picture(browser, PICTURES / f"{name}.png", 1280, "light", height)
        return
    for width, theme in SIZES:
        picture(browser, every / f"{name}-{width}-{theme}.png", width, theme)


def take(address: str, browser: Chromium, every: Path | None, admin: str) -> None:
    """The pictures of the documentation, or all of them into the folder `every`, as an admin sees the pages."""
    sign_in(browser, address, admin)
    fill_queue(address)
    queue = "document.querySelector('.queue tbody')"
    browser.wait_for(f"{queue}?.rows.length > 1 && !{queue}.textContent.includes('–')")  # each has an expected wait
    if every is None:
        PICTURES.mkdir(exist_ok=True)
        for width, theme in SIZES:
            height = 1080 if width == 1280 else 1000
            picture(browser, PICTURES / f"home-{width}-{theme}.png", width, theme, height)
    else:
        every.mkdir(parents=True, exist_ok=True)
        shots(browser, every, "home")
    job = browser.run("document.querySelector('.job a')?.href ?? ''")
    links = "[...document.querySelectorAll('.lineage a.mono')].map(each => each.href)"
    pages = [] if every is None else [*dict.fromkeys(browser.run(links))]
    if job and every is not None:
        browser.open(job)
        browser.wait_for("document.querySelectorAll('.log li').length > 0")
        shots(browser, every, "job")
    browser.open(f"{address}/problems/row_softmax")
    shots(browser, every, "problem", 655)
    browser.open(browser.run("document.querySelector('.why a').href"))
    shots(browser, every, "compare", 1130)
    if every is None:
        profile(browser, PICTURES)  # last: it leaves the page
        return
    for number, link in enumerate(pages[:4]):
        browser.open(link)
        for width, theme in SIZES[number % 2 :: 2]:
            picture(browser, every / f"attempt-{number}-{width}-{theme}.png", width, theme)


if __name__ == "__main__":
    main()
