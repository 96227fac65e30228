"""The messages of a pattern, sent by a program that an MPI compiler builds, or by mpi4py."""

import os
import shutil
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.paths import executable
from helpers.real_mpi import FAMILIES, mpi
from hopbytes.errors import HopbytesError, UnsupportedError
from hopbytes.launch import replay as module
from hopbytes.launch.replay import BothReplayed, Replayed, replay, replay_both

#: A launcher that starts one process, whatever it is told.
LAUNCHER = """#!/bin/sh
[ "$1" = --version ] && { echo "mpirun (Open MPI) 5.0.1"; exit; }
while [ $# -gt 0 ]; do
  case $1 in
    */placement.replay*) exec "$@" ;;
    *python*) exec "$@" ;;
  esac
  shift
done
"""
#: What compilers build: a program of this text.
ALONE = "echo hopbytes-replay-alone Other MPI 1.0; echo hopbytes-replay-alone Other MPI 1.0; exit 1"
MEASURES = """echo hopbytes-replay-under-way; echo 'hopbytes-replay {"seconds": [0.5, 0.25, 0.75]}'"""


def script(path, text):
    executable(path, text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")


def compiler(path, text):
    """Write a stand-in for a compiler, whose programs have this text."""
    program = f"#!/bin/sh\n{text}\n".replace("'", "'\\''")
    script(path, f"for last; do :; done\nprintf '%s' '{program}' > \"$last\"; chmod +x \"$last\"")


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Return a folder of programs, the first on the path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script(folder / "mpirun", LAUNCHER)
    (folder / "chmod").symlink_to(shutil.which("chmod"))
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    return folder


PAIR = hb.CommGraph.from_edges([0, 1], [1, 0], [1000, 1000])
WORDS = ["mpirun", "-n", "2"]


def here():
    return hb.map_tasks(PAIR, hb.allocate("node:1 core:2", hosts=os.uname().nodename), "fast")


def test_both_orders_and_their_ratio_in_one_call(programs):
    compiler(programs / "mpicc", MEASURES)
    both = replay_both(PAIR, here(), WORDS)
    assert both.mapping.seconds == both.launcher.seconds == (0.5, 0.25, 0.75)
    assert both.ratio == 1
    assert both.to_dict()["launcher_order"]["seconds_median"] == 0.5
    assert [entry.name for entry in os.scandir(programs.parent)] == ["bin"], "nothing is left behind"


def test_a_summary_says_what_was_sent_and_which_is_faster():
    slow, fast = Replayed((4.0, 4.0), 10, 1.0), Replayed((1.0, 1.0), 10, 0.5)
    said = BothReplayed(launcher=slow, mapping=fast).summary()
    assert "0.25 of the time" in said
    assert "75.0% less" in said
    assert "of the pattern)" not in said
    assert "0.5 of its bytes" in said
    assert "in full" in slow.summary()


def test_the_next_compiler_is_tried_where_the_first_belongs_to_another_mpi(programs):
    compiler(programs / "mpicc", ALONE)
    compiler(programs / "mpicc.openmpi", MEASURES)
    assert replay(PAIR, None, WORDS).seconds == (0.5, 0.25, 0.75)
    with pytest.raises(HopbytesError, match=r"alone under Other MPI 1\.0"):
        replay(PAIR, None, WORDS, compiler=str(programs / "mpicc"))


def test_neither_compiler_nor_mpi4py_is_one_line(programs):
    with pytest.raises(UnsupportedError, match=mentions("mpicc", "mpi4py")) as raised:
        replay(PAIR, None, WORDS)
    assert "\n" not in str(raised.value)


def test_a_compiler_that_builds_nothing_is_said(programs):
    script(programs / "mpicc", "echo 'x.c: fatal error: mpi.h: no such file' >&2; exit 1")
    with pytest.raises(UnsupportedError, match=mentions("mpicc", "mpi.h")):
        replay(PAIR, None, WORDS, compiler="mpicc")
    with pytest.raises(UnsupportedError, match=mentions("mpi.h", "mpi4py")):
        replay(PAIR, None, WORDS)


def test_nodes_without_mpi4py_are_one_line_and_no_traceback(programs, capfd, tmp_path, monkeypatch):
    (tmp_path / "mpi4py.py").write_text("raise ImportError('no library of MPI here')\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    with pytest.raises(HopbytesError, match="the nodes lack mpi4py: no library of MPI here"):
        replay(PAIR, None, WORDS, python=sys.executable)
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.launcher
@pytest.mark.parametrize("family", FAMILIES)
def test_real_messages_by_the_compiled_program(family, mpi_folder):
    words, found = mpi(family)
    graph = hb.CommGraph.from_dense(np.ones((4, 4)) * 5000)
    measured = replay(graph, None, words, rounds=3, compiler=found)
    assert len(measured.seconds) == 3
    assert measured.round_bytes == 12 * 5000
    assert min(measured.seconds) > 0
    with pytest.raises(HopbytesError):
        replay(hb.CommGraph.from_dense(np.ones((5, 5))), None, words, rounds=1, compiler=found)


@pytest.mark.launcher
@pytest.mark.skipif(find_spec("mpi4py") is None, reason="needs mpi4py")
def test_the_program_in_python_reads_the_same_file(mpi_folder):
    words, _ = mpi("openmpi 5")
    graph = hb.CommGraph.from_dense(np.ones((4, 4)) * 50)
    measured = replay(graph, None, words, rounds=2, python=sys.executable)
    assert len(measured.seconds) == 2
