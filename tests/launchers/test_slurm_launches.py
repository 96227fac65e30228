"""Hostfiles, binding lists and scripts run by a real Slurm: host and affinity of every rank.

Four slurmd of two CPUs each run on this computer under a private slurmctld and munged (slurm_nodes.py).
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from several_hosts import build
from slurm_nodes import needs_slurm, slurm_cluster

import hopbytes as hb
from helpers.paths import EXAMPLES, executable
from helpers.placements import cores_in_node, expand, place
from hopbytes.formats.mappings import writers
from hopbytes.formats.mappings.launch_files import renumbered
from hopbytes.model.mapping import Mapping

HOSTS = ("n3", "n1", "n4", "n2")  # not in Slurm's own order
MACHINE = "node:4@10 core:2@1"
COMPILER = "mpicc.mpich"

pytestmark = [pytest.mark.launcher, pytest.mark.xdist_group("slurm"), needs_slurm]


@pytest.fixture
def cluster(tmp_path):
    """Four nodes of two CPUs each, for one job."""
    with slurm_cluster(tmp_path / "slurm") as environment:
        yield environment


CASES = {
    "full nodes, hosts in any order": place(MACHINE, [5, 0, 7, 2, 1, 4, 3, 6], hosts=HOSTS),
    "nodes that are not full, and one without tasks": place(MACHINE, [7, 2, 6], hosts=HOSTS),
    "one core of each node, not the first": place(MACHINE, [3, 5, 1], hosts=HOSTS),
    "two cores per rank": place(MACHINE, [2, 0, 3, 1], hosts=HOSTS, cores_per_slot=2),
    "two ranks on a core": place(MACHINE, [0, 0, 1, 3, 3, 2], hosts=HOSTS, problem="processes"),
    "script": place(MACHINE, [1, 0, 2, 7, 6], hosts=HOSTS),
}


@pytest.mark.parametrize("case", CASES)
def test_ranks_run_where_the_mapping_says(cluster, tmp_path, monkeypatch, case):
    mapping = CASES[case]
    renumbering = Mapping(renumbered(mapping), mapping.where)
    if case == "script":  # on nodes of two equal cores a list would always do
        monkeypatch.setattr(writers.Slurm, "_bound", lambda self, launch, cpus: None)
    receipt = hb.write(mapping, tmp_path / "host file", "slurm")
    app = tmp_path / "app"
    executable(
        app,
        '#!/bin/sh\necho "$SLURM_PROCID $SLURMD_NODENAME $(grep Cpus_allowed_list /proc/self/status)"\n',
    )
    launch = receipt.launch.replace("./app", str(app))
    command = ["salloc", "-Q", "-N4", "--ntasks-per-node=2", "sh", "-c", launch]
    done = subprocess.run(command, env=cluster, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    printed = sorted((line.split() for line in done.stdout.splitlines()), key=lambda words: int(words[0]))
    assert [int(words[0]) for words in printed] == list(range(mapping.n))
    cores = [expand(words[3]) for words in printed]
    wanted, alike = ([cores_in_node(one, task) for task in range(one.n)] for one in (mapping, renumbering))
    assert cores in ([own for _, own in wanted], [own for _, own in alike])
    assert [words[1] for words in printed] == [HOSTS[node] for node, _ in wanted]


PROGRAM = """\
#!/bin/sh
echo "seen $SLURM_PROCID $SLURMD_NODENAME $(grep Cpus_allowed_list /proc/self/status)"
"""


FAR = "0 5 100\n5 0 100\n1 4 100\n4 1 100\n2 3 100\n3 2 100\n"


def inside_a_job(cluster, folder, script):
    """Run lines of shell in an allocation of four nodes."""
    executable(folder / "app", PROGRAM)
    (folder / "far.edges").write_text(FAR)
    prelude = f"set -e\ncd {folder}\nhopbytes() {{ {sys.executable} -m hopbytes \"$@\"; }}\n"
    machine = f"--on '{MACHINE}' --hosts {','.join(HOSTS)}"
    (folder / "job").write_text(prelude + script.replace("{on}", machine))
    command = ["salloc", "-Q", "-N4", "--ntasks-per-node=2", "sh", str(folder / "job")]
    done = subprocess.run(command, env=cluster, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


# After a step with an arbitrary distribution later ones lose their output inside srun 22.05 on a cluster like
# this, also without hopbytes. So every test has one such step, and has it last.


def test_a_program_is_mapped_and_run_inside_a_job(cluster, tmp_path):
    script = "! hopbytes run --pattern far.edges {on} -- srun -n 6 -w n1 ./app\n"
    script += "hopbytes run --pack --pattern far.edges {on} -- srun -n 6 ./app\n"
    done = inside_a_job(cluster, tmp_path, script)
    printed = [line.split() for line in done.stdout.splitlines() if line.startswith("seen")]
    node = {int(words[1]): words[2] for words in printed}
    assert sorted(node) == list(range(6))
    assert (node[0], node[1], node[2]) == (node[5], node[4], node[3])
    assert "-w also says where ranks go" in done.stderr
    assert "launch: SLURM_HOSTFILE=" in done.stderr


def test_a_program_is_recorded_mapped_and_launched_inside_a_job(cluster, tmp_path):
    """From an MPI program to its placement by srun alone; the program itself says where it runs."""
    build(COMPILER, tmp_path, "partners")
    script = f"""\
