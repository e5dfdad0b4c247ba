"""A headless Chromium that a script or a test drives by the DevTools protocol over two pipes. Needs no package."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DEADLINE_S = 500.0  # against hanging
END_S = 30.0


def find_chromium() -> str | None:
    """The program, or None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """One browser with one page. `console_errors`: what its console said so far."""

    def __init__(self, program: str, profile: Path) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()

        def give_pipes() -> None:  # 3 and 4 are where Chromium looks; both ends are above 4 by now
            os.dup2(to_browser, 3)
            os.dup2(from_browser, 4)

        arguments = ["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        arguments += ["--disable-dev-shm-usage", "--no-first-run", f"--user-data-dir={profile}"]
        self._log = (profile.parent / "chromium.log").open("wb")
        self._process = subprocess.Popen(
            [program, *arguments], stderr=self._log, stdout=self._log, preexec_fn=give_pipes, pass_fds=(3, 4),
            start_new_session=True,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        self._held = b""
        self._number = 0
        self._session: str | None = None
        self.console_errors: list[str] = []
        try:
            self._open_page()
        except BaseException:  # also where a test's time is up: its `with` block never begins
            self.close()
            raise

    def _open_page(self) -> None:
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the browser with all its processes: those of its pages are in its group, and may outlive it."""
        self._process.terminate()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            os.close(self._out)
            os.close(self._in)
            self._log.close()

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of a command of the protocol. Raises RuntimeError for an error or a browser that has ended."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def look(self, width: int, height: int, theme: Literal["light", "dark"], scale: float = 1) -> None:
        """Give the page a size in CSS pixels and a theme."""
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **size)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def open(self, url: str) -> None:
        """Load a page."""
        self.send("Page.navigate", url=url)
        self.wait_for(f"document.readyState === 'complete' && location.href.startsWith({json.dumps(url)})")

    def run(self, script: str) -> Any:
        """The value of an expression in the page. Raises RuntimeError with what it threw."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if thrown := answer.get("exceptionDetails"):
            raise RuntimeError(f"{script}: {thrown.get('exception', {}).get('description', thrown['text'])}")
        return answer["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until an expression in the page is true. Raises TimeoutError after DEADLINE_S."""
        until = time.monotonic() + DEADLINE_S
        while time.monotonic() < until:
            try:
                if self.run(condition):
                    return
            except RuntimeError:  # between two pages
                pass
            time.sleep(0.05)
        raise TimeoutError(f"in the browser this did not become true: {condition}")

    def screenshot(self, whole: bool = False) -> bytes:
        """The page as PNG."""
        shot = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(shot["data"])

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._held:
            chunk = os.read(self._in, 1 << 16)
            if not chunk:
                raise RuntimeError(f"the browser has ended with {self._process.wait(30)}; its log is {self._log.name}")
            self._held += chunk
        first, _, self._held = self._held.partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        said = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.console_errors.append(said["exceptionDetails"]["text"])
        elif message.get("method") == "Log.entryAdded" and said["entry"]["level"] == "error":
            self.console_errors.append(f"{said['entry']['text']} {said['entry'].get('url', '')}")


@contextmanager
def chromium(folder: Path) -> Iterator[Chromium]:
    """A browser with an empty profile in `folder`. Raises FileNotFoundError where there is no Chromium."""
    program = find_chromium()
    if program is None:
        raise FileNotFoundError("there is no Chromium: apt-get install chromium")
    with Chromium(program, folder / "profile") as browser:
        yield browser
