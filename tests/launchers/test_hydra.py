"""Host files and binding lists run by a real Hydra on invented hosts, all of them this computer."""

import os
import re
import shutil
import subprocess

import pytest

import hopbytes as hb
from helpers.placements import HOSTS, cores_in_node, cores_of_ranks, expand, on_three_hosts

HYDRA = shutil.which("mpiexec.hydra")
pytestmark = [
    pytest.mark.launcher,
    pytest.mark.skipif(
        HYDRA is None or sorted(os.sched_getaffinity(0))[:2] != [0, 1] or shutil.which("taskset") is None,
        reason="needs mpiexec.hydra, taskset and CPUs 0 and 1",
    ),
]

CASES = on_three_hosts()


def launched(receipt, folder, program):
    """Run the printed command with a program; return its output and what Hydra says about its proxies."""
    command = receipt.launch.replace("./app", program)
    command = command.replace("mpiexec.hydra", f"{HYDRA} -launcher fork -verbose", 1)
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def hosts_of_ranks(text):
    """Host of every rank from the arguments Hydra gives its proxies."""
    found = {}
    pattern = r"--hostname (\S+) .*?--pmi-id-map (\d+),(\d+) .*?--exec-proc-count (\d+)"
    for host, _, first, count in re.findall(pattern, text):
        for rank in range(int(first), int(first) + int(count)):
            found[rank] = host
    return found


@pytest.mark.parametrize("case", CASES)
def test_ranks_run_where_the_mapping_says(tmp_path, case):
    mapping = CASES[case]
    receipt = hb.write(mapping, tmp_path / "host file", "hydra")
    program = tmp_path / "app"
    program.write_text('#!/bin/sh\necho "rank $PMI_RANK $(grep Cpus_allowed_list /proc/self/status)"\n')
    program.chmod(0o755)
    text = launched(receipt, tmp_path, str(program))
    printed = re.findall(r"rank (\d+) Cpus_allowed_list:\s*(\S+)", text)
    cpus = {int(rank): expand(own) for rank, own in printed}
    wanted = [cores_in_node(mapping, task) for task in range(mapping.n)]
    assert hosts_of_ranks(text) == {task: HOSTS[node] for task, (node, _) in enumerate(wanted)}
    assert (".place.sh" in receipt.launch) == ("script" in case)
    assert [cpus[task] for task in range(mapping.n)] in cores_of_ranks(mapping)