hopbytes record -o app.pattern --cc {COMPILER} -- srun --mpi=pmi2 -n 8 ./partners >recorded
hopbytes probe -o job.machine.json -- srun -N4 -n4
hopbytes map app.pattern --on {tmp_path}/job.machine.json --for slurm --format json -o m.json
hopbytes run --pattern app.pattern --on job.machine.json -- srun --mpi=pmi2 -n 8 ./partners
"""
    done = inside_a_job(cluster, tmp_path, script)
    assert "recorded: 8 ranks, 8 pairs, 327,680 bytes in 80 messages" in done.stderr
    mapping = hb.read(str(tmp_path / "m.json"))
    nodes = [mapping.where.hosts[node] for node in mapping.where.node_of_pe[mapping.pe]]
    assert all(nodes[rank] == nodes[rank + 4] for rank in range(4))
    printed = re.findall(r"rank (\d+) on (\S+) CPUs (\S+) \.", done.stdout)
    assert {int(rank): host for rank, host, _ in printed} == dict(enumerate(nodes))
    cpus = {int(rank): tuple(expand(cpus)) for rank, _, cpus in printed}
    # Slots may have been renumbered inside nodes, which costs nothing.
    alike = (mapping, Mapping(renumbered(mapping), mapping.where))
    assert cpus in [dict(enumerate(map(one.where.os_pus, one.pe.tolist()))) for one in alike]


@pytest.mark.parametrize("launched", ["block", "cyclic"])
def test_srun_starts_ranks_as_new_ranks_expect(cluster, tmp_path, launched):
    mapping = place(MACHINE, list(range(8)), hosts=HOSTS)
    receipt = hb.write(mapping, tmp_path / "new", "newrank", launched=launched)
    (line,) = (one.command for one in receipt.lines if one.family == "slurm")
    done = inside_a_job(cluster, tmp_path, line + "\n")
    printed = [text.split() for text in done.stdout.splitlines() if text.startswith("seen")]
    found = {int(words[1]): (words[2], expand(words[4])) for words in printed}
    order = range(8) if launched == "block" else [0, 2, 4, 6, 1, 3, 5, 7]
    assert found == {rank: (f"n{slot // 2 + 1}", [slot % 2]) for rank, slot in enumerate(order)}


def test_the_batch_script_of_the_examples_records_and_runs(cluster, tmp_path):
    """As it is in examples/, with a program that says where its ranks are; partners share a node at last."""
    build(COMPILER, tmp_path)
    script = EXAMPLES / "job.slurm"
    path = f"{Path(sys.executable).parent}:{cluster['PATH']}"
    environment = {**cluster, "PATH": path, "SLURM_MPI_TYPE": "pmi2", "MPICC": COMPILER}
    submit = ["sbatch", "--wait", script]
    done = subprocess.run(submit, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200)
    (said,) = tmp_path.glob("placed-*.out")
    text = said.read_text()
    assert done.returncode == 0, done.stderr + text
    assert "recorded: 8 ranks, 8 pairs" in text
    assert hb.read(str(tmp_path / "app.pattern")).n == 8
    _, _, after = text.partition("launch: SLURM_HOSTFILE=")  # what the recording printed stands above
    hosts = {int(rank): host for rank, host in re.findall(r"rank (\d+) on (\S+) CPUs", after)}
    assert sorted(hosts) == list(range(8))
    assert all(hosts[rank] == hosts[rank + 4] for rank in range(4))


def test_a_mapping_is_verified_inside_a_job(cluster, tmp_path):
    """Nodes that are not full, in another order than Slurm's; and what Slurm does by itself."""
    script = """\
hopbytes map far.edges {on} -o m.json
hopbytes verify {on} -o now.json -- srun -n 6 -N 4 --cpu-bind=cores
hopbytes verify now.json --as-typed -- srun -n 6 -N 4 --cpu-bind=cores
! hopbytes verify m.json --as-typed -- srun -n 6 -N 4 --cpu-bind=none
hopbytes verify m.json -- srun
"""
    done = inside_a_job(cluster, tmp_path, script)
    assert done.stderr.count("verified: 6 ranks are where they belong; compared: hosts, CPUs") == 2
    assert "ranks are not where they belong" in done.stderr


