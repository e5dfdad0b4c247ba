"""What Prometheus reads: counts of what ended, and the queue at this moment."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.jobs.job import Job

if TYPE_CHECKING:
    from pathlib import Path

    from prometheus_client.metrics_core import Metric

    from amdkernel_mcp.jobs.overview import Overview
    from amdkernel_mcp.leases.gpu_health import KnownGpu

_BUCKETS = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0)
_VERSION = 1  # of the file
LANES = ("gpu", "emulator", "compile")


class Counts:
    """What the jobs of a data folder came to. Thread-safe and quick: the job store calls it under its lock.

    Whoever reads them and saves them then finds at least as many after a restart, also after one that was not in order.
    """

    def __init__(self, file: Path | None = None) -> None:
        """`file`: where they are kept; one that cannot be read, or of another version, is as none."""
        self._file = file
        self._saved = b""
        self._lock = threading.Lock()
        self._jobs: Counter[tuple[str, str]] = Counter()
        self._verdicts: Counter[tuple[str, str]] = Counter()
        self._errors: Counter[tuple[str, str]] = Counter()
        self._waits = {lane: _Histogram() for lane in LANES}
        self._runs: dict[str, _Histogram] = {}
        if file is not None:
            with suppress(OSError, ValueError, TypeError, KeyError):
                self._load(json.loads(file.read_bytes()))

    def save(self) -> None:
        """Keep them. A disk that is full costs the counts of this process after a restart, and nothing now."""
        if self._file is None:
            return
        with self._lock:
            counted = [[*map(list, each.items())] for each in self._counters()]
            timed = [{name: each.saved() for name, each in times.items()} for times in (self._waits, self._runs)]
        text = json.dumps({"version": _VERSION, "counted": counted, "timed": timed}).encode()
        if text == self._saved:
            return
        with suppress(OSError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            new = self._file.with_suffix(f".{os.getpid()}.new")
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as opened:
                opened.write(text)
            new.replace(self._file)
            self._saved = text

    def _counters(self) -> tuple[Counter[tuple[str, str]], ...]:
        return self._jobs, self._verdicts, self._errors

    def _load(self, saved: Mapping[str, Any]) -> None:
        if saved["version"] != _VERSION:
            return
        counters = [{(str(a), str(b)): int(number) for (a, b), number in rows} for rows in saved["counted"]]
        timed = [{name: _Histogram(**each) for name, each in times.items()} for times in saved["timed"]]
        for counter, known in zip(self._counters(), counters, strict=True):
            counter.update(known)
        self._waits |= {lane: each for lane, each in timed[0].items() if lane in LANES}
        self._runs |= timed[1]

    def job_ended(self, job: Job) -> None:
        """Count a job that has ended."""
        verb = job.request.verb
        verdict = getattr(job.answer, "verdict", None)
        with self._lock:
            self._jobs[verb, job.status] += 1
            if verdict:
                self._verdicts[verb, verdict] += 1
            if job.error is not None:
                self._errors[verb, type(job.error).__name__] += 1
            if job.begun_s is not None and job.accepted_s is not None:
                self._waits[lane_of(job)].add(job.begun_s - job.accepted_s)
            if job.begun_s is not None and job.finished_s is not None:
                self._runs.setdefault(verb, _Histogram()).add(job.finished_s - job.begun_s)

    def metrics(self) -> Iterator[Metric]:
        """As the client library writes them."""
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        with self._lock:
            counted = (
                ("amdkernel_jobs", "Jobs that ended", "status", self._jobs),
                ("amdkernel_verdicts", "Verdicts that were given", "verdict", self._verdicts),
                ("amdkernel_errors", "Jobs that ended with an error, by its class", "error", self._errors),
            )
            for name, text, label, counts in counted:
                family = CounterMetricFamily(name, text, labels=["verb", label])
                for labels, number in counts.items():
                    family.add_metric(labels, number)
                yield family
            timed = (
                ("amdkernel_wait_seconds", "From the acceptance of a job to its start", "lane", self._waits),
                ("amdkernel_run_seconds", "From the start of a job to its end", "verb", self._runs),
            )
            for name, text, label, histograms in timed:
                times = HistogramMetricFamily(name, text, labels=[label])
                for value, histogram in histograms.items():
                    times.add_metric([value], histogram.buckets(), histogram.total_s)
                yield times


class _Histogram:
    def __init__(self, counts: Sequence[int] = (), total_s: float = 0.0) -> None:
        """Raises ValueError for another number of buckets."""
        self._counts = [int(number) for number in counts] or [0] * (len(_BUCKETS) + 1)
        if len(self._counts) != len(_BUCKETS) + 1:
            raise ValueError("another number of buckets")
        self.total_s = float(total_s)

    def saved(self) -> dict[str, Any]:
        return {"counts": self._counts[:], "total_s": self.total_s}

    def add(self, seconds: float) -> None:
        self._counts[sum(seconds > limit for limit in _BUCKETS)] += 1
        self.total_s += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """Upper limits with the number of all at or below them."""
        limits, below = [*map(str, _BUCKETS), "+Inf"], 0
        found: list[tuple[str, float]] = []
        for limit, number in zip(limits, self._counts, strict=True):
            below += number
            found.append((limit, below))
        return found


def lane_of(job: Job) -> str:
    """All GPUs are one lane here: a caller may name a target that does not exist."""
    lane = job.lane.partition(" of ")[0]  # `emulator of HOST`
    return lane if lane in LANES else LANES[0]


def exposition(
    counts: Counts, seen: Overview, gpus: Sequence[KnownGpu] = (), held: frozenset[str] = frozenset()
) -> tuple[bytes, str]:
    """The text that Prometheus reads, and its content type. `held`: ids of the GPUs with a lease."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import GaugeMetricFamily
    from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

    quarantined = frozenset(each.gpu for each in gpus if each.quarantined_s is not None)

    class Now:
        """The collector of one answer."""

        def collect(self) -> Iterator[Metric]:
            """What was counted, then what is."""
            yield from counts.metrics()
            waiting = Counter(lane_of(job) for job, _ in seen.waiting)
            running = Counter(lane_of(job) for job in seen.running)
            workers = dict.fromkeys(LANES[1:], seen.workers)
            for name, text, now in (
                ("amdkernel_queue_length", "Jobs that wait", waiting),
                ("amdkernel_running", "Jobs that run", running),
                ("amdkernel_workers", "Jobs that may run at the same time", workers),
            ):
                family = GaugeMetricFamily(name, text, labels=["lane"])
                for lane in LANES if now is not workers else LANES[1:]:
                    family.add_metric([lane], now.get(lane, 0))
                yield family
            for name, text, true in (
                ("amdkernel_gpu_held", "1 while a lease of the GPU is held", held),
                ("amdkernel_gpu_quarantined", "1 while nothing runs on the GPU until it is released", quarantined),
            ):
                of_gpus = GaugeMetricFamily(name, text, labels=["gpu", "target"])
                for each in gpus:
                    of_gpus.add_metric([each.gpu, each.target], each.gpu in true)
                yield of_gpus
            yield GaugeMetricFamily("amdkernel_draining", "1 while no new work is taken", value=seen.draining)

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Now())
    return generate_latest(registry), CONTENT_TYPE_LATEST
