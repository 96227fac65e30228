"""Machine files and pinning run by Intel MPI's real launcher on invented hosts, all of them this computer."""

import os
import re
import subprocess
from pathlib import Path

import pytest

import hopbytes as hb
from helpers.paths import executable
from helpers.placements import HOSTS, cores_in_node, cores_of_ranks, expand, on_three_hosts, place
from helpers.real_mpi import needs_two_cpus

#: An environment that holds the package impi-rt alone, so that its mpirun hides nobody's (.ci/launchers).
INTEL = Path(os.environ.get("HOPBYTES_TEST_INTEL_MPI", "/opt/hopbytes-intel-mpi"))
pytestmark = [
    pytest.mark.launcher, needs_two_cpus,
    pytest.mark.skipif(not (INTEL / "bin/mpiexec.hydra").exists(), reason="needs Intel MPI"),
]

#: Stands in for ssh: runs the command here and lets it know under which name.
SHELL = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
HOPBYTES_HOST=$host exec sh -c "$*"
"""

PROGRAM = """#!/bin/sh
echo "rank $PMI_RANK $HOPBYTES_HOST $(grep Cpus_allowed_list /proc/self/status)"
"""

CASES = on_three_hosts()


def environment(folder):
    """Set Intel's programs before all others, and the stand-in for ssh."""
    shell = folder / "shell"
    executable(shell, SHELL)
    return os.environ | {
        "PATH": f"{INTEL / 'bin'}:{os.environ['PATH']}",
        "I_MPI_ROOT": str(INTEL),
        "I_MPI_HYDRA_BOOTSTRAP": "ssh",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC": str(shell),
    }


@pytest.mark.parametrize("case", CASES)
def test_ranks_run_where_the_mapping_says(tmp_path, case):
    mapping = CASES[case]
    receipt = hb.write(mapping, tmp_path / "machine file", "intel")
    found = seen_by(receipt.launch, tmp_path)
    wanted = [cores_in_node(mapping, task) for task in range(mapping.n)]
    assert {task: host for task, (host, _) in found.items()} == {
        task: HOSTS[node] for task, (node, _) in enumerate(wanted)
    }
    assert (".place.sh" in receipt.launch) == ("script" in case or "unequal" in case)
    assert [found[task][1] for task in range(mapping.n)] in cores_of_ranks(mapping)


def seen_by(command, folder):
    """Run a command with the program that tells host and CPUs; return both by rank."""
    program = folder / "app"
    executable(program, PROGRAM)
    done = subprocess.run(
        command.replace("./app", str(program)), shell=True, cwd=folder, env=environment(folder),
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, command + done.stdout + done.stderr
    printed = re.findall(r"rank (\d+) (\S+) Cpus_allowed_list:\s*(\S+)", done.stdout)
    return {int(rank): (host, expand(own)) for rank, host, own in printed}


def test_a_node_file_of_pbs_is_taken_line_by_line(tmp_path):
    mapping = place("node:3@10 core:2@1", [5, 0, 3, 2, 1, 4], hosts=HOSTS)
    receipt = hb.write(mapping, tmp_path / "nodes", "pbs")
    (line,) = (line.command for line in receipt.lines if line.family == "intel")
    wanted = [cores_in_node(mapping, task) for task in range(mapping.n)]
    assert seen_by(line, tmp_path) == {
        task: (HOSTS[node], list(cores)) for task, (node, cores) in enumerate(wanted)
    }


@pytest.mark.parametrize("launched", ["block", "cyclic"])
def test_new_ranks_count_on_what_the_line_does(tmp_path, launched):
    mapping = place("node:3@10 core:2@1", [5, 0, 3, 2, 1, 4], hosts=HOSTS)
    receipt = hb.write(mapping, tmp_path / "new", "newrank", launched=launched)
    (line,) = (line.command for line in receipt.lines if line.family == "intel")
    (tmp_path / "hosts").write_text("".join(f"{host}:2\n" for host in HOSTS))
    found = seen_by(line.replace(" -n ", " -f hosts -n ", 1), tmp_path)
    order = [0, 1, 2, 3, 4, 5] if launched == "block" else [0, 2, 4, 1, 3, 5]
    assert found == {rank: (HOSTS[slot // 2], [slot % 2]) for rank, slot in enumerate(order)}
