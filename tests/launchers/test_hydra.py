"""Host files and binding lists run by a real Hydra on invented hosts, all of them this computer."""

import os
import re
import shutil
import subprocess

import pytest

import hopbytes as hb
from helpers.paths import executable
from helpers.placements import HOSTS, cores_in_node, cores_of_ranks, expand, on_three_hosts
from helpers.real_mpi import needs_two_cpus

#: The installed launcher, and that of MPICH 5 in an environment of its own, which would hide the first.
NEW = os.environ.get("HOPBYTES_TEST_MPICH", "/opt/hopbytes-mpich")
HYDRAS = {"installed": shutil.which("mpiexec.hydra"), "MPICH 5": shutil.which(f"{NEW}/bin/mpiexec.hydra")}
pytestmark = [pytest.mark.launcher, needs_two_cpus]

CASES = on_three_hosts()


def launched(receipt, folder, program, hydra):
    """Run the printed command with a program; return its output and what Hydra says about its proxies."""
    command = receipt.launch.replace("./app", program)
    command = command.replace("mpiexec.hydra", f"{hydra} -launcher fork -verbose", 1)
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def hosts_of_ranks(text):
    """Host of every rank from the arguments Hydra gives its proxies, which start consecutive ranks."""
    hosts = []
    for host, count in re.findall(r"--hostname (\S+) .*?--exec-proc-count (\d+)", text):
        hosts += [host] * int(count)
    return dict(enumerate(hosts))


@pytest.mark.parametrize("version", HYDRAS)
@pytest.mark.parametrize("case", CASES)
def test_ranks_run_where_the_mapping_says(tmp_path, case, version):
    if HYDRAS[version] is None:
        pytest.skip(f"needs mpiexec.hydra, {version}")
    mapping = CASES[case]
    receipt = hb.write(mapping, tmp_path / "host file", "hydra")
    program = tmp_path / "app"
    executable(program, '#!/bin/sh\necho "rank $PMI_RANK $(grep Cpus_allowed_list /proc/self/status)"\n')
    text = launched(receipt, tmp_path, str(program), HYDRAS[version])
    printed = re.findall(r"rank (\d+) Cpus_allowed_list:\s*(\S+)", text)
    cpus = {int(rank): expand(own) for rank, own in printed}
    wanted = [cores_in_node(mapping, task) for task in range(mapping.n)]
    assert hosts_of_ranks(text) == {task: HOSTS[node] for task, (node, _) in enumerate(wanted)}
    assert (".place.sh" in receipt.launch) == ("script" in case)
    assert [cpus[task] for task in range(mapping.n)] in cores_of_ranks(mapping)
