"""Little memory, few processes, full or missing temporary folders: one line, and nothing half-written."""

import os
import resource
import shutil
import subprocess
import threading

import pytest

import hopbytes as hb
from helpers.paths import PROGRAM
from hopbytes.errors import UnsupportedError

MIB = 2**20
MAP = ("map", "stencil:300x300", "--on", "node:8 core:16", "--threads", "4")


@pytest.mark.parametrize("mebibytes", [40, 60, 100, 170, 290, 400])
def test_little_memory_is_said_in_a_line_and_leaves_no_file(tmp_path, mebibytes):
    """Whatever is missing: room for libraries, for the pattern, or for the work."""
    limit = (mebibytes * MIB, mebibytes * MIB)
    done = subprocess.run(
        [PROGRAM, *MAP, "-o", "out.txt"], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit),
    )
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 0 or done.stderr.count("\n") == 1
    if done.returncode:
        assert os.listdir(tmp_path) == []
    else:
        lines = (tmp_path / "out.txt").read_text().splitlines()
        assert len([line for line in lines if line[0] != "#"]) == 90_000


@pytest.mark.parametrize("schedule", ["", ":schedule=layer"])
def test_no_thread_to_be_had_is_an_error_for_people(monkeypatch, schedule):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    where = hb.allocate("node:8 core:16")
    graph = hb.read("stencil:200x200")
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(UnsupportedError, match=r"no thread can be started.*ulimit -u"):
        hb.map_tasks(graph, where, f"multisection{schedule}", threads=2, partition=True)


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="limits of processes need another user"
)
@pytest.mark.parametrize("most", [1, 2])
def test_few_processes_are_said_in_a_line(tmp_path, most):
    """As a user with nothing but the right to read everything; the program itself is the first process."""
    held = "-all,+dac_override"
    # The limit counts all processes of a user: tests that run beside this one need users of their own.
    user = ["setpriv", f"--reuid={60_000 + os.getpid() % 5_000}", "--clear-groups"]
    user += [f"--inh-caps={held}", f"--ambient-caps={held}", f"--bounding-set={held}"]
    done = subprocess.run(
        [*user, PROGRAM, *MAP], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (most, most)),
    )
    if most > 1 and done.returncode == 0:
        return  # no two threads of the search were alive at once
    assert done.returncode == 1
    expected = "hopbytes: no thread can be started, expected a higher limit of processes (ulimit -u)\n"
    assert (done.stdout, done.stderr) == ("", expected)
