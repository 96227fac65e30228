"""Compiled work in a thread: Ctrl-C and deadlines reach it, and it is never left running."""

import signal
import time

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.engine.control import SMALL, RunControl, call_size, interruptible


def until_told(control, log):
    """Stands for compiled work: polls the control word, then takes a while to come home."""
    def work():
        while not control[0]:
            time.sleep(0.005)
        time.sleep(0.1)
        log.append("home")
        return "done"
    return work


def test_hundreds_of_repeats_of_a_small_problem_remain_small():
    """A thread for each of thousands of short searches would take longer than the searches."""
    csr, loads = hb.read("stencil:4x4").arcs(None), np.ones(4, np.int64)
    one = call_size(csr, loads)
    assert one == 17 + 48 + 4
    assert call_size(csr, loads, 999) == one < SMALL
    assert call_size(csr, loads, 3000) == 4 * one


def test_an_interrupt_waits_for_the_work_to_come_home():
    """Else the process could end, or arrays be freed, while compiled code still writes into them."""
    control, log = np.zeros(1, np.int32), []

    def interrupt(*_):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(KeyboardInterrupt):
            interruptible(until_told(control, log), control, RunControl(), SMALL)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert log == ["home"]


def test_a_deadline_ends_the_work_with_its_best_answer():
    control, log = np.zeros(1, np.int32), []
    soon = RunControl(deadline=time.monotonic() + 0.05)
    assert interruptible(until_told(control, log), control, soon, SMALL) == "done"
    assert log == ["home"]


def test_a_fault_in_the_work_is_raised_where_it_was_called():
    def fails():
        raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        interruptible(fails, np.zeros(1, np.int32), RunControl(), SMALL)


@pytest.mark.parametrize(
    "mapper",
    [
        "multisection:initial_partitions=1000000", "multisection:bisection_repetitions=1000000",
        "top_down:initial_partitions=1000000"
    ],
)
def test_endless_tries_of_a_small_problem_end_at_the_deadline(mapper):
    tasks, where = hb.read("alltoall:16"), hb.allocate("node:4@10 core:4@1")
    assert hb.map_tasks(tasks, where, mapper, limits=hb.Limits(time=0.1)).info["work"]["cut_short"] >= 1
