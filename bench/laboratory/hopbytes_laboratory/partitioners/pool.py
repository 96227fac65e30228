"""A pool of worker processes: parallel calls of partitioners, which Ctrl-C and deadlines can stop."""

from __future__ import annotations

import array
import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from hopbytes.engine.control import stop_asked
from hopbytes_laboratory.partitioners import _worker

START_WORK = 1 << 18
"""Work (see `Job.work`) below which calls run in this process, because starting a worker takes as long."""

#: Interval in seconds at which a thread that waits for workers checks the stop flag.
POLL_SECONDS = 0.2

_READ_SIZE = 1 << 20


@dataclass(slots=True, eq=False)
class Job:
    """One call of a partitioner."""

    file: IO[bytes]  # the graph in ParHIP layout; several jobs may share it, and its creator closes it
    max_weights: list[int]  # as for :func:`hopbytes_laboratory.partitioners._worker.solve`.
    seed: int
    preset: str
    work: int  # approximate cost: vertices + arcs, times the cost of the preset. It is not a time.
    #: set by the pool. When `done` is true there is either the raw answer or the reason of a failure.
    done: bool = False
    answer: bytes | None = None
    reason: str = ""
    backend: str = "kaminpar"
    threads: int = 1

    def fail(self, reason: str) -> None:
        """Finish this job without an answer."""
        self.done, self.answer, self.reason = True, None, reason

    def run_here(self) -> None:
        """Run this job in the current process."""
        try:
            self.answer = _worker.solve(
                self.file.fileno(), self.max_weights, self.seed, self.preset, self.backend, self.threads
            )
            self.done = True
        except Exception as error:
            self.fail(f"{type(error).__name__}: {error}")


@dataclass(slots=True, eq=False)
class _Worker:
    """One worker process, the channel to it, and its current job."""

    process: subprocess.Popen[bytes]
    channel: socket.socket
    # The system kills a worker when the *thread* that started it ends, so only that thread uses it.
    owner: threading.Thread
    job: Job | None = None
    received: bytearray = field(default_factory=bytearray)

    @classmethod
    def start(cls) -> _Worker:
        ours, theirs = socket.socketpair()
        with theirs:
            # The working directory contains the package, so that the worker imports the same hopbytes and no
            # modules of the user's folder. The worker must not write to the user's output.
            words = [sys.executable, "-m", _worker.__name__, str(theirs.fileno()), str(os.getpid())]
            process = subprocess.Popen(
                words, pass_fds=[theirs.fileno()], cwd=Path(__file__).resolve().parents[2],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        return cls(process, ours, threading.current_thread())

    def usable(self) -> bool:
        return self.owner is threading.current_thread() and self.process.poll() is None

    def send(self, job: Job) -> None:
        """Send the job to the worker; raises OSError if the process has ended."""
        request = {
            "max_weights": job.max_weights, "seed": job.seed, "preset": job.preset, "backend": job.backend,
            "threads": job.threads,
        }  # fmt: skip
        line = json.dumps(request).encode() + b"\n"
        attached = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [job.file.fileno()]))]
        sent = self.channel.sendmsg([line], attached, socket.MSG_NOSIGNAL)
        if sent < len(line):
            self.channel.sendall(line[sent:], socket.MSG_NOSIGNAL)

    def receive(self) -> None:
        """Receive data; a complete answer finishes the job. Raises OSError if the process has ended."""
        assert self.job is not None
        data = self.channel.recv(_READ_SIZE)
        if not data:
            raise ConnectionResetError("the partitioner ended its process")
        self.received += data
        end = self.received.find(b"\n")
        if end < 0:
            return
        head: dict[str, Any] = json.loads(self.received[:end])
        if "error" in head:
            self.job.fail(head["error"])
        elif len(self.received) - end - 1 == head["bytes"]:
            self.job.answer, self.job.done = bytes(self.received[end + 1 :]), True
        if self.job.done:
            self.job = None
            self.received.clear()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.channel.close()


