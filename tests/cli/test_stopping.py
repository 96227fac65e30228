"""Ctrl-C, and a reader that goes away: quiet, quick, and nothing half-written."""

import os
import pty
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import hopbytes as hb
from helpers.paths import EXAMPLES, PROGRAM

SIDE, SMALL_SIDE = 400, 120
#: Far more than the wait for a reply to Ctrl-C should ever be, also on a busy machine.
PATIENCE = 30.0


@pytest.fixture(scope="module")
def large_grid(tmp_path_factory):
    """A grid of 160 000 tasks: mapping it takes much longer than reacting to a signal."""
    return write_grid(tmp_path_factory.mktemp("large") / "grid.graph", SIDE)


def write_grid(path, side):
    """Write the four-neighbour grid of side x side tasks as a METIS file."""
    number = np.arange(side * side).reshape(side, side)
    pairs = np.concatenate(
        [
            np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()]),
            np.stack([number[:-1].ravel(), number[1:].ravel()]),
        ],
        axis=1,
    )
    both = np.concatenate([pairs, pairs[::-1]], axis=1)
    hb.write(hb.CommGraph.from_edges(both[0], both[1], n=side * side), path)
    return path


def listen():
    """In a child: hear Ctrl-C, which whoever runs the tests in the background may have made it ignore."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(folder, pattern, stderr):
    """Start a long run whose progress bar shows on the terminal `stderr`."""
    return subprocess.Popen(
        [
            PROGRAM,
            "map",
            pattern,
            "--hierarchy",
            "4:8:6:5",
            "--partition",
            "--preset",
            "strong",
            "-o",
            "out.txt",
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        cwd=folder,
        start_new_session=True,
        preexec_fn=listen,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )


def read_until(terminal, word, seconds=60.0):
    """Return what a terminal shows up to `word`."""
    shown, limit = b"", time.monotonic() + seconds
    while word not in shown:
        assert time.monotonic() < limit, shown
        shown += os.read(terminal, 4096)
    return shown


@pytest.mark.parametrize("whole_group", [False, True], ids=["process", "terminal"])
def test_interrupt_during_a_long_map(tmp_path, large_grid, whole_group):
    """A terminal's Ctrl-C goes to the whole process group, `kill -INT` to the program alone."""
    ours, theirs = pty.openpty()
    process = start(tmp_path, large_grid, theirs)
    os.close(theirs)
    try:
        read_until(ours, "━".encode())  # the bar of the progress display: mapping has begun
        if whole_group:
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate(timeout=PATIENCE)
        shown = read_until(ours, b"interrupted")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        os.close(ours)
    assert process.returncode == 130
    assert stdout == b""
    assert b"Traceback" not in shown
    assert list(tmp_path.iterdir()) == []


def test_no_worker_survives_an_interrupt(tmp_path, large_grid):
    ours, theirs = pty.openpty()
    process = start(tmp_path, large_grid, theirs)
    os.close(theirs)
    try:
        read_until(ours, "━".encode())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        limit = time.monotonic() + PATIENCE
        while members := processes_of_session(process.pid):
            assert time.monotonic() < limit, members
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        os.close(ours)


def processes_of_session(session):
    """Return the living processes of a session (zombies of a finished one do not count)."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdecimal():
            continue
        try:
            with open(f"/proc/{entry}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(entry))
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_search_with_a_limit_that_is_stopped_writes_its_best(hopbytes, tmp_path, number):
    grid = write_grid(tmp_path / "grid.graph", SMALL_SIDE)
    where = ("--hierarchy", "4:4", "--distance", "1:10")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, "map", grid, *where, "--partition", "--preset", "best", "--time-limit", "600",
         "-o", "out.txt"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs, cwd=tmp_path, start_new_session=True,
        preexec_fn=listen, env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
    )  # fmt: skip
    os.close(theirs)
    try:
        read_until(ours, b"evolve")  # so there is a placement
        process.send_signal(number)
        process.communicate(timeout=PATIENCE)
        read_until(ours, b"stopped early: this is the best mapping found until then")
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert process.returncode == 0
    judged = hopbytes("eval", grid, tmp_path / "out.txt", *where, "--json")
    assert judged.returncode == 0, judged.stderr


def test_no_progress_bar_without_a_terminal(hopbytes, tmp_path):
    """The talk of a run in a batch job is plain text, however long it takes."""
    grid = write_grid(tmp_path / "grid.graph", SMALL_SIDE)
    done = hopbytes("map", grid, "--hierarchy", "4:4", "--partition", "--preset", "strong", "-o", "out.txt")
    assert done.returncode == 0, done.stderr
    assert "━" not in done.stderr
    assert "\x1b" not in done.stderr


def test_a_closed_pipe_is_no_error_message(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [PROGRAM, "write", EXAMPLES / "lammps_lj_64.csv", "-o", "-", "--format", "edges"],
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        timeout=60,
    )
    os.close(writer)
    assert done.returncode == 141
    assert done.stderr == b""


def test_closed_stdout_and_stderr_do_not_crash(tmp_path):
    code = f"exec {PROGRAM} show machines >&- 2>&-"
    assert subprocess.run(["sh", "-c", code], cwd=tmp_path, timeout=60).returncode in (0, 1)
    assert sys.executable
