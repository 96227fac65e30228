"""Run a command and measure its whole process tree from outside.

Seconds come from the kernel's accounting of finished children, so a tool cannot hide work in
processes of its own: the harness declares itself the parent of orphans, which makes even detached
helpers count. Memory is sampled from /proc, summed over the tree.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.rivals.sampler import MemorySampler, children, descendants

TICKS = os.sysconf("SC_CLK_TCK")
PR_SET_CHILD_SUBREAPER = 36
#: Lines of a failed tool's talk that are kept in its row.
ERROR_CHARACTERS = 2000


@dataclass(frozen=True)
class Measurement:
    """What one run of a command cost.

    Parameters
    ----------
    returncode : int
        As in subprocess: negative is minus the signal number.
    stdout, stderr : str
    wall_seconds : float
        From start to the end of the last process of the tree.
    cpu_seconds : float
        User and system time of all processes of the tree.
    other_cpu_seconds : float
        CPU time that the rest of the system used, or the host took, meanwhile; near 0 on a quiet machine.
    peak_rss_bytes : int
        Largest sampled sum of resident sets; pages that two processes share count twice.
    peak_memory_bytes : int or None
        Largest sampled sum with shared pages counted once and unmapped memory files included; None
        when that was not asked for (reading it disturbs a timing).
    timed_out : bool
    """

    returncode: int
    stdout: str
    stderr: str
    wall_seconds: float
    cpu_seconds: float
    other_cpu_seconds: float
    peak_rss_bytes: int
    peak_memory_bytes: int | None
    timed_out: bool

    @property
    def error(self) -> str | None:
        """One text saying what went wrong, None when nothing did."""
        if self.timed_out:
            return f"timed out after {self.wall_seconds:.1f} s"
        if self.returncode < 0:
            return f"killed by signal {-self.returncode}: {self.stderr[-ERROR_CHARACTERS:]}"
        if self.returncode:
            return f"exit code {self.returncode}: {self.stderr[-ERROR_CHARACTERS:]}"
        return None


def run_measured(
    command: Sequence[str],
    *,
    timeout: float,
    exact_memory: bool = False,
    interval: float = 0.05,
    grace: float = 1.0,
) -> Measurement:
    """Run `command` to its end (or `timeout` seconds) and measure its process tree.

    Processes it leaves behind get `grace` seconds to end by themselves before they are killed.
    Nothing else may be started by this process meanwhile: its accounting of children is the meter.
    """
    with adopting_orphans(), tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        strangers = set(children(os.getpid()))
        before, machine_before = _children_cpu(), _machine_cpu()
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
        sampler = MemorySampler(process.pid, interval, exact_memory)
        sampler.start()
        try:
            timed_out = not _wait(process, timeout)
            wall = time.perf_counter() - start
        finally:
            sampler.stop()
            stragglers = _end_tree(process, strangers, grace)
        if timed_out or stragglers:
            wall = time.perf_counter() - start
        cpu = _children_cpu() - before
        other = max(0.0, _machine_cpu() - machine_before - cpu)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
    return Measurement(
        process.returncode, texts[0], texts[1], wall, cpu, other,
        sampler.peak_rss, sampler.peak_memory if exact_memory else None, timed_out,
    )


@contextlib.contextmanager
def adopting_orphans() -> Iterator[None]:
    """Be the parent of descendants whose own parent ends, so that their CPU time is counted."""
    system = ctypes.CDLL(None, use_errno=True)
    system.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        system.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _wait(process: subprocess.Popen[bytes], timeout: float) -> bool:
    """Wait for the end of a process; False when it did not come in time.

    The kernel wakes us: ``Popen.wait`` with a timeout looks only every 50 ms, too coarse a clock here.
    """
    handle = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        ended = bool(poll.poll(timeout * 1000))
    finally:
        os.close(handle)
    if ended:
        process.wait()
    return ended


def _end_tree(process: subprocess.Popen[bytes], strangers: set[int], grace: float) -> bool:
    """Kill a process that still runs; let what it left end by itself, but not long; reap everything.

    Returns whether it left anything.
    """
    if process.returncode is None:
        _kill(descendants(process.pid))
        process.wait()
    patience, found = time.monotonic() + grace, False
    while left := set(children(os.getpid())) - strangers:
        found = True
        if time.monotonic() > patience:
            for orphan in left:
                _kill(descendants(orphan))
        for orphan in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(orphan, os.WNOHANG)
        time.sleep(0.002)
    return found


def _kill(processes: Iterator[int]) -> None:
    for pid in list(processes):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _machine_cpu() -> float:
    """CPU seconds spent (or stolen by the host) since the machine started, this process left out."""
    user, nice, system, _zero_load, _iowait, irq, softirq, steal, *_ = map(
        int, Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    )
    own = resource.getrusage(resource.RUSAGE_SELF)
    return (user + nice + system + irq + softirq + steal) / TICKS - own.ru_utime - own.ru_stime


# -------------------------------------------------------------------- fingerprint


def fingerprint() -> dict[str, str | int]:
    """Return what makes timings of two machines incomparable: CPU model, cores, kernel, architecture."""
    model = next(
        (line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
         if line.startswith("model name")),
        platform.processor() or "unknown",
    )
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "architecture": platform.machine(),
    }