class WorkerPool:
    """Up to `threads` worker processes, which are started when there is enough work and kept until the end.

    Answers depend neither on the number of workers nor on whether a job runs in a worker or in this process,
    because each call has its own seed. Small amounts of work start no worker. If a worker dies, its job
    fails and the worker is replaced. A pool must be used by one thread at a time.

    >>> from hopbytes_laboratory.partitioners.pool import WorkerPool
    >>> with WorkerPool(2) as pool:
    ...     pool.wait([])
    """

    def __init__(
        self, threads: int = 1, *, in_process: bool | None = None, start_work: int = START_WORK
    ) -> None:
        if in_process is None:
            in_process = os.environ.get("HOPBYTES_WORKERS") == "0" or not sys.executable
        self.threads = max(1, threads)
        self.in_process = in_process
        self.start_work = start_work
        self.lost = 0
        self._stopped = False
        self._work = 0
        self._waiting: deque[Job] = deque()
        self._workers: list[_Worker] = []

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def process_ids(self) -> list[int]:
        """Return the process ids of the running workers."""
        return [worker.process.pid for worker in self._workers if worker.process.poll() is None]

    def submit(self, jobs: Sequence[Job]) -> None:
        """Append jobs to the queue, and start them if there is enough work for workers."""
        self._waiting.extend(jobs)
        self._work += sum(job.work for job in jobs)
        with self._workers_killed_on_error():
            if self._use_workers():
                self._hand_out()

    def wait(self, jobs: Sequence[Job], deadline: float | None = None) -> None:
        """Run jobs of this pool until all of `jobs` are done.

        When ``time.monotonic()`` reaches `deadline`, or the stop flag is set, all unfinished jobs of the pool
        fail and busy workers are killed. KeyboardInterrupt (and any other exception) kills all workers before
        it continues.
        """
        with self._workers_killed_on_error():
            while not all(job.done for job in jobs):
                left = None if deadline is None else deadline - time.monotonic()
                if not self._waiting and not any(worker.job for worker in self._workers):
                    raise ValueError("waiting for a job that was never submitted to this pool")
                if self._stopped:
                    self._fail_unfinished("stopped")
                elif stop_asked() or (left is not None and left <= 0):
                    self._fail_unfinished("no time left")
                elif self._use_workers():
                    self._hand_out()
                    self._collect(POLL_SECONDS if left is None else min(left, POLL_SECONDS))
                else:
                    self._waiting.popleft().run_here()

    def stop(self) -> None:
        """Make :meth:`wait` fail all jobs at once; it may be called from another thread."""
        self._stopped = True
        for worker in list(self._workers):
            worker.process.kill()

    def close(self) -> None:
        """Kill all workers; unfinished jobs fail."""
        self._fail_unfinished("the pool was closed")
        while self._workers:
            self._workers.pop().kill()

    # ---------------------------------------------------------------- implementation

    @contextmanager
    def _workers_killed_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _use_workers(self) -> bool:
        return not self.in_process and (bool(self._workers) or self._work >= self.start_work)

    def _hand_out(self) -> None:
        """Send waiting jobs to idle workers; start new workers up to the limit."""
        for worker in [worker for worker in self._workers if worker.job is None]:
            if not worker.usable():  # the worker died without a job, so none fails
                self._workers.remove(worker)
                worker.kill()
        idle = [worker for worker in self._workers if worker.job is None]
        while self._waiting and (idle or len(self._workers) < self.threads):
            if not idle:
                try:
                    self._workers.append(_Worker.start())
                except OSError:  # the system has no more processes or files: use the running workers
                    if self._workers:
                        return
                    self.in_process = True
                    return
                idle.append(self._workers[-1])
            worker, job = idle.pop(), self._waiting.popleft()
            worker.job = job
            try:
                worker.send(job)
            except OSError as error:
                self._remove_dead(worker, str(error))

    def _collect(self, seconds: float) -> None:
        """Wait for data of busy workers, at most that many seconds, and receive it."""
        busy = {worker.channel.fileno(): worker for worker in self._workers if worker.job is not None}
        poll = select.poll()  # unlike select(), poll has no upper limit of file descriptors
        for number in busy:
            poll.register(number, select.POLLIN)
        for number, _ in poll.poll(1 + int(1000 * seconds)):
            worker = busy[number]
            try:
                worker.receive()
            except OSError as error:
                self._remove_dead(worker, str(error))

    def _remove_dead(self, worker: _Worker, reason: str) -> None:
        self._workers.remove(worker)
        worker.kill()
        self.lost += 1
        if worker.job is not None:
            worker.job.fail(f"{reason} (exit status {worker.process.returncode})")

    def _fail_unfinished(self, reason: str) -> None:
        while self._waiting:
            self._waiting.popleft().fail(reason)
        for worker in [worker for worker in self._workers if worker.job is not None]:
            assert worker.job is not None
            worker.job.fail(reason)
            self._workers.remove(worker)
            worker.kill()
