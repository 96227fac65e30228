"""Machine files and pinning run by Intel MPI's real launcher on invented hosts, all of them this computer."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import hopbytes as hb
from placements import HOSTS, cores_in_node, cores_of_ranks, expand, on_three_hosts

#: An environment that holds the package impi-rt alone, so that its mpirun hides nobody's (.ci/launchers).
INTEL = Path(os.environ.get("HOPBYTES_TEST_INTEL_MPI", "/opt/hopbytes-intel-mpi"))
pytestmark = pytest.mark.skipif(
    not (INTEL / "bin" / "mpiexec.hydra").exists()
    or sorted(os.sched_getaffinity(0))[:2] != [0, 1]
    or shutil.which("taskset") is None,
    reason="needs Intel MPI, taskset and CPUs 0 and 1",
)

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
    assert [cpus[task] for task in range(mapping.n)] in cores_of_ranks(mapping)
