"""Host files and binding lists run by a real Hydra on invented hosts, all of them this computer."""

import os
import re
import shutil
import subprocess

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.formats.symmetry import renumbered
from hopbytes.mapping import Mapping
from placements import cores_in_node, expand, place

HYDRA = shutil.which("mpiexec.hydra")
pytestmark = pytest.mark.skipif(
    HYDRA is None or sorted(os.sched_getaffinity(0))[:2] != [0, 1] or shutil.which("taskset") is None,
    reason="needs mpiexec.hydra, taskset and CPUs 0 and 1",
)

MACHINE = "node:3@10 core:2@1"
HOSTS = ("n3", "n1", "n2")

CASES = {
    "full nodes, hosts in any order": place(MACHINE, [3, 2, 5, 4, 1, 0], hosts=HOSTS),
    "unequal nodes and one without tasks": place(MACHINE, [4, 5, 1], hosts=HOSTS),
    "two cores per rank": place(MACHINE, [2, 0, 1], hosts=HOSTS, cores_per_slot=2),
    "ranks with one and with two cores need the script": None,
}


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
    if mapping is None:
        whole = hb.machine(MACHINE, hosts=HOSTS)
        uneven = hb.Allocation(whole.machine, np.array([0, 2, 3, 4], np.int64), whole.cores[:4], HOSTS)
        mapping = Mapping(np.array([0, 2, 1], np.int32), uneven, {"problem": "processes"})
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
    # Slots may have been renumbered inside nodes, which costs nothing.
    alike = Mapping(renumbered(mapping), mapping.where)
    own = [[cores_in_node(one, task)[1] for task in range(one.n)] for one in (mapping, alike)]
    assert [cpus[task] for task in range(mapping.n)] in own
