"""The worker process and its pool: what happens when something dies."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from helpers.graphs import grid_csr
from helpers.paths import TESTS
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes_laboratory.partitioners import parhip
from hopbytes_laboratory.partitioners.pool import Job, WorkerPool

pytest.importorskip("kaminpar")


@pytest.fixture
def make_job():
    """Return a maker of jobs on grid graphs: side × side vertices into 4 blocks."""
    files = []

    def make(side: int = 20, *, blocks: int = 4, seed: int = 1, preset: str = "eco") -> Job:
        file = parhip.memory_file()
        files.append(file)
        parhip.write_parhip(file, grid_csr(side, weighted=False), None)
        return Job(file, [side * side // blocks + 10] * blocks, seed, preset, 5 * side * side)

    yield make
    for file in files:
        file.close()


def alive(process: int) -> bool:
    """Tell whether a process runs (a zombie does not)."""
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(condition, seconds: float = 10.0) -> bool:
    """Wait until a condition holds; False when it does not within `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


def work(pool, *jobs):
    """Have jobs done, and wait for their answers."""
    pool.submit(jobs)
    pool.wait(jobs)


@pytest.mark.parametrize(("most", "options"), [(None, {}), ("0", {"start_work": 0})])
def test_little_work_or_the_environment_starts_no_process(make_job, monkeypatch, most, options):
    if most is not None:
        monkeypatch.setenv("HOPBYTES_WORKERS", most)
    with WorkerPool(2, **options) as pool:
        job = make_job(20)
        work(pool, job)
        assert job.answer is not None
        assert pool.process_ids() == []


def test_error_in_the_partitioner_is_a_reason_not_a_crash(make_job):
    job = make_job(20, preset="no such preset")
    with WorkerPool(1, start_work=0) as pool:
        work(pool, job)
        assert job.done
        assert job.answer is None
        assert "context name" in job.reason
        assert pool.lost == 0


@pytest.mark.parametrize("damage", ["target outside the graph", "truncated"])
def test_input_that_ends_the_partitioner_fails_one_job(make_job, damage):
    # KaMinPar ends its process on such graphs; nobody but the pool may notice.
    bad, good = make_job(40), make_job(20)
    if damage == "truncated":
        bad.file.truncate(100)
    else:
        bad.file.seek(24 + 4 * 1601)
        bad.file.write(np.full(8, 10**9, "<u4").tobytes())
    with WorkerPool(1, start_work=0) as pool:
        work(pool, bad, good)
        assert bad.answer is None
        assert "exit status" in bad.reason
        assert pool.lost == 1
        assert good.answer is not None


def test_killed_worker_fails_its_job_and_is_replaced(make_job):
    slow, next_one = make_job(700, preset="strong"), make_job(20)
    with WorkerPool(1, start_work=0) as pool:
        pool.submit([slow])
        os.kill(pool.process_ids()[0], signal.SIGKILL)
        pool.wait([slow])
        assert slow.done
        assert slow.answer is None
        work(pool, next_one)
        assert next_one.answer is not None


def test_keyboard_interrupt_leaves_no_process(make_job):
    job = make_job(700, preset="strong")
    pool = WorkerPool(2, start_work=0)
    pool.submit([job, make_job(700, preset="strong")])
    processes = pool.process_ids()
    assert len(processes) == 2
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            pool.wait([job])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert not any(alive(process) for process in processes)
    assert job.done
    assert job.answer is None


PARENT = """
import sys, time
from hopbytes_laboratory.partitioners import parhip
from hopbytes_laboratory.partitioners.pool import Job, WorkerPool
from helpers.graphs import grid_csr
file = parhip.memory_file()
parhip.write_parhip(file, grid_csr(700, weighted=False), None)
pool = WorkerPool(2, start_work=0)
pool.submit([Job(file, [130_000] * 4, seed, "strong", 1) for seed in range(50)])
print(*pool.process_ids(), flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's death signal is Linux's")
def test_workers_die_with_their_parent():
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])},
        text=True,
    ) as parent:
        assert parent.stdout is not None
        processes = [int(word) for word in parent.stdout.readline().split()]
        assert len(processes) == 2
        assert all(alive(process) for process in processes)
        parent.kill()
    assert until(lambda: not any(alive(process) for process in processes))


@pytest.mark.parametrize(
    "error", [FormatError("a.xml", 3, "x, expected y"), FormatError("a", None, "z"), UnsupportedError("no")]
)
def test_errors_reach_another_process(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
