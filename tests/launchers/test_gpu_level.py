"""A level gpu under real launchers on several hosts: device variables and affinity of every rank."""

import json
import os
import re

import pytest
from several_hosts import HOSTS, farm

import hopbytes as hb
from helpers.paths import executable

pytestmark = pytest.mark.launcher

CPUS = sorted(os.sched_getaffinity(0))
PROGRAM = """\
#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
printf "seen %s %s %s %s .\\n" $rank $(hostname) "$CUDA_VISIBLE_DEVICES" \\
    "$(grep Cpus_allowed_list /proc/self/status | tr -d '\\t ')"
"""
#: Ranks 0 and 7, 1 and 6, … talk: no launcher's own order puts them together.
FAR = "".join(f"{rank} {7 - rank} 100\n" for rank in range(8))


@pytest.fixture(params=["openmpi-5", "openmpi-4", "hydra"])
def hosts(request, tmp_path):
    made = farm(request.param, tmp_path)
    executable(tmp_path / "app", PROGRAM)
    (tmp_path / "far.edges").write_text(FAR)
    return made


@pytest.mark.skipif(CPUS != [0, 1], reason="needs exactly CPUs 0 and 1")
@pytest.mark.parametrize("inside", ["", " core:1"])
def test_ranks_see_their_gpu_and_are_bound_only_to_cores_near_it(hosts, inside):
    machine = ("--on", f"node:4 gpu:2{inside}", "--hosts", ",".join(HOSTS))
    constraint = ("--for", hosts.form)
    hosts.hopbytes("map", "far.edges", *machine, *constraint, "-o", "m.json", "--format", "json")
    mapping = hb.read(str(hosts.folder / "m.json"))
    assert mapping.where.gpus.tolist() == [0, 1] * 4
    typed = [*hosts.launch, "-n", "8"]
    if hosts.form == "openmpi":  # a list of hosts of the user's own does not spoil the sequence
        typed = [*hosts.words, "-n", "8"]
    run = ("run", "--pattern", "far.edges", *machine, *constraint)
    done = hosts.hopbytes(*run, "--", *typed, "./app")
    printed = re.findall(r"seen (\d+) (\S+) (\d+) Cpus_allowed_list:(\S+) \.", done.stdout)
    seen = {int(rank): (host, int(gpu), cpus) for rank, host, gpu, cpus in printed}
    nodes, gpus = mapping.where.node_of_pe, mapping.where.gpus.tolist()
    assert seen == {
        rank: (HOSTS[nodes[pe]], gpus[pe], str(gpus[pe]) if inside else "0-1")
        for rank, pe in enumerate(mapping.pe.tolist())
    }
    done = hosts.hopbytes("verify", "m.json", "--json", "--", *hosts.launch, "-n", "8")
    assert json.loads(done.stdout)["wrong"] == []
    assert json.loads(done.stdout)["checked"] == ["hosts", *["CPUs"] * bool(inside), "GPUs"]