def test_nodes_of_a_job_are_asked_and_used(cluster, tmp_path):
    """The environment of a real job, and a probe on each of its nodes."""
    script = """\
hopbytes show job --json
hopbytes probe -o job.machine.json -- srun -N4 -n4
hopbytes show job.machine.json --json
hopbytes map far.edges --on job.machine.json -o m.json --quiet
"""
    done = inside_a_job(cluster, tmp_path, script)
    assert "4 nodes of one kind" in done.stderr
    for line in done.stdout.splitlines():
        facts = json.loads(line)
        assert facts["hosts"] == ["n1", "n2", "n3", "n4"]
        assert [level["units"] for level in facts["levels"]] == [4, facts["pes"]]
    where = hb.allocate(str(tmp_path / "job.machine.json"))
    assert where.tasks_of_nodes.tolist() == [2, 2, 2, 2]
    assert {cpu for pe in range(where.k) for cpu in where.os_pus(pe)} == os.sched_getaffinity(0)


@pytest.mark.parametrize("spec", ["node:4 gpu:2", "node:4 gpu:2 core:1"])
def test_ranks_see_their_gpu_and_are_bound_only_to_cores_near_it(cluster, tmp_path, spec):
    """Without cores below the GPUs nobody may be bound: a trainer needs more than the core of its number."""
    where = hb.allocate(spec, hosts=HOSTS)
    pe = [5, 0, 7, 2, 1, 4, 3, 6]
    mapping = Mapping(np.array(pe, np.int32), where, {"problem": "processes"})
    launch = hb.write(mapping, tmp_path / "r", "slurm").launch
    app = tmp_path / "app"
    executable(app, PROGRAM.replace(')"', ') $CUDA_VISIBLE_DEVICES"'))
    command = ["salloc", "-Q", "-N4", "--ntasks-per-node=2", "sh", "-c", launch.replace("./app", str(app))]
    done = subprocess.run(command, env=cluster, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    seen = {int(words[1]): (words[2], words[4:]) for words in map(str.split, done.stdout.splitlines())}
    text = Path("/proc/self/status").read_text()
    cpus = ["0", "1"] if "core" in spec else [re.search(r"Cpus_allowed_list:\s*(\S+)", text)[1]] * 2
    assert seen == {rank: (HOSTS[own // 2], [cpus[own % 2], str(own % 2)]) for rank, own in enumerate(pe)}


def test_several_programs_have_their_ranks(cluster, tmp_path):
    script = (
        "printf 'program stencil:4 ./app\\nprogram stencil:2 sh ./app\\n' > both.programs\n"
        "echo between far.edges >> both.programs\n"
        "hopbytes map both.programs {on} --format slurm -o hosts\n"
        "SLURM_HOSTFILE=hosts srun -n 6 --distribution=arbitrary --cpu-bind=none "
        "--multi-prog hosts.programs.conf\n"
    )
    done = inside_a_job(cluster, tmp_path, script)
    seen = sorted(int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("seen"))
    assert seen == list(range(6))
    assert "--multi-prog hosts.programs.conf" in done.stderr
