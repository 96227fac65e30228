"""Memory of a process tree, sampled from /proc."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

PAGE = resource.getpagesize()


def children(pid: int) -> Iterator[int]:
    """Yield the processes that `pid` is the parent of, finished ones included until they are reaped."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for thread in threads:
        try:
            text = Path(f"/proc/{pid}/task/{thread}/children").read_text()
        except OSError:
            continue
        yield from map(int, text.split())


def descendants(root: int) -> Iterator[int]:
    """Yield `root` and all processes below it that live now, parents first."""
    yield root
    for child in children(root):
        yield from descendants(child)


class MemorySampler(threading.Thread):
    """Samples the memory of a process tree until stopped.

    Parameters
    ----------
    root : int
        Process at the top of the tree.
    interval : float
        Seconds between samples.
    exact : bool
        Also count shared pages once (``smaps_rollup``), which costs the observed processes time.
    """

    def __init__(self, root: int, interval: float, exact: bool) -> None:
        super().__init__(daemon=True)
        self._root, self._interval, self._exact = root, interval, exact
        self._done = threading.Event()
        self.peak_rss = 0
        self.peak_memory = 0

    def run(self) -> None:
        """Sample; the thread's body."""
        while True:
            processes = list(descendants(self._root))
            self.peak_rss = max(self.peak_rss, sum(map(resident_bytes, processes)))
            if self._exact:
                self.peak_memory = max(self.peak_memory, tree_memory(processes))
            if self._done.wait(self._interval):
                return

    def stop(self) -> None:
        """End sampling and wait for the thread."""
        self._done.set()
        self.join()


def resident_bytes(pid: int) -> int:
    """Resident set of one process, 0 when it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def tree_memory(processes: Sequence[int]) -> int:
    """Memory of several processes, shared pages counted once.

    Proportional set sizes add up to that, except for memory files (``memfd``): their pages belong to
    no process until mapped, so their allocated size counts when it is more than what is mapped.
    """
    private = shared = 0
    files: dict[tuple[int, int], int] = {}
    for pid in processes:
        sizes = _rollup(pid)
        shared += sizes.get("Pss_Shmem", 0)
        private += sizes.get("Pss", 0) - sizes.get("Pss_Shmem", 0)
        files.update(_memory_files(pid))
    return private + max(shared, sum(files.values()))


def _rollup(pid: int) -> dict[str, int]:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return {}
    return {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)}


def _memory_files(pid: int) -> dict[tuple[int, int], int]:
    found = {}
    try:
        handles = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return {}
    for handle in handles:
        path = f"/proc/{pid}/fd/{handle}"
        try:
            if os.readlink(path).startswith(("/memfd:", "/dev/shm/")):
                status = os.stat(path)
                found[status.st_dev, status.st_ino] = status.st_blocks * 512
        except OSError:
            continue
    return found
