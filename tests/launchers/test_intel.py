"""Machine files and pinning run by Intel MPI's real launcher on invented hosts, all of them this computer."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.formats.symmetry import renumbered
from hopbytes.mapping import Mapping
from placements import cores_in_node, expand, place

#: An environment that holds the package impi-rt alone, so that its mpirun hides nobody's (.ci/launchers).
INTEL = Path(os.environ.get("HOPBYTES_TEST_INTEL_MPI", "/opt/hopbytes-intel-mpi"))
pytestmark = pytest.mark.skipif(
    not (INTEL / "bin" / "mpiexec.hydra").exists()
    or sorted(os.sched_getaffinity(0))[:2] != [0, 1]
    or shutil.which("taskset") is None,
    reason="needs Intel MPI, taskset and CPUs 0 and 1",
)

MACHINE = "node:3@10 core:2@1"
HOSTS = ("n3", "n1", "n2")

#: Stands in for ssh: runs the command here and lets it know under which name.
SHELL = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
HOPBYTES_HOST=$host exec sh -c "$*"
"""

PROGRAM = """#!/bin/sh
echo "rank $PMI_RANK $HOPBYTES_HOST $(grep Cpus_allowed_list /proc/self/status)"
"""

CASES = {
    "full nodes, hosts in any order": place(MACHINE, [3, 2, 5, 4, 1, 0], hosts=HOSTS),
    "unequal nodes and one without tasks": place(MACHINE, [4, 5, 1], hosts=HOSTS),
    "two cores per rank": place(MACHINE, [2, 0, 1], hosts=HOSTS, cores_per_slot=2),
    "ranks with one and with two cores need the script": None,
}


def environment(folder):
    """Set Intel's programs before all others, and the stand-in for ssh."""
    shell = folder / "shell"
    shell.write_text(SHELL)
    shell.chmod(0o755)
    return os.environ | {
        "PATH": f"{INTEL / 'bin'}:{os.environ['PATH']}",
        "I_MPI_ROOT": str(INTEL),
        "I_MPI_HYDRA_BOOTSTRAP": "ssh",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC": str(shell),
    }


@pytest.mark.parametrize("case", CASES)
def test_ranks_run_where_the_mapping_says(tmp_path, case):
    mapping = CASES[case]
    if mapping is None:
        whole = hb.machine(MACHINE, hosts=HOSTS)
        uneven = hb.Allocation(whole.machine, np.array([0, 2, 3, 4], np.int64), whole.cores[:4], HOSTS)
        mapping = Mapping(np.array([0, 2, 1], np.int32), uneven, {"problem": "processes"})
    receipt = hb.write(mapping, tmp_path / "machine file", "intel")
    program = tmp_path / "app"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    command = receipt.launch.replace("./app", str(program))
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    printed = re.findall(r"rank (\d+) (\S+) Cpus_allowed_list:\s*(\S+)", done.stdout)
    hosts = {int(rank): host for rank, host, _ in printed}
    cpus = {int(rank): expand(own) for rank, _, own in printed}
    wanted = [cores_in_node(mapping, task) for task in range(mapping.n)]
    assert hosts == {task: HOSTS[node] for task, (node, _) in enumerate(wanted)}
    assert (".place.sh" in receipt.launch) == ("script" in case or "unequal" in case)
    # Slots may have been renumbered inside nodes, which costs nothing.
    alike = Mapping(renumbered(mapping), mapping.where)
    own = [[cores_in_node(one, task)[1] for task in range(one.n)] for one in (mapping, alike)]
    assert [cpus[task] for task in range(mapping.n)] in own
