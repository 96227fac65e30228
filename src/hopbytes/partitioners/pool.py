"""A pool of worker processes: partitioner calls side by side, stopped by Ctrl-C and deadlines."""

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

from hopbytes.engine import stop_asked
from hopbytes.partitioners import _worker

START_WORK = 1 << 18
"""Work (see `Job.work`) below which everything runs in this process: about as long as starting a worker."""

#: Seconds after which whoever waits for a worker looks whether somebody asked to stop.
LOOK_ROUND = 0.2

_READ_SIZE = 1 << 20


@dataclass(slots=True, eq=False)
class Job:
    """One partitioner call.

    Parameters
    ----------
    file : binary file
        The graph in ParHIP layout; shared by several jobs and closed by whoever made it.
    caps, seed, preset, backend, threads
        As for :func:`hopbytes.partitioners._worker.solve`.
    work : int
        Rough cost: vertices + arcs, times the cost of the preset. Never a time.
    done, answer, reason : bool, bytes or None, str
        Filled by the pool. After `done` either the raw answer or the reason why there is none.
    """

    file: IO[bytes]
    caps: list[int]
    seed: int
    preset: str
    work: int
    done: bool = False
    answer: bytes | None = None
    reason: str = ""
    backend: str = "kaminpar"
    threads: int = 1

    def fail(self, reason: str) -> None:
        """Close this job without an answer."""
        self.done, self.answer, self.reason = True, None, reason

    def run_here(self) -> None:
        """Run in this process."""
        try:
            self.answer = _worker.solve(
                self.file.fileno(), self.caps, self.seed, self.preset, self.backend, self.threads
            )
            self.done = True
        except Exception as error:
            self.fail(f"{type(error).__name__}: {error}")


