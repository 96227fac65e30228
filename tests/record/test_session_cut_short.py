"""Runs that a signal ends, as at a time limit: what was sent until then is the recording."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hopbytes as hb
from helpers.graphs import arcs_of
from helpers.real_mpi import FAMILIES, RING_OF_FOUR, compiled, mpi
from hopbytes.record.session import target_of

SOURCE = """#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile int told;
static void hear(int number) { told = number; }
int main(int argc, char **argv) {
    int rank, size, got;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1) signal(SIGTERM, hear);
    for (int i = 0; i < 10; i++)
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, (rank + size - 1) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("on its way\\n"), fflush(stdout);
    for (int i = 0; i < 6000 && !told; i++) usleep(10000);
    if (told) printf("heard it\\n"), fflush(stdout);
    MPI_Finalize();
    return 0;
}
"""
PATIENCE = 90


pytestmark = [pytest.mark.launcher, pytest.mark.usefixtures("mpi_folder")]


def ended(family, *, whole_group, options=("--collectives", "ring"), words=()):
    """Record a long run and end it once all ranks have sent; return exit code and what was said."""
    launch, _ = mpi(family)
    program = compiled(family, SOURCE, name="long")
    typed = [sys.executable, "-m", "hopbytes", "record", "-o", "app.pattern", *options, "--"]
    with subprocess.Popen(
        [*typed, *launch, program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as ours:  # fmt: skip
        assert ours.stdout is not None
        said = ""
        while said.count("on its way") < 4:
            said += ours.stdout.readline()
        time.sleep(0.2)
        if whole_group:  # as `timeout` and resource managers do
            os.killpg(ours.pid, signal.SIGTERM)
        else:
            ours.send_signal(signal.SIGTERM)
        out, errors = ours.communicate(timeout=PATIENCE)
    return ours.returncode, said + out, errors


@pytest.mark.parametrize("whole_group", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_what_was_sent_until_then(family, whole_group, tmp_path):
    _, _, errors = ended(family, whole_group=whole_group)  # Hydra may end with 0
    graph = hb.read("app.pattern")
    assert arcs_of(graph) == {pair: 10 * sent for pair, sent in RING_OF_FOUR.items()}
    assert "a signal ended 4 of 4 ranks: the pattern holds what they had sent until then" in errors
    assert graph.meta["recorded"]["cut"] == 4
    assert len(graph.meta["recorded"]["hosts"]) == 4
    assert sorted(os.listdir(tmp_path)) == ["app.pattern", "long", "long.c"]


def test_a_whole_recording_is_kept(tmp_path):
    """The one that was cut short gets a name of its own."""
    old = hb.CommGraph.from_edges([0], [1], [7], n=2)
    hb.write(old, "app.pattern")
    ended("mpich", whole_group=True)
    assert hb.read("app.pattern").total_volume == 7
    assert hb.read("app.cut.pattern").total_volume == 160
    whole = hb.CommGraph.from_edges([0], [1], n=2, meta={"recorded": {}})
    assert target_of("app.pattern", whole) == "app.pattern"


def test_handlers_of_the_program_are_left_alone():
    code, said, errors = ended("mpich", whole_group=False, words=["handles"])
    assert said.count("heard it") == 4 or code  # Hydra may end ranks before they have heard
    assert "a signal ended" not in errors


def test_the_way_out_is_said():
    """Open MPI itself writes at the end only."""
    code, _, errors = ended("openmpi 4.1", whole_group=False, options=())
    assert code
    assert "the interposer (--cc mpicc) keeps what was sent before a signal" in errors
    assert not Path("app.pattern").exists()
