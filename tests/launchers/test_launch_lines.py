"""The printed launch line is typed as it is, for the MPI that comes first in PATH, on several hosts."""

import dataclasses
import os
import re
import shlex
import sys

import numpy as np
import pytest
from several_hosts import HOSTS, farm, launched

import hopbytes as hb
from helpers.paths import executable

pytestmark = pytest.mark.launcher

#: Ranks 0 and 7, 1 and 4, 2 and 5, 3 and 6 belong together: no host has consecutive ranks.
PATTERN = "".join(f"{a} {b} 100\n{b} {a} 100\n" for a, b in ((0, 7), (1, 4), (2, 5), (3, 6)))
PROGRAM = '#!/bin/sh\necho "seen ${PMI_RANK:-$OMPI_COMM_WORLD_RANK} $(hostname)"\n'
MACHINE = ("--on", "node:4@10 core:2@1", "--hosts", ",".join(HOSTS))


@pytest.fixture(params=["openmpi-5", "openmpi-4", "hydra"])
def hosts(request, tmp_path):
    """Four hosts; one MPI alone is found under the names mpirun and mpiexec."""
    found = farm(request.param, tmp_path)
    folder = tmp_path / "bin"
    folder.mkdir()
    path = f"{folder}:/usr/bin:/bin"
    for name in ("mpirun", "mpiexec"):  # no links: launchers look for files beside themselves
        executable(folder / name, f'#!/bin/sh\nexec {shlex.quote(found.launch[0])} "$@"\n')
    executable(folder / "bsub", '#!/bin/sh\n[ "$1" = -hostfile ] || exit 1\nshift 2\nexec "$@"\n')
    (tmp_path / "far.edges").write_text(PATTERN)
    executable(tmp_path / "app", PROGRAM)
    environment = found.environment | {"PATH": path}
    environment["PATH"] += os.pathsep + os.path.dirname(sys.executable)
    return dataclasses.replace(found, environment=environment)


def typed(farm, said):
    """Type the last line of what was said; return the host of every rank."""
    *before, last = said.stderr.splitlines()
    assert last.startswith("launch: ")
    assert not [line for line in before if "launch" in line.partition(":")[0]]
    done = launched(["sh", "-c", last.removeprefix("launch: ")], cwd=farm.folder, env=farm.environment)
    assert done.returncode == 0, last + done.stdout + done.stderr
    return {int(rank): host for rank, host in re.findall(r"seen (\d+) (\S+)", done.stdout)}


@pytest.mark.parametrize("form", ["openmpi", "pbs", "lsf"])
def test_scattered_ranks_start_on_their_hosts(hosts, form):
    """Under Open MPI a list of hosts alone would be added up and filled host by host."""
    if form == "openmpi" and hosts.form != "openmpi":
        pytest.skip("a rankfile is for Open MPI")
    hosts.hopbytes("map", "far.edges", *MACHINE, "-o", "m.json")
    said = hosts.hopbytes("write", "m.json", "-o", "launch", "--format", form)
    mapping = hb.read(str(hosts.folder / "m.json"))
    nodes = mapping.where.node_of_pe[mapping.pe]
    assert np.count_nonzero(np.diff(nodes)) > 4  # scattered indeed
    if form == "pbs" and hosts.form == "openmpi":
        assert "--map-by seq" in said.stderr
    assert typed(hosts, said) == {rank: HOSTS[node] for rank, node in enumerate(nodes)}


@pytest.mark.parametrize("order", ["block", "cyclic"])
def test_new_ranks_count_on_what_the_line_does(hosts, order):
    """Rank i starts where --launched says, on the hosts the job has."""
    said = hosts.hopbytes(
        "map", "far.edges", *MACHINE, "-o", "new", "--format", "newrank", "--launched", order
    )
    *_, last = said.stderr.splitlines()
    option = "-f" if hosts.form == "hydra" else "--hostfile"
    command = last.removeprefix("launch: ").replace(" -n ", f" {option} hosts -n ", 1)
    if hosts.form == "hydra" and order == "cyclic":
        command = command.replace("hosts", "bare", 1)
        (hosts.folder / "bare").write_text("\n".join(HOSTS) + "\n")
    done = launched(["sh", "-c", command], cwd=hosts.folder, env=hosts.environment)
    assert done.returncode == 0, command + done.stdout + done.stderr
    found = {int(rank): host for rank, host in re.findall(r"seen (\d+) (\S+)", done.stdout)}
    assert found == {rank: HOSTS[rank // 2 if order == "block" else rank % 4] for rank in range(8)}
