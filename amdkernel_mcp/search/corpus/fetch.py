"""Fetches documents over HTTP: only from declared hosts, only what changed, with pauses.

A body is written to a `.part` file beside its place and moved there when it is whole. Where the connection ends early
the next attempt, or the next run, asks for the rest (RFC 9110: Range with If-Range); what the server says of a copy
that is there already (ETag, Last-Modified) makes it answer 304 instead of sending the copy again.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import urljoin, urlsplit
from urllib.robotparser import RobotFileParser

import httpx2

from amdkernel_mcp import __version__
from amdkernel_mcp.errors import DocumentationError

USER_AGENT = f"amdkernel-mcp/{__version__} (documentation index)"
LARGEST_BYTES = 200_000_000
LARGEST_ROBOTS_BYTES = 500_000
ATTEMPTS = 4
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
PAUSE_S = 0.2  # between two requests to one host
MOST_REDIRECTS = 5
_TRY_AGAIN = frozenset((429, 500, 502, 503, 504))
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_TIMEOUT, _SHORT_TIMEOUT = httpx2.Timeout(30.0, connect=10.0), httpx2.Timeout(10.0, connect=3.0)
_LOCAL = frozenset(("localhost", "127.0.0.1", "::1"))


@dataclass(frozen=True)
class Validators:
    """What a server said of a body, to ask later whether it changed."""

    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True)
class Fetched:
    """`changed` is false where the server answered that the copy is still the newest."""

    changed: bool
    validators: Validators


class NotThereError(DocumentationError):
    """The server has no such file (404 or 410)."""


class TimeOverError(DocumentationError):
    """The time for fetching is over; nothing else is asked."""


class UnreachableError(DocumentationError):
    """No connection to the host can be made; it is not asked for other files."""


class _TryAgain(Exception):
    """A failure that may pass; `after_s` is when the server asks to be asked again."""

    def __init__(self, reason: str, after_s: float | None = None) -> None:
        super().__init__(reason)
        self.after_s = after_s


class Fetcher:
    """One session with some hosts. Use it in a `with` statement."""

    def __init__(
        self,
        hosts: frozenset[str],
        *,
        pause_s: float = PAUSE_S,
        sleep: Callable[[float], object] = time.sleep,
        until: float | None = None,
    ) -> None:
        """`until`: the time of `time.monotonic` from which nothing more is fetched."""
        self._hosts = hosts
        self._until = until
        self._pause_s = pause_s
        self._sleep = sleep
        self._asked: dict[str, float] = {}
        self._robots: dict[str, RobotFileParser] = {}
        # Identity: the length and the ranges of a body are those of the file that is written.
        headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
        self._client = httpx2.Client(headers=headers, timeout=_TIMEOUT if until is None else _SHORT_TIMEOUT)

    def __enter__(self) -> "Fetcher":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def fetch(
        self, url: str, into: Path, *, known: Validators | None = None, most_bytes: int = LARGEST_BYTES
    ) -> Fetched:
        """Brings the body of `url` to the file `into`, unless the server answers that the copy `known` is the newest.

        Raises DocumentationError for an address that is not allowed, an answer other than the file, a body of more
        than `most_bytes`, and a server that still fails after ATTEMPTS.
        """
        reason = ""
        for attempt in range(ATTEMPTS if self._until is None else 1):
            self._check_time(url)
            try:
                return self._attempt(url, into, known if into.is_file() else None, most_bytes)
            except _TryAgain as again:
                reason = str(again)
                wait = FIRST_WAIT_S * 2**attempt if again.after_s is None else again.after_s
                if attempt + 1 < ATTEMPTS:
                    self._sleep(min(wait, LONGEST_WAIT_S))
        raise DocumentationError(
            f"{url} cannot be fetched: {reason}", hint="`amdkernel docs refresh` continues from here"
        )

    def _check_time(self, url: str) -> None:
        if self._until is not None and time.monotonic() > self._until:
            raise TimeOverError(f"{url} was not fetched in the time for it", hint="`amdkernel docs refresh` fetches it")

    def allows_robots(self, url: str) -> bool:
        """Whether the site's robots.txt lets programs read `url`; asked for pages that are not declared one by one."""
        parts = urlsplit(url)
        site = f"{parts.scheme}://{parts.netloc}"
        if site not in self._robots:
            self._robots[site] = self._read_robots(f"{site}/robots.txt")
        return self._robots[site].can_fetch(USER_AGENT, url)

    def _read_robots(self, url: str) -> RobotFileParser:
        """RFC 9309: no file allows everything, a server that fails nothing."""
        rules = RobotFileParser(url)
        try:
            with self._answer(url, {}) as response:
                if response.status_code == 200:
                    body = b"".join(_limited(response, LARGEST_ROBOTS_BYTES, url))
                    rules.parse(body.decode("utf-8", errors="replace").splitlines())
                elif response.status_code < 500:
                    rules.parse([])
                else:
                    rules.parse(["User-agent: *", "Disallow: /"])
        except (_TryAgain, httpx2.TransportError):
            rules.parse(["User-agent: *", "Disallow: /"])
        return rules

    def _attempt(self, url: str, into: Path, known: Validators | None, most_bytes: int) -> Fetched:
        part = into.with_name(f".{into.name}.part")
        headers, begun = _resume(part)
        if not begun and known:
            headers = _conditions(known)
        try:
            with self._answer(url, headers) as response:
                if response.status_code == 304 and known:
                    return Fetched(False, known)
                validators = Validators(response.headers.get("etag"), response.headers.get("last-modified"))
                begun = self._checked(response, url, part, begun)
                _note(part, validators)
                with part.open("ab" if begun else "wb") as out:
                    for piece in _limited(response, most_bytes - begun, url):
                        self._check_time(url)
                        out.write(piece)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise UnreachableError(
                f"{urlsplit(url).hostname} cannot be reached: {error}", hint="the next refresh asks it again"
            ) from None
        except httpx2.TransportError as error:
            raise _TryAgain(f"the connection failed ({type(error).__name__}: {error})") from None
        except DocumentationError:
            _forget(part)
            raise
        os.replace(part, into)
        _forget(part)
        return Fetched(True, validators)

    def _checked(self, response: httpx2.Response, url: str, part: Path, begun: int) -> int:
        """How many bytes of the body are there already. Raises unless the answer is the file or the rest of it."""
        status = response.status_code
        if status == 200:
            return 0
        if status == 206 and begun and response.headers.get("content-range", "").startswith(f"bytes {begun}-"):
            return begun
        if status in (206, 416):
            _forget(part)
            raise _TryAgain("the server sent another part of the file than requested", after_s=0)
        if status in _TRY_AGAIN:
            raise _TryAgain(f"the server answers {status}", _retry_after(response.headers.get("retry-after")))
        kind = NotThereError if status in (404, 410) else DocumentationError
        raise kind(f"{url}: the server answers {status}")

    @contextmanager
    def _answer(self, url: str, headers: Mapping[str, str]) -> Iterator[httpx2.Response]:
        """The answer to a request, redirects to declared hosts followed."""
        for _ in range(MOST_REDIRECTS + 1):
            self._check_address(url)
            self._wait_for_turn(url)
            with self._client.stream("GET", url, headers=dict(headers), follow_redirects=False) as response:
                if response.status_code not in _REDIRECTS:
                    yield response
                    return
                url = urljoin(url, response.headers.get("location", ""))
        raise DocumentationError(f"{url}: more than {MOST_REDIRECTS} redirects")

    def _check_address(self, url: str) -> None:
        """A redirect, or a page list, may name any address: of the metadata service, of a printer, of a file."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            raise DocumentationError(f"{url!r} is not an address") from None
        local = host in _LOCAL
        if parts.scheme != "https" and not (parts.scheme == "http" and local):
            raise DocumentationError(f"{url}: documents are fetched over https only")
        if parts.username or parts.password or (port not in (None, 443) and not local):
            raise DocumentationError(f"{url}: an address with a user or a port of its own is not fetched")
        if host not in self._hosts:
            raise DocumentationError(f"{url}: {host} is not a host that the source declares")

    def _wait_for_turn(self, url: str) -> None:
        host = urlsplit(url).netloc
        left = self._asked.get(host, -self._pause_s) + self._pause_s - time.monotonic()
        if left > 0:
            self._sleep(left)
        self._asked[host] = time.monotonic()


def _limited(response: httpx2.Response, most_bytes: int, url: str) -> Iterator[bytes]:
    """The body in pieces. Raises for one that is too large, or encoded although that was not asked for."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise DocumentationError(f"{url}: the server sends it compressed, which was not requested")
    left = most_bytes
    for piece in response.iter_raw():
        left -= len(piece)
        if left < 0:
            raise DocumentationError(f"{url} is larger than {most_bytes / 1e6:.0f} MB")
        yield piece


def _conditions(known: Validators) -> dict[str, str]:
    asked = {"If-None-Match": known.etag, "If-Modified-Since": None if known.etag else known.last_modified}
    return {name: value for name, value in asked.items() if value}


def _resume(part: Path) -> tuple[dict[str, str], int]:
    """The headers that ask for the rest of a body, and how much of it is there."""
    try:
        begun = part.stat().st_size
        said = Validators(**json.loads(_notes(part).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}, 0
    # A weak ETag does not promise the same bytes.
    same = said.etag if said.etag and not said.etag.startswith("W/") else said.last_modified
    return ({"Range": f"bytes={begun}-", "If-Range": same}, begun) if begun and same else ({}, 0)


def _notes(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _note(part: Path, validators: Validators) -> None:
    _notes(part).write_text(json.dumps(asdict(validators)), encoding="utf-8")


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _notes(part).unlink(missing_ok=True)


def _retry_after(value: str | None) -> float | None:
    """Seconds to wait, from a number or a date; None where the server does not say."""
    if not value:
        return None
    if value.strip().isdigit():
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
