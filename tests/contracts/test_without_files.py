"""Orders in words and mappings as variables, taken by stand-ins: ranks are where they belong."""

import json
import shlex
from itertools import product

import numpy as np
import pytest

import hopbytes as hb
from helpers import stand_ins
from helpers.ordering_stand_ins import READS, options_of, places
from helpers.placements import cores_in_node, place
from helpers.stand_ins import LAUNCHERS, Job, words_of
from hopbytes.errors import HopbytesError, UnsupportedError
from hopbytes.formats.mappings.launchers import usual_order
from hopbytes.launch import variables
from hopbytes.launch.in_words import IN_WORDS, best_in_words, near_in_words, orders_in_words
from hopbytes.launch.variables import VARIABLES, in_words, mapping_variables, variables_of
from hopbytes.machines.allocate.launcher_order import launcher_placement
from hopbytes.machines.kinds.synthetic import read_synthetic
from hopbytes.machines.node.job import JobInfo
from hopbytes.machines.node.node_tree import NodeInventory
from hopbytes.machines.node_machine import NodeMachine

HOSTS = ("n1", "n2", "n10")
SPEC = "node:3@10 package:2@3 core:4@1"
PACKAGES = [[0, 1, 2, 3], [4, 5, 6, 7]]


def where(spec=SPEC, hosts=HOSTS, **options):
    return hb.allocate(spec, hosts=hosts, **options)


@pytest.fixture(autouse=True)
def no_mpirun(monkeypatch):
    """Whatever is installed, Open MPI is version 5."""
    monkeypatch.setattr(variables, "version_in_path", lambda: "")


