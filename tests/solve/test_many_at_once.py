"""Several calls at once: the same answers, no memory left behind, and programs that end meanwhile."""

import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import hopbytes as hb

#: What runs in parallel inside: cuts, recombination, anneals side by side, dense search, links.
CASES = (
    ("node:4@10 core:4@1", {"method": "eco", "partition": True}),
    ("node:4@10 core:16@1", {"method": "strong", "limits": hb.Limits(work=3_000_000)}),
    ("node:4@10 core:16@1", {"method": ["identity", "tabu:work=1"]}),
    ("torus:4x4 / core:4@1", {"method": "eco", "objective": "max_congestion"}),
    ("node:4@10 core:16@1", {"method": "multisection:schedule=queue"}),
)


def pattern(n=64):
    rng = np.random.default_rng(5)
    return hb.CommGraph.from_edges(*rng.integers(0, n, (2, 4 * n)), rng.integers(1, 99, 4 * n))


def mapped(case, threads=3):
    spec, options = CASES[case]
    n = 640 if options.get("partition") else 64
    return hb.map_tasks(pattern(n), hb.allocate(spec), threads=threads, **options).pe.tolist()


def in_a_child(case, answers):
    answers.put(mapped(case))


@pytest.mark.slow
def test_eight_threads_at_once_find_what_one_finds():
    expected = [mapped(case, threads=1) for case in range(len(CASES))]
    together = threading.Barrier(8)

    def several(number):
        together.wait()
        return [mapped((number + step) % len(CASES)) for step in range(len(CASES))]

    with ThreadPoolExecutor(8) as pool:
        for number, found in enumerate(pool.map(several, range(8))):
            assert found == [expected[(number + step) % len(CASES)] for step in range(len(CASES))]


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_processes_started_after_threads_have_worked(method):
    """Threads of the parent do not exist after a fork: nothing may wait for them."""
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    expected = [mapped(case) for case in range(2)]
    context = multiprocessing.get_context(method)
    answers = context.Queue()
    for case in range(2):
        child = context.Process(target=in_a_child, args=(case, answers))
        child.start()
        assert answers.get(timeout=300) == expected[case]
        child.join(300)
        assert child.exitcode == 0


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc here")
def test_many_maps_leave_no_memory_behind():
    """Four hundred patterns alone take 24 MiB, what their searches build several times that."""
    graph, options = pattern(400), {"method": "fast", "partition": True, "threads": 2}
    where = hb.allocate("node:4@10 core:4@1")
    for seed in range(60):
        hb.map_tasks(graph, where, seed=seed, **options)
    before = resident()
    for seed in range(400):
        hb.map_tasks(pattern(400), hb.allocate("node:4@10 core:4@1"), seed=seed, **options)
    assert resident() - before < 12 << 20


ENDING = """
import threading, time, warnings
import hopbytes as hb

warnings.simplefilter("ignore")
graph, where = hb.read("stencil:60x60"), hb.allocate("node:4@10 core:4@1")

def compute():
    while True:
        hb.map_tasks(graph, where, "fast", partition=True, threads=2)
        started.set()

started = threading.Event()
for _ in range(4):
    threading.Thread(target=compute, daemon=True).start()
started.wait()
time.sleep({seconds})
raise SystemExit(7)
"""


def test_the_end_of_the_program_while_daemon_threads_compute():
    """Python ends such threads by unwinding their stacks, which aborted the process in every other run."""
    programs = [
        subprocess.Popen([sys.executable, "-c", ENDING.format(seconds=0.01 * number)], stderr=subprocess.PIPE)
        for number in range(4)
    ]
    try:
        ends = [(program.communicate(timeout=60)[1], program.returncode) for program in programs]
    finally:
        for program in programs:
            program.kill()
    assert ends == [(b"", 7)] * 4