@dataclass(slots=True, eq=False)
class _Worker:
    """One process, the channel to it, and what it is doing."""

    process: subprocess.Popen[bytes]
    channel: socket.socket
    # The kernel kills a worker when the *thread* that started it ends, so only that thread uses it.
    owner: threading.Thread
    job: Job | None = None
    received: bytearray = field(default_factory=bytearray)

    @classmethod
    def start(cls) -> _Worker:
        ours, theirs = socket.socketpair()
        with theirs:
            # Started beside the package, so that the worker imports the same one, and nothing from the
            # user's folder. It must not write to the user's output.
            process = subprocess.Popen(
                [
                    sys.executable, "-m", "hopbytes.partitioners._worker", str(
                        theirs.fileno()
                    ), str(os.getpid())
                ],
                pass_fds=[theirs.fileno()], cwd=Path(__file__).resolve().parents[2],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        return cls(process, ours, threading.current_thread())

    def usable(self) -> bool:
        return self.owner is threading.current_thread() and self.process.poll() is None

    def send(self, job: Job) -> None:
        """Hand over the job; raises OSError when the process is gone."""
        request = {
            "caps": job.caps, "seed": job.seed, "preset": job.preset, "backend": job.backend,
            "threads": job.threads,
        }  # fmt: skip
        line = json.dumps(request).encode() + b"\n"
        attached = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [job.file.fileno()]))]
        sent = self.channel.sendmsg([line], attached, socket.MSG_NOSIGNAL)
        if sent < len(line):
            self.channel.sendall(line[sent:], socket.MSG_NOSIGNAL)

    def receive(self) -> None:
        """Take what has arrived; a complete answer ends the job. Raises OSError when the process is gone."""
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
    """Up to `threads` worker processes, started when there is work for them and kept until the end.

    Answers do not depend on the number of workers, nor on whether a job runs in a worker or in this
    process: each call is one thread with its own seed. Small amounts of work never start a worker.
    A worker that dies fails its job and is replaced. Use from one thread at a time.

    Parameters
    ----------
    threads : int
        Most workers alive at once.
    in_process : bool, optional
        True: never start a worker. By default what the environment says (``HOPBYTES_WORKERS=0``).
    start_work : int
        Work submitted before the first worker is started.

    Examples
    --------
    >>> from hopbytes.partitioners.pool import WorkerPool
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
        """Return the ids of the worker processes alive now."""
        return [worker.process.pid for worker in self._workers if worker.process.poll() is None]

    def submit(self, jobs: Sequence[Job]) -> None:
        """Queue jobs, first come first served, and start on them if workers are worth it."""
        self._waiting.extend(jobs)
        self._work += sum(job.work for job in jobs)
        with self._nothing_left_running():
            if self._use_workers():
                self._hand_out()

    def wait(self, jobs: Sequence[Job], deadline: float | None = None) -> None:
        """Run jobs of this pool until all of `jobs` are done.

        When ``time.monotonic()`` reaches `deadline`, or somebody asks to stop, every job of the pool that
        is not done is given up and busy workers are killed. KeyboardInterrupt (and any other exception)
        kills all workers before it goes on.

        Raises
        ------
        ValueError
            One of `jobs` is not of this pool.
        """
        with self._nothing_left_running():
            while not all(job.done for job in jobs):
                left = None if deadline is None else deadline - time.monotonic()
                if not self._waiting and not any(worker.job for worker in self._workers):
                    raise ValueError("waiting for a job that was never submitted to this pool")
                if self._stopped:
                    self._give_up("stopped")
                elif stop_asked() or (left is not None and left <= 0):
                    self._give_up("no time left")
                elif self._use_workers():
                    self._hand_out()
                    self._collect(LOOK_ROUND if left is None else min(left, LOOK_ROUND))
                else:
                    self._waiting.popleft().run_here()

    def stop(self) -> None:
        """From another thread: make whoever waits here give up all jobs at once."""
        self._stopped = True
        for worker in list(self._workers):
            worker.process.kill()

    def close(self) -> None:
        """Kill all workers; jobs that are not done fail."""
        self._give_up("the pool was closed")
        while self._workers:
            self._workers.pop().kill()

    # ---------------------------------------------------------------- inside

    @contextmanager
    def _nothing_left_running(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _use_workers(self) -> bool:
        return not self.in_process and (bool(self._workers) or self._work >= self.start_work)

    def _hand_out(self) -> None:
        """Give waiting jobs to idle workers, starting as many as are allowed."""
        for worker in [worker for worker in self._workers if worker.job is None]:
            if not worker.usable():  # died while idle: nothing is lost
                self._workers.remove(worker)
                worker.kill()
        idle = [worker for worker in self._workers if worker.job is None]
        while self._waiting and (idle or len(self._workers) < self.threads):
            if not idle:
                try:
                    self._workers.append(_Worker.start())
                except OSError:  # no more processes or files to be had: those that run share the work
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
                self._bury(worker, str(error))

    def _collect(self, seconds: float) -> None:
        """Wait until a busy worker has something to say, but not longer than that, and take it."""
        busy = {worker.channel.fileno(): worker for worker in self._workers if worker.job is not None}
        poll = select.poll()  # unlike select, without a limit on file numbers
        for number in busy:
            poll.register(number, select.POLLIN)
        for number, _ in poll.poll(1 + int(1000 * seconds)):
            worker = busy[number]
            try:
                worker.receive()
            except OSError as error:
                self._bury(worker, str(error))

    def _bury(self, worker: _Worker, reason: str) -> None:
        self._workers.remove(worker)
        worker.kill()
        self.lost += 1
        if worker.job is not None:
            worker.job.fail(f"{reason} (exit status {worker.process.returncode})")

    def _give_up(self, reason: str) -> None:
        while self._waiting:
            self._waiting.popleft().fail(reason)
        for worker in [worker for worker in self._workers if worker.job is not None]:
            assert worker.job is not None
            worker.job.fail(reason)
            self._workers.remove(worker)
            worker.kill()
