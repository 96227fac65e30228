"""Hostfiles, binding lists and scripts run by a real Slurm: host and affinity of every rank.

Four slurmd of two CPUs each run on this computer under a private slurmctld and munged. Skipped where Slurm
is missing; an unpacked Debian package will do: ``HOPBYTES_TEST_SLURM=/path/to/root pytest tests/launchers``.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.formats import place_slurm
from hopbytes.formats.symmetry import renumbered
from hopbytes.mapping import Mapping
from placements import cores_in_node, expand, place

ROOT = Path(os.environ.get("HOPBYTES_TEST_SLURM", "/"))
PLUGINS = ROOT / "usr/lib/x86_64-linux-gnu/slurm-wlm"
HOSTS = ("n3", "n1", "n4", "n2")  # not in Slurm's own order
MACHINE = "node:4@10 core:2@1"

CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
PluginDir={plugins}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
PartitionName=all Nodes=n[1-4] Default=YES State=UP
"""


def ready():
    tools = [ROOT / "usr/sbin" / name for name in ("slurmctld-wlm", "slurmd-wlm", "munged")]
    cpus = sorted(os.sched_getaffinity(0))[:2] == [0, 1]
    return all(tool.exists() for tool in tools) and shutil.which("taskset") and cpus and os.geteuid() == 0


pytestmark = pytest.mark.skipif(not ready(), reason="needs Slurm, munge, taskset, two CPUs and to be root")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@pytest.fixture
def cluster(tmp_path):
    """Start the daemons and give the environment that client commands need.

    One cluster serves one job: later jobs of so small a controller have failed by themselves.
    """
    folder = tmp_path / "slurm"
    (folder / "state").mkdir(parents=True)
    munge = folder / "munge"
    munge.mkdir(mode=0o700)
    (munge / "key").write_bytes(os.urandom(128))
    (munge / "key").chmod(0o600)
    controller, *ports = free_ports(5)
    text = CONFIGURATION.format(host=socket.gethostname(), port=controller, folder=folder, plugins=PLUGINS)
    for number, port in enumerate(ports, start=1):
        where = f"NodeHostname={socket.gethostname()} NodeAddr=127.0.0.1 Port={port}"
        text += f"NodeName=n{number} {where} Sockets=1 CoresPerSocket=2 ThreadsPerCore=1\n"
    (folder / "slurm.conf").write_text(text)
    env = {
        **os.environ,
        "SLURM_CONF": str(folder / "slurm.conf"),
        "PATH": f"{ROOT / 'usr/bin'}:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": f"{PLUGINS}:{ROOT / 'usr/lib/x86_64-linux-gnu'}",
    }
    files = [f"--{name}-file={munge / name}" for name in ("key", "pid", "log", "seed")]
    daemons = [["munged", "-F", "--force", f"--socket={munge / 'socket'}", *files]]
    daemons += [["slurmctld-wlm", "-D", "-c"]]
    step = str(ROOT / "usr/sbin/slurmstepd-wlm")
    daemons += [["slurmd-wlm", "-D", "-N", f"n{number}", "-d", step] for number in range(1, 5)]
    running = []
    try:
        for program, *arguments in daemons:
            command = [str(ROOT / "usr/sbin" / program), *arguments]
            running.append(
                subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )
            time.sleep(0.3 if program != "slurmd-wlm" else 0)
        for _ in range(200):
            shown = subprocess.run(["sinfo", "-h", "-o", "%D %t"], env=env, capture_output=True, text=True)
            if shown.stdout.split() == ["4", "idle"]:
                break
            time.sleep(0.15)
        else:
            pytest.fail(f"the four nodes did not come up: {shown.stdout}{shown.stderr}")
        yield env
    finally:
        for daemon in reversed(running):
            daemon.terminate()
            daemon.wait(timeout=30)


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
        monkeypatch.setattr(place_slurm, "srun_binding", lambda binding: None)
    receipt = hb.write(mapping, tmp_path / "host file", "slurm")
    app = tmp_path / "app"
    app.write_text(
        '#!/bin/sh\necho "$SLURM_PROCID $SLURMD_NODENAME $(grep Cpus_allowed_list /proc/self/status)"\n'
    )
    app.chmod(0o755)
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
    (folder / "app").write_text(PROGRAM)
    (folder / "app").chmod(0o755)
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
    compiler = shutil.which("mpicc.mpich")
    if compiler is None:
        pytest.skip("needs mpicc.mpich")
    build = [compiler, str(Path(__file__).parent / "partners.c"), "-o", str(tmp_path / "partners")]
    built = subprocess.run(build, capture_output=True, text=True, timeout=120)
    assert built.returncode == 0, built.stderr
    script = f"""\
hopbytes record -o app.pattern --cc {compiler} -- srun --mpi=pmi2 -n 8 ./partners >recorded
hopbytes probe -o job.machine.json -- srun -N4 --ntasks-per-node=1
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


def test_a_mapping_is_verified_inside_a_job(cluster, tmp_path):
    """Nodes that are not full, in another order than Slurm's; and what Slurm does by itself."""
    script = """\
hopbytes map far.edges {on} -o m.json
hopbytes where {on} -o now.json -- srun -n 6 -N 4 --cpu-bind=cores
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
hopbytes probe -o job.machine.json -- srun -N4 --ntasks-per-node=1
hopbytes show job.machine.json --json
hopbytes map far.edges --on job.machine.json -o m.json --quiet
"""
    done = inside_a_job(cluster, tmp_path, script)
    assert "4 nodes of one kind" in done.stderr
    for line in done.stdout.splitlines():
        facts = json.loads(line)
        assert facts["hosts"] == ["n1", "n2", "n3", "n4"]
        assert [level["units"] for level in facts["levels"]] == [4, facts["pes"]]
    where = hb.machine(str(tmp_path / "job.machine.json"))
    assert where.tasks_of_nodes.tolist() == [2, 2, 2, 2]
    assert {cpu for pe in range(where.k) for cpu in where.os_pus(pe)} == os.sched_getaffinity(0)


@pytest.mark.parametrize("spec", ["node:4 gpu:2", "node:4 gpu:2 core:1"])
def test_ranks_see_their_gpu_and_are_bound_only_to_cores_near_it(cluster, tmp_path, spec):
    """Without cores below the GPUs nobody may be bound: a trainer needs more than the core of its number."""
    where = hb.machine(spec, hosts=HOSTS)
    pe = [5, 0, 7, 2, 1, 4, 3, 6]
    mapping = Mapping(np.array(pe, np.int32), where, {"problem": "processes"})
    launch = hb.write(mapping, tmp_path / "r", "slurm").launch
    app = tmp_path / "app"
    app.write_text(PROGRAM.replace(')"', ') $CUDA_VISIBLE_DEVICES"'))
    app.chmod(0o755)
    command = ["salloc", "-Q", "-N4", "--ntasks-per-node=2", "sh", "-c", launch.replace("./app", str(app))]
    done = subprocess.run(command, env=cluster, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    seen = {int(words[1]): (words[2], words[4:]) for words in map(str.split, done.stdout.splitlines())}
    text = Path("/proc/self/status").read_text()
    cpus = ["0", "1"] if "core" in spec else [re.search(r"Cpus_allowed_list:\s*(\S+)", text)[1]] * 2
    assert seen == {rank: (HOSTS[own // 2], [cpus[own % 2], str(own % 2)]) for rank, own in enumerate(pe)}