def expected(order):
    return [(pe // 8, pe % 8) for pe in launcher_placement(where(), 24, order).pe.tolist()]


@pytest.mark.parametrize("form", IN_WORDS)
def test_words_make_the_order_that_they_stand_for(form):
    found = dict(orders_in_words(form, where(), 24))
    assert len(found) >= 2
    for order, command in found.items():
        assert places(form, command, list(HOSTS), PACKAGES) == expected(order), order


@pytest.mark.parametrize("form", VARIABLES)
def test_variables_say_the_same_as_words(form):
    for order, command in orders_in_words(form, where(hosts=None), 24):
        if form == "hydra":
            with pytest.raises(UnsupportedError, match=r"no variable says -ppn .*mpiexec.hydra -n 24"):
                variables_of(command, form)
            continue
        found = variables_of(command, form)
        program = {"slurm": "srun", "cray": "srun"}.get(form, "mpirun")
        settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in found.values)
        line = f"{settings} {program} {'' if 'SLURM_NTASKS' in settings else '-n 24 '}./app"
        assert places(form, line, list(HOSTS), PACKAGES) == expected(order), line


def test_orders_by_hand():
    two = hb.allocate("node:2 package:2 core:2")
    orders = {
        "fill": [0, 1, 2, 3, 4, 5, 6, 7], "fill:package": [0, 2, 1, 3, 4, 6, 5, 7],
        "cyclic": [0, 4, 1, 5, 2, 6, 3, 7], "cyclic:package": [0, 4, 2, 6, 1, 5, 3, 7],
        "plane=2": [0, 1, 4, 5, 2, 3, 6, 7], "plane=2:package": [0, 2, 4, 6, 1, 3, 5, 7],
        "folded": [0, 4, 5, 1, 2, 6, 7, 3],
    }  # fmt: skip
    for order, pe in orders.items():
        assert launcher_placement(two, 8, order).pe.tolist() == pe, order
    for order in ("cyclic:l3", "cyclic:node", "round"):
        with pytest.raises(UnsupportedError, match="expected"):
            launcher_placement(two, 8, order)


@pytest.mark.parametrize(
    ("machine", "n"),
    [
        (where(), 23),  # a core without a rank
        (where(exclude=["core=0"]), 23),
        (where(cores_per_task=2), 12),
        (hb.allocate("node:2 core:2 pu:2"), 8),
        (hb.allocate("node:2 gpu:2 core:2", per="gpu"), 4),
    ],
)
def test_words_that_leave_it_open_are_not_offered(machine, n):
    for form in IN_WORDS:
        assert not list(orders_in_words(form, machine, n))
    with pytest.raises(UnsupportedError, match="leave open"):
        in_words(hb.read(f"stencil:{n}"), machine, "openmpi")


def test_hosts_that_slurm_takes_in_another_order():
    odd = where(hosts=("n10", "n1", "n2"))
    assert not list(orders_in_words("slurm", odd, 24))
    assert not list(orders_in_words("flux", odd, 24))
    assert any("-hosts n10,n1,n2" in command for _, command in orders_in_words("hydra", odd, 24))


def by_definition(graph, machine, pe):
    """J in plain Python."""
    distance = machine.distance.table if hasattr(machine.distance, "table") else None
    total = 0
    source = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    volumes = graph.arc_volumes().tolist()
    for a, b, volume in zip(source.tolist(), graph.targets.tolist(), volumes, strict=True):
        x, y = int(pe[a]), int(pe[b])
        far = 0 if x == y else 1 if x // 4 == y // 4 else 3 if x // 8 == y // 8 else 10
        total += volume * (far if distance is None else int(distance[x, y]))
    return total


@pytest.mark.parametrize("spec", ["stencil:4x6", "stencil:2x12", "alltoall:24"])
@pytest.mark.parametrize("form", IN_WORDS)
def test_the_best_is_the_cheapest_of_all(form, spec):
    graph, machine = hb.read(spec), where()
    costs = {
        order: by_definition(graph, machine, launcher_placement(machine, 24, order).pe)
        for order, _ in orders_in_words(form, machine, 24)
    }
    best = best_in_words(graph, machine, form)
    assert best.comm_cost == min(costs.values()) == costs[best.order]
    assert best.order == next(order for order, cost in costs.items() if cost == best.comm_cost)


def test_what_comes_within_three_per_cent_is_said():
    graph, machine = hb.read("stencil:4x6"), where()
    mapping = hb.map_tasks(graph, machine, "strong")
    best = best_in_words(graph, machine, "slurm")
    said = near_in_words(graph, mapping, "slurm", "plain")
    assert bool(said) == (100 * best.comm_cost <= 103 * mapping.info["comm_cost"])
    bad = hb.map_tasks(graph, machine, "random")
    (sentence,) = near_in_words(graph, bad, "slurm")
    assert sentence == f"Slurm without a file, a lower J: `{best.command}`"
    assert not near_in_words(graph, bad, "plain")


RANKS = np.random.default_rng(1)
CASES = {
    "scattered": place(SPEC, RANKS.permutation(24), hosts=HOSTS, problem="processes"),
    "blocks": place(SPEC, [*range(16, 24), *range(8), *range(8, 16)], hosts=HOSTS, problem="processes"),
    "unequal": place(SPEC, [8, 9, 10, 0, 1, 16], hosts=HOSTS, problem="processes"),
    "two cores each": place(SPEC, RANKS.permutation(12), hosts=HOSTS, cores_per_slot=2, problem="processes"),
}
VERSIONS = {"openmpi 4": [v for v in LAUNCHERS["openmpi"].versions if v < "5"],
            "openmpi": [v for v in LAUNCHERS["openmpi"].versions if v >= "5"]}  # fmt: skip


@pytest.mark.parametrize(("form", "name"), list(product(VARIABLES, CASES)))
def test_ranks_are_on_their_hosts(tmp_path, monkeypatch, form, name):
    """The stand-in gets the variables of the launcher and nothing but the number of ranks."""
    monkeypatch.chdir(tmp_path)
    if form == "openmpi 4":
        monkeypatch.setattr(variables, "version_in_path", lambda: "4")
    mapping = CASES[name]
    if (form, name) in REFUSED:
        with pytest.raises(HopbytesError):
            mapping_variables(mapping, form.split()[0], "ranks")
        return
    found = mapping_variables(mapping, form.split()[0], "ranks")
    settings = dict(found.values)
    assert all(not str(value).startswith("ranks") for value in settings.values()), "files by full names"
    job = Job({host: [[core] for core in range(8)] for host in HOSTS}, settings)
    words = [*options_of(form, settings), *([] if form in ("slurm", "cray") else ["-n", str(mapping.n)])]
    launcher = LAUNCHERS[form.split()[0]]
    for version in VERSIONS.get(form, launcher.versions):
        if form == "openmpi":
            seen = sequence(words, tmp_path)
        else:
            seen = launcher.stand_in(version, [*words, "./app"], tmp_path, job)
        wanted = [cores_in_node(mapping, rank) for rank in range(mapping.n)]
        assert [one.host for one in seen] == [HOSTS[node] for node, _ in wanted]
        assert all(one.cpus for one in seen)
        if not any("inside hosts ranks take the cores in order" in text for text in found.notices):
            for (node, own), one in zip(wanted, seen, strict=True):
                for (other_node, other), another in zip(wanted, seen, strict=True):  # slots may be renumbered
                    same = node == other_node and min(own) // 4 == min(other) // 4
                    assert same == (one.host == another.host and min(one.cpus) // 4 == min(another.cpus) // 4)


#: Ranks of a host that are not consecutive, other numbers of ranks on hosts, several cores of a rank.
REFUSED = {
    ("hydra", "scattered"), ("intel", "scattered"), ("hydra", "two cores each"), ("intel", "two cores each"),
    ("cray", "unequal"), ("intel", "unequal"), ("openmpi", "two cores each"),
}  # fmt: skip


def sequence(words, folder):
    """--map-by seq of PRRTE: line i has the host of rank i, whose ranks are bound to its cores in turn."""
    taken = stand_ins.take([*words, "./app"], dict.fromkeys(stand_ins.MPIRUN.split(), 1), set())
    assert (taken.get("map-by"), taken.get("bind-to")) == ("seq", "core")
    hosts = stand_ins.lines_of(folder, taken.get("hostfile"))
    return [stand_ins.Place(host, frozenset([core])) for host, core in
            zip(hosts, stand_ins.local_ranks(hosts), strict=True)]  # fmt: skip


def test_what_variables_cannot_say_costs_what_the_notice_says(tmp_path):
    graph, mapping = hb.read("stencil:4x6"), CASES["scattered"]
    found = mapping_variables(mapping, "openmpi", str(tmp_path / "f"), graph=graph)
    (notice,) = (text for text in found.notices if "J is" in text)
    lines = (tmp_path / "f").read_text().splitlines()[1:]
    local = stand_ins.local_ranks(lines)
    pe = [8 * HOSTS.index(host) + core for host, core in zip(lines, local, strict=True)]
    old, new = by_definition(graph, mapping.where, mapping.pe), by_definition(graph, mapping.where, pe)
    assert notice.endswith(f"J is {new:,} instead of {old:,}")


@pytest.mark.parametrize("form", ["flux", "pals", "mvapich", "torchrun", "newrank", "lsf"])
def test_launchers_without_variables_are_refused(tmp_path, form):
    with pytest.raises(UnsupportedError, match="reads no variables"):
        mapping_variables(CASES["blocks"], form, str(tmp_path / "f"))
    assert not list(tmp_path.iterdir())


def test_gpus_need_a_script(tmp_path):
    machine = hb.allocate("node:2 gpu:2 core:2", hosts=["a", "b"], per="gpu")
    gpus = hb.Mapping(np.arange(4, dtype=np.int32), machine)
    for form in ("slurm", "cray", "hydra", "intel", "openmpi"):
        with pytest.raises(UnsupportedError, match="hopbytes run"):
            mapping_variables(gpus, form, str(tmp_path / "f"))
    assert not list(tmp_path.iterdir())


def test_threads_reach_the_ranks(monkeypatch, tmp_path):
    monkeypatch.setattr(variables, "version_in_path", lambda: "4")
    found = dict(mapping_variables(CASES["two cores each"], "openmpi", str(tmp_path / "f")).values)
    assert found["OMP_NUM_THREADS"] == "2"
    assert found["OMPI_MCA_mca_base_env_list"] == "OMP_NUM_THREADS;OMP_PLACES"


def test_limits_of_the_job_are_removed(monkeypatch, tmp_path):
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "2")
    found = mapping_variables(CASES["scattered"], "slurm", str(tmp_path / "f"))
    assert found.script().startswith("unset SLURM_CPUS_PER_TASK\nexport SLURM_HOSTFILE=")


def test_the_command_line(tmp_path, hopbytes):
    done = hopbytes("env", "stencil:4x6", "--on", SPEC, "--hosts", "n[1-2],n10", "--format", "slurm", code=0)
    assert f"export SLURM_HOSTFILE={tmp_path}/hopbytes.slurm\n" in done.stdout
    assert (tmp_path / "hopbytes.slurm").is_file()
    done = hopbytes("env", "stencil:4x6", "--on", SPEC, "--format", "slurm", "--no-file")
    found, _ = words_of(done.stdout.replace("export ", " ").replace("\n", " ") + "srun")
    assert set(found) <= set(READS["slurm"])
    assert "order" in done.stderr
    assert hopbytes("map", "stencil:4x6", "--on", SPEC, "-o", "m.json").returncode == 0
    done = hopbytes("env", "m.json", "--hosts", "a,b,c", "--format", "slurm", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert hopbytes("env", "m.json", "--no-file", "--format", "slurm").returncode == 2
    assert hopbytes("env", "stencil:4x6", "--format", "slurm").returncode == 2
    assert hopbytes("env", "stencil:4x6", "--on", SPEC, "--format", "flux").returncode == 1


def test_advise_says_words_that_are_as_good_as_the_preset(tmp_path, hopbytes):
    """Ranks 0, 1, 6, 7, 12, … talk to each other only, so that planes of two are best."""
    pairs = [(a, b) for a in range(24) for b in range(24) if a != b and a // 2 % 3 == b // 2 % 3]
    graph = hb.CommGraph.from_edges(*zip(*pairs, strict=True), [10**6] * len(pairs), n=24)
    hb.write(graph, str(tmp_path / "app.pattern"))
    done = hopbytes("advise", "app.pattern", "--on", "node:3@10 core:8@1", "--preset", "eco", "--json")
    record = json.loads(done.stdout)
    assert record["recommended"] == "preset eco"
    said = [text.partition(" without a file, the same J: ") for text in record["notices"]]
    words = {name: command for name, same, command in said if same}
    assert set(words) == {"Slurm", "MPICH", "Intel MPI", "Flux"}
    assert "--distribution=plane=2 " in words["Slurm"]
    assert "--taskmap=cyclic:2 " in words["Flux"]


def test_map_says_the_words(hopbytes):
    done = hopbytes("map", "stencil:4x6", "--on", SPEC, "--mapper", "random", "--format", "flux", "-o", "f")
    assert "Flux without a file, a lower J: `flux run -N 3" in done.stderr


def test_open_mpi_is_told_nothing_that_exceeds_the_slots_of_a_job(tmp_path, monkeypatch):
    """mpirun has too few slots for ranks in words, and leaves ranks out of a list of hosts."""
    monkeypatch.setattr(variables, "version_in_path", lambda: "5")
    told, trees = JobInfo("PBS", ("n1", "n2"), None, (1, 2)), NodeInventory.of([read_synthetic("core:2")] * 2)
    where = hb.allocate(NodeMachine("test", trees, told.hosts, job=told))
    assert not list(orders_in_words("openmpi", where, 4))
    assert list(orders_in_words("hydra", where, 4))
    with pytest.raises(UnsupportedError, match="n1"):
        mapping_variables(hb.Mapping([0, 1, 2], where), "openmpi", str(tmp_path / "hosts"))
    assert mapping_variables(hb.Mapping([0, 2, 3], where), "openmpi", str(tmp_path / "hosts")).values


def test_launchers_are_told_the_hosts_that_they_do_not_know():
    """In a part of a job, mpirun also outside of one, they would start the ranks on other hosts."""
    tree = read_synthetic("core:2")

    def command(hosts, job_hosts, form="openmpi"):
        known = job_hosts or hosts
        job = job_hosts and JobInfo("PBS", job_hosts, None, (2,) * len(job_hosts))
        machine = NodeMachine("test", NodeInventory.of([tree] * len(known)), known, job=job)
        return next(orders_in_words(form, hb.allocate(machine, hosts=",".join(hosts)), 2 * len(hosts)))[1]

    assert "--host n2:2,n1:2 --map-by" in command(("n2", "n1"), None)
    assert "--host n1:2,n2:2 --map-by" in command(("n1", "n2"), ("n1", "n2", "n3"), "openmpi 4")
    assert "--host" not in command(("n1", "n2"), ("n1", "n2"))
    assert "-N 2 --nodelist=n1,n2 --" in command(("n1", "n2"), ("n1", "n2", "n3"), "slurm")
    assert "--nodelist" not in command(("n1", "n2"), ("n1", "n2"), "slurm")
    assert "--requires=hosts:n1,n2 --taskmap" in command(("n1", "n2"), ("n1", "n2"), "flux")
    assert "--host" not in next(orders_in_words("openmpi", where(hosts=None), 24))[1]


def test_hydra_takes_hosts_without_slots_in_turn(tmp_path):
    """MPICH counts one slot for a host without `:N`; what is gained is compared with that order."""
    (tmp_path / "hosts").write_text("n1\nn2\n")
    machine = hb.allocate(f"job:{tmp_path / 'hosts'}")
    assert usual_order("hydra", machine) == "cyclic"
    assert {usual_order(form, machine) for form in ("openmpi", "intel", None)} == {"fill"}
    (tmp_path / "hosts").write_text("n1:2\nn2:2\n")
    assert usual_order("hydra", hb.allocate(f"job:{tmp_path / 'hosts'}")) == "fill"
