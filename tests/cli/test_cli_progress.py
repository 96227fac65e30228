"""The bar shows the share of the whole; Ctrl-C is answered at once, also while compiled code is at work."""

import io
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import hopbytes as hb
from hopbytes.engine.control import WorkMeter, metered_by
from hopbytes.show.progress import DELAY, INTERVAL, Progress, State, expected_edges


def test_a_bar_never_falls_nor_reaches_its_end_when_the_estimate_was_too_low():
    shares = [State(done=done, expected=100).share(0.0) for done in range(1, 2000)]
    assert shares == sorted(shares)
    assert shares[-1] < 1


def test_a_time_limit_makes_it_a_bar_of_time():
    state = State(done=1, expected=1000, time_limit=60, mapping_began=10.0)
    assert state.share(25.0) == 0.25
    assert state.share(500.0) == 1.0


def test_a_line_has_the_share_and_the_time():
    state = State("refine", "5", 95, 100, began=10.0)
    assert state.line(10 + 3725.9, 90, "#.") == "refine, J 5  ######################..  93 %  1:02:05"
    assert State(done=90, expected=100).share(0.0) == pytest.approx(0.9)
    assert State(done=100, expected=100).share(0.0) == pytest.approx(0.95)
    assert State().share(0.0) is None
    assert State("read", began=0.0).line(0.0, 90, "#.") == f"read, J -  {'.' * 24}        0:00:00"
    assert State(time_limit=5).share(0.0) is None
    assert state.line(10.0, 20, "#.") == state.line(10.0, 90, "#.")[11:30]
    state.stopping = True
    assert state.line(10.0, 60, "#.").startswith("stopping …  ####")


def test_a_work_limit_is_what_is_expected():
    for limit, expected in ((None, 7000), (50, 50), (0, 1)):
        progress = Progress(watched=False)
        progress.mapping(100, 7000, time_limit=None, work_limit=limit)
        assert (progress.state.done, progress.state.expected) == (3000, 3000 + expected)
    progress = Progress(watched=True)
    progress.report("level 1, J 1,234, pass 2", 0, 1)
    assert (progress.state.stage, progress.state.cost) == ("level 1, pass 2", "1,234")


def test_there_is_no_cost_before_there_is_a_mapping():
    progress = Progress(watched=True)
    assert progress.report is not None
    progress.report("level 1 of 3, J 0", 0, 1)
    assert progress.state.cost == "-"
    progress.report("level 2 of 3, J 663,224,320", 0, 1)
    progress.report("refine", 0, 1)
    assert "J 663,224,320" in progress.state.line(0.0, 80)


class End:
    """The end of a run, on a clock that goes on while somebody waits."""

    def __init__(self, seconds):
        self.left = seconds

    def wait(self, timeout):
        self.left -= timeout
        return self.is_set()

    def is_set(self):
        return self.left <= 0

    def set(self):
        self.left = 0


def shown_by_a_run_of(seconds, monkeypatch):
    """Return what a watched run writes to its terminal until it ends, and then to take the bar away."""
    terminal = io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = Progress(watched=True)
    progress.meter, progress._end = WorkMeter(), End(seconds)
    progress.mapping(100, 7000, time_limit=None, work_limit=None)
    progress._draw_often()
    progress.close()
    return terminal.getvalue()


def test_a_short_run_stays_silent(monkeypatch):
    assert shown_by_a_run_of(0.9 * DELAY, monkeypatch) == ""
    longer = shown_by_a_run_of(DELAY + 2.5 * INTERVAL, monkeypatch)
    assert longer.count("mapping, J -") == 2
    assert longer.endswith("\r\x1b[K")  # the bar is taken away


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_a_line_fits_its_terminal(columns):
    state = State(stage="reading " + "x" * 300, began=0.0)
    assert len(state.line(1.0, columns)) < columns


def test_the_meter_sees_what_compiled_calls_have_scanned():
    graph, where = hb.read("stencil:64x64"), hb.allocate("node:4 core:4")
    meter = WorkMeter()
    with metered_by(meter):
        mapping = hb.map_tasks(graph, where, "fast", partition=True, threads=1)
    assert meter.total() >= mapping.info["work"]["arcs"] > 0
    expected = expected_edges(graph.n, graph.m, "fast", partition=True)
    assert expected / 4 < meter.total() < expected * 4


SLOW = """
import signal, sys, threading, time
from hopbytes.cli.signals import prompt_end
with prompt_end(lambda: print("stopping", flush=True)):
    print("begun", flush=True)
    # As compiled code does: the handler of the main thread has no turn.
    signal.pthread_sigmask(signal.SIG_BLOCK, [])
    signal.signal(signal.SIGINT, lambda *_: None)
    time.sleep(600)
    while True:
        time.sleep(600)
"""


def test_what_does_not_end_by_itself_is_ended():
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout, stderr) == (130, "stopping\n", "hopbytes: interrupted\n")


def test_a_library_call_is_interrupted_without_waiting_for_its_search():
    """The search goes on for a moment in a thread of its own; nobody waits for its result."""
    graph, where = hb.read("stencil:300x300"), hb.allocate("node:8 core:8")
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        hb.map_tasks(graph, where, "strong", partition=True, threads=1)
    timer.join()
    for thread in threading.enumerate():
        if thread.name == "hopbytes-kernel":
            thread.join()
