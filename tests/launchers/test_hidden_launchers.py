"""Orders in words and mappings as variables, followed by real launchers."""

import re
import subprocess
import sys

import numpy as np
import pytest
from several_hosts import HOSTS, farm, launched, mpirun
from slurm_nodes import needs_slurm, slurm_cluster
from test_intel import INTEL, environment
from test_openmpi import displayed_map, node_xml

import hopbytes as hb
from helpers.placements import expand, place
from helpers.real_mpi import ENVIRONMENT, needs_two_cpus
from hopbytes.launch import variables
from hopbytes.launch.in_words import orders_in_words
from hopbytes.launch.variables import mapping_variables, variables_of
from hopbytes.machines.allocate.launcher_order import launcher_placement

pytestmark = pytest.mark.launcher
#: Hosts as the simulator of Open MPI calls them, each of two packages of four cores.
INVENTED = tuple(f"nodeA{number}" for number in range(3))
WHERE = hb.allocate("node:3@10 package:2@3 core:4@1", hosts=INVENTED)
SAYS = "echo seen ${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-$SLURM_PROCID}} ${SLURMD_NODENAME:-$(hostname)} "
SAYS += "$(sed -n 's/Cpus_allowed_list:.//p' /proc/self/status)"


@pytest.fixture
def ask(tmp_path):
    """Let Open MPI 5 say where it would put and bind ranks of invented nodes."""
    launcher = mpirun(5)
    (tmp_path / "node.xml").write_text(node_xml(2, 4))

    def answer(words, settings=()):
        command = (
            f"{launcher} --prtemca ras simulator --prtemca ras_simulator_num_nodes 3 --prtemca "
            "ras_simulator_slots 8 --prtemca ras_simulator_topo_files node.xml --do-not-launch --display map "
        )
        done = subprocess.run(
            command + words, shell=True, cwd=tmp_path, env={**ENVIRONMENT, **dict(settings)},
            capture_output=True, text=True, timeout=120,
        )
        found = displayed_map(done.stdout)
        assert found, done.stdout + done.stderr
        return [(found[rank][0], found[rank][1]) for rank in sorted(found)]

    return answer


