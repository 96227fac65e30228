"""Signals at any moment: the old file is whole, and where a signal can be caught nothing else is left.

HOPBYTES_KILLS says how many moments are tried per verb and signal.
"""

from __future__ import annotations

import gzip
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hopbytes as hb
from helpers.paths import executable
from helpers.thorough import most

KILLS = int(os.environ.get("HOPBYTES_KILLS", most("3", "1")))
LAUNCHER, COMPILER = "mpiexec.hydra", "mpicc.mpich"
#: Beyond any command here, after which the last kind of kill is tried.
PATIENCE = 60
SIGNALS = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL]
SOURCE = """#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int rank, got;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, 0, &got, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    usleep(300000);
    MPI_Finalize();
    return 0;
}
"""
MISSING = not shutil.which(LAUNCHER) or not shutil.which(COMPILER)
pytestmark = [pytest.mark.launcher, pytest.mark.skipif(MISSING, reason="MPICH is not installed")]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    (folder / "app.c").write_text(SOURCE)
    subprocess.run([COMPILER, str(folder / "app.c"), "-o", str(folder / "app")], check=True)
    return str(folder / "app")


def words_of(verb, program):
    command = ["--", LAUNCHER, "-n", "2", program]
    if verb == "record":
        return ["record", "-o", "app.pattern", *command]
    return ["run", "--pattern", "app.pattern", "--on", "core:2", *command]


def listen():
    """In a child: hear what whoever runs the tests in the background may have made it ignore."""
    for number in SIGNALS[:3]:
        signal.signal(number, signal.SIG_DFL)


def kill_at(moment, number, words, folder):
    """Run a command and send it a signal after some seconds; return its exit code."""
    with subprocess.Popen(
        [sys.executable, "-m", "hopbytes", *words], cwd=folder, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=listen,
    ) as child:  # fmt: skip
        time.sleep(moment)
        child.send_signal(number)
        try:
            return child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            raise


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("verb", ["record", "run"])
def test_at_any_moment(verb, number, program, tmp_path):
    draw = random.Random(f"{verb} {number}" if KILLS < 10 else None)
    old = hb.CommGraph.from_edges([0], [1], [7], n=2, meta={"name": "old"})
    for turn in range(KILLS):
        folder = tmp_path / str(turn)
        folder.mkdir()
        hb.write(old, folder / "app.pattern")
        moment = draw.uniform(0.0, 2.0)
        code = kill_at(moment, number, words_of(verb, program), folder)
        found = hb.read(folder / "app.pattern")
        assert found.total_volume in (7, 8), (moment, code)  # the old one, or all of the new one
        left = sorted(path.name for path in folder.iterdir())
        if number == signal.SIGKILL:  # which nothing can clean up after
            left = [name for name in left if not name.startswith(".hopbytes-") and not name.endswith(".part")]
        if "app.cut.pattern" in left:  # what was sent until then
            left.remove("app.cut.pattern")
            assert hb.read(folder / "app.cut.pattern").n == 2
        if "app.trace.gz" in left:  # who waits for whom, whole or not at all
            left.remove("app.trace.gz")
            assert gzip.decompress((folder / "app.trace.gz").read_bytes())
        assert left == ["app.pattern"], (moment, code)


def test_a_signal_that_is_ignored_stays_so(program, tmp_path):
    """As under nohup."""
    words = [sys.executable, "-m", "hopbytes", *words_of("record", program)]
    ignoring = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *words]
    quiet = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(ignoring, cwd=tmp_path, **quiet) as child:
        time.sleep(0.3)
        child.send_signal(signal.SIGHUP)
        assert child.wait(PATIENCE) == 0
    assert {path.name for path in Path(tmp_path).iterdir()} == {"app.pattern", "app.trace.gz"}


def test_who_sent_it_sees_it(tmp_path):
    """A program that cleaned up dies of the signal all the same."""
    words = ["probe", "-o", "x.json", "--", "sh", "-c", "kill -TERM $PPID; exec sleep 300"]
    done = subprocess.run(
        [sys.executable, "-m", "hopbytes", *words], cwd=tmp_path, capture_output=True, timeout=PATIENCE,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == -signal.SIGTERM


@pytest.mark.parametrize("number", SIGNALS[:3], ids=lambda number: number.name)
@pytest.mark.parametrize("verb", ["bench-pattern", "measure", "run"])
def test_while_a_launcher_hangs(verb, number, tmp_path):
    """It is ended as well, and the folder with its files is removed."""
    launcher = tmp_path / "launcher"
    hangs = '[ "$1" = --version ] && exec echo HYDRA; echo $$ > started; exec sleep 300'
    executable(launcher, f"#!/bin/sh\n{hangs}\n")
    work = tmp_path / "work"
    work.mkdir()
    hb.write(hb.CommGraph.from_edges([0], [1], [7], n=2), work / "app.pattern")
    words = {
        "bench-pattern": ["bench-pattern", "app.pattern", "-", "--", str(launcher), "-n", "2"],
        "measure": ["probe", "--measure", "--on", "core:2", "--", str(launcher), "-n", "2"],
        "run": ["run", "--pattern", "app.pattern", "--on", "core:2", "--", str(launcher), "-n", "2", "true"],
    }[verb]
    with subprocess.Popen(
        [sys.executable, "-m", "hopbytes", *words], cwd=work, stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, preexec_fn=listen,
    ) as child:  # fmt: skip
        limit = time.monotonic() + PATIENCE
        while not (work / "started").is_file() or not (work / "started").read_text().strip():
            assert time.monotonic() < limit
            time.sleep(0.05)
        child.send_signal(number)
        code = child.wait(PATIENCE)
    process = int((work / "started").read_text())
    assert not Path(f"/proc/{process}").exists()
    assert sorted(path.name for path in work.iterdir()) == ["app.pattern", "started"]
    if verb == "run":  # the signal is the program's, which died of it
        assert code == 128 + number
    else:
        assert code == (130 if number == signal.SIGINT else -number)
