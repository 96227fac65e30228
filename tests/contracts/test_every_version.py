"""Every line that a format prints, taken by the stand-in of every version: ranks are where they belong."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hopbytes as hb
from helpers import stand_ins
from helpers.errors import refused
from helpers.paths import ROOT
from helpers.placements import cores_in_node, place
from helpers.stand_ins import LAUNCHERS, OF_PROGRAMS, Job, RefusedError, words_of
from hopbytes.errors import HopbytesError, UnsupportedError
from hopbytes.formats.base import formats
from hopbytes.formats.mappings.numbering import parse_cpus
from hopbytes.machines.geometry import torus_geometry_of
from hopbytes.machines.kinds.synthetic import read_synthetic
from hopbytes.machines.node.job import JobInfo
from hopbytes.machines.node.node_tree import NodeInventory
from hopbytes.machines.node_machine import NodeMachine
from hopbytes.model.mapping import Mapping

TEN = tuple(f"n{number}" for number in (10, 2, 1, 12, 11, 3, 9, 4, 8, 5, 7, 6))
PROCESSES = {"problem": "processes"}


def ranks_of(spec, pe, hosts, **options):
    """A mapping of processes on a machine with host names, cut as options say."""
    return Mapping(np.array(pe, np.int32), hb.allocate(spec, hosts=hosts, **options), PROCESSES)


def blocks(hosts, share):
    """Ranks host by host, hosts in an odd order."""
    order = np.random.default_rng(3).permutation(hosts)
    return [int(node) * share + local for node in order for local in range(share)]


def on_granted_cpus(granted, hosts):
    """A rank on every core of hosts of four cores with two threads each, of which a job has some CPUs."""
    trees = tuple(read_synthetic("core:4 pu:2").restricted(cpus) for cpus in granted)
    where = hb.allocate(NodeMachine("test", NodeInventory(trees, tuple(range(len(trees)))), hosts))
    return Mapping(np.arange(where.k, dtype=np.int32)[::-1].copy(), where, PROCESSES)


CASES = {
    "unequal hosts": place("node:3@10 core:4@1", [8, 9, 10, 11, 0, 1, 4], hosts=("c", "a", "b"), **PROCESSES),
    "twelve hosts in blocks": place("node:12@10 core:2@1", blocks(12, 2), hosts=TEN, **PROCESSES),
    "twelve hosts scattered": place(
        "node:12@10 core:2@1", np.random.default_rng(1).permutation(24), hosts=TEN, **PROCESSES
    ),
    "twelve unequal hosts scattered": place(
        "node:12@10 core:3@1", np.random.default_rng(5).permutation(36)[:25], hosts=TEN, **PROCESSES
    ),
    "some CPUs of equal hosts": on_granted_cpus([range(2, 8)] * 2, ("b", "a")),
    "some CPUs of unequal hosts": on_granted_cpus([range(n % 3 * 2, 8) for n in range(11)], TEN[:11]),
    "half of twelve hosts": place("node:12@10 core:2@1", blocks(12, 2)[:12], hosts=TEN, **PROCESSES),
    "one core of each host": place("node:3@10 core:4@1", [9, 2, 5], hosts=("c", "a", "b"), **PROCESSES),
    "other cores on other hosts": place(
        "node:2@10 package:2@3 core:2@1", [4, 5, 6, 7, 0, 2, 1, 3], hosts=("b", "a"), **PROCESSES
    ),
    "several cores per rank": place(
        "node:3@10 core:4@1", [4, 5, 0, 1, 2, 3], hosts=("c", "a", "b"), cores_per_slot=2, **PROCESSES
    ),
    "two ranks on a core": place("node:2@10 core:2@1", [2, 2, 3, 0, 0, 1], hosts=("b", "a"), **PROCESSES),
    "hardware threads": place("node:2@10 core:2@2 pu:2@1", [5, 4, 7, 0, 1, 2], hosts=("b", "a"), **PROCESSES),
    "whole cores of two threads": place(
        "node:2@10 core:4@2 pu:2@1", [4, 5, 6, 7, 0, 1, 2, 3], hosts=("b", "a"), cores_per_slot=2, **PROCESSES
    ),
    "GPUs": ranks_of("node:3 gpu:2 core:2", [5, 4, 0, 1, 2, 3], ("c", "a", "b"), per="gpu"),
    "GPUs in order": ranks_of("node:3 gpu:2 core:2", [4, 5, 0, 1, 2, 3], ("c", "a", "b"), per="gpu"),
    "GPUs without cores": ranks_of("node:2 gpu:4", [4, 5, 6, 7, 0, 1, 2, 3], ("b", "a")),
    "GPUs of some hosts": ranks_of("node:4 gpu:2", [6, 7, 2, 3], ("n10", "n9", "n2", "n1")),
    "a few CPUs": place("node:2@10 core:6@1", [9, 8, 2, 3], hosts=("b", "a"), **PROCESSES),
    "many separate cores per rank": Mapping(
        np.array([0, 1], np.int32),
        hb.Allocation(
            hb.allocate("node:1@10 core:64@1").machine, np.array([0, 32, 64]),
            np.concatenate([np.arange(0, 64, 2), np.arange(1, 64, 2)]), ("a",),
        ),
        PROCESSES,
    ),
    "a torus": place("torus:2x3 / core:2", [11, 0, 5, 4, 2], hosts=TEN[:6], **PROCESSES),
    "a torus of three": place("torus:2x2x2 / core:2", [11, 0, 5, 4, 2], hosts=TEN[:8], **PROCESSES),
    "a torus of five": place("torus:2x2x2x1x1 / core:2", [11, 0, 5, 4, 2], hosts=TEN[:8], **PROCESSES),
}
#: CPUs that the job may use.
ALLOWED = {"a few CPUs": "2-3,5"}


def job_of(mapping, allowed=None):
    """Cores of every host with the numbers of their CPUs, straight from the machine."""
    machine = mapping.where.machine
    nodes, levels = machine.node_of_core().tolist(), [level.name for level in machine.levels]
    core = machine.ancestors(levels.index("core")) if "pu" in levels else np.arange(machine.n_cores)
    may = None if allowed is None else parse_cpus(allowed)
    hosts = mapping.where.hosts or ("localhost",)
    found = {host: {} for host in hosts}
    for unit, node in enumerate(nodes):
        cpu = cpu_numbers(machine)[unit]
        if may is None or cpu in may:
            found[hosts[node % len(hosts)]].setdefault(int(core[unit]), []).append(cpu)
    return Job({host: list(cores.values()) for host, cores in found.items()})


def cpu_numbers(machine):
    """Number of every unit in its host: that of the operating system, or the position if nobody knows it."""
    nodes, inventory = machine.node_of_core().tolist(), machine.inventory
    if inventory is None or not inventory.pus_known:
        return [unit - nodes.index(node) for unit, node in enumerate(nodes)]
    return [cpu for node in range(max(nodes) + 1) for cpu in inventory.tree(node).os_pus]


def expected(mapping, names):
    """Host, CPUs and GPUs of every rank, from the definitions."""
    found, numbers = [], cpu_numbers(mapping.where.machine)
    for task in range(mapping.n):
        node, _ = cores_in_node(mapping, task)
        cores = [numbers[core] for core in mapping.where.cores_of(int(mapping.pe[task])).tolist()]
        gpus = tuple(int(gpu) for gpu in mapping.where.gpus_of(int(mapping.pe[task])))
        found.append((names[node], frozenset(cores), gpus))
    return found


def written(form, name, folder):
    """Write a case in a format; None where the format cannot express it."""
    options = {"allowed": ALLOWED[name]} if name in ALLOWED else {}
    try:
        return hb.write(CASES[name], folder / "ranks", form, **options)
    except HopbytesError:
        return None


#: How many of the cases each format expresses.
EXPRESSED = {
    "cray": 16, "flux": 16, "fujitsu": 2, "hydra": 20, "intel": 20, "jsrun": 4, "kubernetes": 10, "lsf": 22,
    "mesh": 15, "mvapich": 22, "openmpi": 22, "pals": 15, "pbs": 22, "slurm": 22, "torchrun": 10,
}  # fmt: skip


@pytest.mark.parametrize("form", LAUNCHERS)
def test_formats_express_as_much_as_before(tmp_path, form):
    found = []
    for number, name in enumerate(CASES):
        (tmp_path / str(number)).mkdir()
        found += [name] if written(form, name, tmp_path / str(number)) else []
    assert len(found) == EXPRESSED[form]


def lines_for(form, version, receipt):
    """The lines for a version: of several MPIs, and for old versions those of notices."""
    if form in ("pbs", "lsf"):
        mpi = version.rpartition(" ")[0]
        return [line.command for line in receipt.lines if line.mpi == mpi]
    if form == "openmpi" and receipt.lines:
        major = "4" if version < "5" else "5"
        return [line.command for line in receipt.lines if line.version == major]
    if form == "flux" and version < "0.62":
        (older,) = (notice for notice in receipt.notices if "--taskmap=manual" in notice)
        manual = re.search(r"--taskmap=manual:'[^']*'", older)[0]
        return [re.sub(r"--taskmap=hostfile:\S+", manual, receipt.launch)]
    return [receipt.launch]


def test_every_launch_format_has_versions():
    launched = {
        name for name in formats if formats[name].holds == "mapping" and formats[name].capabilities.launcher
    }
    assert set(LAUNCHERS) == launched - OF_PROGRAMS


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("form", sorted(set(LAUNCHERS) - {"kubernetes"}))
def test_ranks_are_where_the_mapping_has_them(tmp_path, monkeypatch, form, name):
    monkeypatch.chdir(tmp_path)
    receipt = written(form, name, Path())
    if receipt is None:
        return
    job = job_of(CASES[name], ALLOWED.get(name))
    for version in LAUNCHERS[form].versions:
        for line in lines_for(form, version, receipt):
            variables, words = words_of(line)
            inside = Job(job.cores, variables)
            words = words if form in ("pbs", "lsf") else words[1:]
            seen = LAUNCHERS[form].stand_in(version, words, tmp_path, inside)
            compare(form, seen, receipt.mapping, name)


@pytest.mark.parametrize(
    "hosts", [("1001.cluster", "n2"), ("10.0.0.1", "1001"), ("4a-1.c", "4a-2.c"), ("7", "8a")]
)
def test_hosts_whose_names_begin_with_digits(tmp_path, monkeypatch, hosts):
    monkeypatch.chdir(tmp_path)
    mapping = place("node:2 core:2", [1, 2, 0, 3], hosts=hosts, **PROCESSES)
    for form in ("openmpi", "slurm", "hydra", "pbs"):
        order = [0, 1, 3, 2] if form == "hydra" else mapping.pe
        ordered = Mapping(np.array(order, np.int32), mapping.where, PROCESSES)
        receipt = hb.write(ordered, "ranks", form, force=True)
        for version in LAUNCHERS[form].versions:
            for line in lines_for(form, version, receipt):
                variables, words = words_of(line)
                job = Job(job_of(mapping).cores, variables)
                seen = LAUNCHERS[form].stand_in(version, words[form != "pbs" :], tmp_path, job)
                compare(form, seen, receipt.mapping, hosts)


@pytest.mark.parametrize("host", ["0101", "12345678901"])
def test_names_that_open_mpi_takes_for_other_numbers_are_refused(host):
    mapping = place("node:2 core:1", [0, 1], hosts=("a", host), **PROCESSES)
    with refused(UnsupportedError, host, "slurm"):
        formats["openmpi"].write_mapping(mapping, {})
    assert host in formats["slurm"].write_mapping(mapping, {}).files[""]


#: Ranks on slots of three hosts of four cores: some hosts get more than the job has tasks for them.
BEYOND = {
    "other cores": ([3, 0, 1, 8], {}), "hardware threads": ([6, 0, 1, 4], {"per": "pu"}),
    "two on a core": ([1, 0, 1, 8], {}), "within the slots": ([4, 1, 0, 8], {}),
}  # fmt: skip


@pytest.mark.parametrize("name", BEYOND)
@pytest.mark.parametrize("form", ["openmpi", "pbs"])
def test_more_ranks_on_a_host_than_its_slots(tmp_path, monkeypatch, form, name):
    """Open MPI 5 refuses them or leaves them out, in a job and with a host file, though cores are free."""
    monkeypatch.chdir(tmp_path)
    tree, hosts = read_synthetic("core:4 pu:2"), ("n1", "n2", "n3")
    told = JobInfo("PBS", hosts, None, (2, 2, 2))
    pe, options = BEYOND[name]
    where = hb.allocate(NodeMachine("test", NodeInventory.of([tree] * 3), hosts, job=told), **options)
    mapping = Mapping(np.array(pe, np.int32), where, PROCESSES)
    receipt = hb.write(mapping, "ranks", form)
    job = Job(job_of(mapping).cores, slots=dict.fromkeys(hosts, 2))
    for version in LAUNCHERS[form].versions:
        for line in lines_for(form, version, receipt):
            words = words_of(line)[1][form != "pbs" :]
            compare(form, LAUNCHERS[form].stand_in(version, words, tmp_path, job), mapping, name)
    assert ("oversubscribe" in receipt.launch) == (name != "within the slots")
    assert "oversubscribe" not in "".join(line.command for line in receipt.lines if line.version == "4")


def compare(form, seen, mapping, name):
    """Compare places with the mapping: always hosts; CPUs and GPUs where the format is to bind."""
    if form == "fujitsu":
        geometry = torus_geometry_of(mapping.where.machine).places.T.tolist()
        names = [" ".join(map(str, place_of)) for place_of in geometry]
        found = [place_of.host for place_of in seen]
        wanted = [node for node, _, _ in expected(mapping, names)]
        assert found == wanted
        return
    wanted = expected(mapping, mapping.where.hosts or ("localhost",))
    if form == "mesh":  # the file says which process a task is
        program: dict[str, Any] = {}
        exec(Path("ranks").read_text(), program)
        seen = [seen[rank] for rank in program["RANK_OF_TASK"]]
    assert [place_of.host for place_of in seen] == [host for host, _, _ in wanted]
    can = formats[form].capabilities
    if can.per_rank_cores and mapping.where.has_cores:
        assert [place_of.cpus for place_of in seen] == [cpus for _, cpus, _ in wanted]
    if can.gpus and any(gpus for _, _, gpus in wanted):
        assert [place_of.gpus for place_of in seen] == [gpus for _, _, gpus in wanted]


@pytest.mark.parametrize("name", [name for name in CASES if "torus" not in name])
def test_pods_of_kubernetes_are_where_the_mapping_has_them(tmp_path, monkeypatch, name):
    """Every pod finds its node rank by its node or its own name; the host file is that of an MPIJob."""
    monkeypatch.chdir(tmp_path)
    receipt = written("kubernetes", name, Path())
    if receipt is None:
        return
    (tmp_path / "torchrun.sh").write_text(entry(Path("ranks").read_text(), "torchrun.sh"))
    hosts = list(CASES[name].where.hosts)
    used = [host for host in hosts if host in entry(Path("ranks").read_text(), "hosts").split()]
    for version in ("2.0", "2.8"):
        seen = stand_ins.of_agents(version, tmp_path / "torchrun.sh", used)
        compare("kubernetes", seen, receipt.mapping, name)
    slots = [line.split(" slots=") for line in entry(Path("ranks").read_text(), "hostfile").splitlines()]
    ranks = [host for host, held in slots for _ in range(int(held))]
    assert ranks == [host for host, _, _ in expected(receipt.mapping, hosts)]


def entry(text, name):
    """The literal block of a ConfigMap."""
    block = re.search(rf"^  {re.escape(name)}: \|\n((?:    .*\n|\n)*)", text, re.MULTILINE)[1]
    return re.sub("^    ", "", block, flags=re.MULTILINE)


def test_hosts_without_names_are_numbered_as_launchers_count_them(tmp_path, monkeypatch):
    """From 1 by jsrun, from 0 by Open MPI, whose numbers are those of the host file."""
    monkeypatch.chdir(tmp_path)
    mapping = place("node:3@10 core:2@2 pu:2@1", [9, 4, 0, 5], **PROCESSES)
    hosts = ("node000", "node001", "node002")
    job = Job({host: [[0, 1], [2, 3]] for host in hosts})
    wanted = [(host, cpus) for host, cpus, _ in expected(mapping, hosts)]
    hb.write(mapping, "ranks", "jsrun")
    seen = LAUNCHERS["jsrun"].stand_in("10.3", ["--erf_input", "ranks", "./app"], tmp_path, job)
    assert [(place_of.host, place_of.cpus) for place_of in seen] == wanted
    launch = hb.write(mapping, "ranks", "openmpi", force=True).launch
    seen = LAUNCHERS["openmpi"].stand_in("5.0", launch.split()[1:], tmp_path, job)
    assert [(place_of.host, place_of.cpus) for place_of in seen] == wanted


#: How each launcher starts old ranks with the options of new ranks: host by host, or host after host in turn.
IN_TURN = re.compile("--map-by node |-ppn 1 |--distribution=cyclic:block ")
BY_HOST = re.compile("--map-by (core|slot) |mpiexec.hydra -n [0-9]+ -bind-to |I_MPI_PIN|=block:block ")


@pytest.mark.parametrize("launched", ["block", "cyclic"])
@pytest.mark.parametrize("form", ["newrank", "lammps"])
@pytest.mark.parametrize("name", [name for name in CASES if "rank" not in name or "scattered" in name])
def test_old_ranks_become_the_tasks_of_the_slots_on_which_they_start(form, name, launched):
    mapping = CASES[name]
    written_ = formats[form].write_mapping(mapping, {"launched": launched})
    rows = [line.split()[-1] for line in written_.files[""].splitlines() if line[0] != "#"]
    node, free, started = mapping.where.node_of_pe, sorted(mapping.pe.tolist()), []
    while free:
        hosts = {int(node[pe]) for pe in free} if launched == "cyclic" else {int(node[free[0]])}
        for host in sorted(hosts):
            started.append(next(pe for pe in free if node[pe] == host))
            free.remove(started[-1])
    assert [int(mapping.pe[int(new)]) for new in rows] == started
    assert len(written_.lines) == 4
    for line in written_.lines:
        assert (IN_TURN if launched == "cyclic" else BY_HOST).search(line.command), line
        assert bool(IN_TURN.search(line.command)) == (launched == "cyclic"), line


REFUSALS = [
    ("slurm", "23.02", "srun -n 4 -N 2 --distribution=arbitrary ./app", None),
    ("slurm", "23.11", "srun -n 4 -N 2 --distribution=arbitrary ./app", "--nodes is incompatible"),
    ("slurm", "26.05", "srun -n 4 --nodes=2 --distribution=arbitrary ./app", "--nodes is incompatible"),
    ("slurm", "26.05", "srun -n 4 --distribution=arbitrary --uid=0 ./app", "unknown option"),
    ("slurm", "24.11", "srun -n 4 --distribution=arbitrary --cpu-bind=rank ./app", "unrecognized --cpu-bind"),
    ("slurm", "24.11", "srun -n 5 --distribution=arbitrary ./app", "hostlist specified 4"),
    ("slurm", "24.11", "srun -n 4 --distribution=arbitrary --cpu-bind=map_cpu:7 ./app", "outside of"),
    ("slurm", "22.05", "srun -n 4 --distribution=arbitrary --gpu-bind=map:0,1 ./app", "Invalid --gpu-bind"),
    ("openmpi", "4.1", "mpirun -n 4 --hostfile slots --map-by rankfile:file=ranks ./app", "not recognized"),
    ("openmpi", "5.0", "mpirun -n 4 --hostfile slots -rf ranks ./app", "unknown option"),
    ("openmpi", "5.0", "mpirun -n 5 --hostfile slots --map-by rankfile:file=ranks ./app", "rank 4 is"),
    ("openmpi", "5.0", "mpirun -n 4 --hostfile few --map-by rankfile:file=ranks ./app", "which has 1 slots"),
    ("hydra", "5.0", "mpiexec.hydra -f hosts -n 4 -bind-to users:1 ./app", "unrecognized binding"),
    ("intel", "2021.19", "mpirun -machinefile hosts -n 4 -genv I_MPI_PIN_PROCESSOR_LIST=0 ./app", "pinned"),
]


@pytest.mark.parametrize(("form", "version", "line", "says"), REFUSALS)
def test_stand_ins_refuse_what_their_versions_refuse(tmp_path, form, version, line, says):
    (tmp_path / "hosts").write_text("a\nb\na\nb\n" if form == "slurm" else "a:2\nb:2\n")
    (tmp_path / "slots").write_text("a slots=2\nb slots=2\n")
    (tmp_path / "few").write_text("a slots=1\nb slots=2\n")
    (tmp_path / "ranks").write_text("".join(f"rank {r}={'ab'[r % 2]} slot={r // 2}\n" for r in range(4)))
    job = Job({"a": [[0], [1]], "b": [[0], [1]]}, {"SLURM_HOSTFILE": "hosts"} if form == "slurm" else {})
    stand_in = LAUNCHERS[form].stand_in
    if says is None:
        assert [seen.host for seen in stand_in(version, line.split()[1:], tmp_path, job)] == ["a", "b"] * 2
        return
    with pytest.raises(RefusedError, match=says):
        stand_in(version, line.split()[1:], tmp_path, job)


def test_the_page_about_launchers_names_every_version():
    """Versions whose stand-ins take each line, and those that were started with the files."""
    page = (ROOT / "docs" / "do" / "launchers.md").read_text()
    for form, launcher in LAUNCHERS.items():
        real = ", ".join(launcher.real) or "-"
        row = f"| `{form}` | {launcher.name} | {', '.join(launcher.versions)} | {real} |"
        assert row in page, row