def of_pes(pes):
    return [(INVENTED[pe // 8], [pe % 8]) for pe in pes]


def test_open_mpi_5_orders(ask, monkeypatch):
    for order, command in orders_in_words("openmpi", WHERE, 24):
        wanted = of_pes(launcher_placement(WHERE, 24, order).pe.tolist())
        assert ask(command.partition(" ")[2]) == wanted, order
        assert ask("-n 24 ./app", variables_of(command, "openmpi").values) == wanted, order


def test_open_mpi_5_takes_the_host_of_every_rank(ask, monkeypatch, tmp_path):
    monkeypatch.setattr(variables, "version_in_path", lambda: "5")
    mapping = hb.Mapping(np.random.default_rng(2).permutation(24).astype(np.int32), WHERE)
    found = mapping_variables(mapping, "openmpi", str(tmp_path / "hosts"))
    seen = ask("-n 24 ./app", found.values)
    assert [host for host, _ in seen] == [INVENTED[pe // 8] for pe in mapping.pe.tolist()]
    for host in INVENTED:
        assert [core for own, core in seen if own == host] == [[core] for core in range(8)]


def seen_by(done):
    assert done.returncode == 0, done.stderr
    lines = re.findall(r"seen (\d+) (\S+) (\S+)", done.stdout)
    return [(host, expand(cores)) for _, host, cores in sorted(lines, key=lambda line: int(line[0]))]


FARM = hb.allocate("node:4@10 core:2@1", hosts=HOSTS)


@needs_two_cpus
@pytest.mark.parametrize("kind", ["openmpi-4", "hydra"])
def test_orders_on_hosts_of_this_computer(tmp_path, kind):
    hosts = farm(kind, tmp_path)
    form = {"openmpi-4": "openmpi 4", "hydra": "hydra"}[kind]
    for order, command in orders_in_words(form, FARM, 8):
        words = [word for word in command.split()[1:] if word != "./app"]
        words += ["--hostfile", "hosts"] if form == "openmpi 4" else []
        done = launched([*hosts.launch, *words, "sh", "-c", SAYS], cwd=tmp_path, env=hosts.environment)
        wanted = [(HOSTS[pe // 2], [pe % 2]) for pe in launcher_placement(FARM, 8, order).pe.tolist()]
        assert seen_by(done) == wanted, order


CASE = {
    "openmpi-4": [5, 0, 7, 2, 1, 4, 3, 6],
    "hydra": [4, 5, 1, 0, 7, 6, 2, 3],  # hosts in any order, whose ranks are consecutive
}


@needs_two_cpus
@pytest.mark.parametrize("kind", CASE)
def test_variables_on_hosts_of_this_computer(tmp_path, monkeypatch, kind):
    hosts = farm(kind, tmp_path)
    monkeypatch.setattr(variables, "version_in_path", lambda: "4")
    mapping = place("node:4@10 core:2@1", CASE[kind], hosts=HOSTS)
    found = mapping_variables(mapping, hosts.form, str(tmp_path / "ranks"))
    settings = {**hosts.environment, **dict(found.values)}
    done = launched([*hosts.launch, "-n", "8", "sh", "-c", SAYS], cwd=tmp_path, env=settings)
    check_hosts(seen_by(done), CASE[kind], HOSTS)


def check_hosts(seen, pes, hosts):
    """Hosts are those of the mapping, and no two ranks have the same core."""
    assert [host for host, _ in seen] == [hosts[pe // 2] for pe in pes]
    assert len({(host, *cores) for host, cores in seen}) == len(pes)
    assert all(len(cores) == 1 for _, cores in seen)


@needs_two_cpus
@pytest.mark.skipif(not (INTEL / "bin" / "mpiexec.hydra").exists(), reason="needs Intel MPI")
def test_intel_mpi_reads_variables_and_words(tmp_path):
    pes, names = [2, 3, 1, 0], ("host1", "host2")
    program = tmp_path / "app"
    program.write_text('#!/bin/sh\necho seen $PMI_RANK $HOPBYTES_HOST '
                       "$(sed -n 's/Cpus_allowed_list:.//p' /proc/self/status)\n")  # fmt: skip
    program.chmod(0o755)
    mapping = place("node:2@10 core:2@1", pes, hosts=names)
    settings = dict(mapping_variables(mapping, "intel", str(tmp_path / "ranks")).values)
    run = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 60}
    done = subprocess.run(["mpirun", "-n", "4", program], env=environment(tmp_path) | settings, **run)
    check_hosts(seen_by(done), pes, names)
    where = hb.allocate("node:2@10 core:2@1", hosts=names)
    for order, command in orders_in_words("intel", where, 4):
        done = subprocess.run(command, shell=True, env=environment(tmp_path), **run)
        wanted = [(names[pe // 2], [pe % 2]) for pe in launcher_placement(where, 4, order).pe.tolist()]
        assert seen_by(done) == wanted, order


@pytest.mark.xdist_group("slurm")
@needs_slurm
@pytest.mark.parametrize("way", ["mapping", "cyclic", "block", "variables"])
def test_an_srun_of_a_script(tmp_path, way):
    """Of a script that was told nothing but what was evaluated, or with the words of an order."""
    hosts, pes = ("n3", "n1", "n4", "n2"), [5, 0, 7, 2, 1, 4, 3, 6]
    where = hb.allocate("node:4@10 core:2@1", hosts=("n1", "n2", "n3", "n4"))
    commands = dict(orders_in_words("slurm", where, 8))
    hb.write(place("node:4@10 core:2@1", pes, hosts=hosts), tmp_path / "m.json")
    (tmp_path / "app").write_text(f"#!/bin/sh\n{SAYS}\n")
    (tmp_path / "hidden").write_text("#!/bin/sh\nsrun sh app\n")
    script = f'eval "$({sys.executable} -m hopbytes env m.json --format slurm -q)"\nsh hidden\n'
    if way == "variables":
        script = f"{variables_of(commands['cyclic'], 'slurm').script()}\nsh hidden\n"
    elif way != "mapping":
        script = commands[way].replace("./app", "sh app")
    (tmp_path / "job").write_text(script)
    with slurm_cluster(tmp_path / "slurm") as env:
        command = ["salloc", "-Q", "-N4", "--ntasks-per-node=2", "sh", "job"]
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    seen = seen_by(done)
    if way == "mapping":
        return check_hosts(seen, pes, hosts)
    order = launcher_placement(where, 8, "cyclic" if way == "variables" else way).pe.tolist()
    assert seen == [(f"n{pe // 2 + 1}", [pe % 2]) for pe in order]
