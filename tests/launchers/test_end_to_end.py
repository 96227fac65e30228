"""Real launchers on four hosts, from a running program to its placement: record, probe, map, run, verify."""

import json
import os
import re
import subprocess

import pytest
from several_hosts import HOSTS, build, farm

import hopbytes as hb
from helpers.placements import expand
from hopbytes.solve.consecutive_ranks import map_for

pytestmark = [
    pytest.mark.launcher, pytest.mark.xdist_group("hosts"),
    pytest.mark.skipif(
        sorted(os.sched_getaffinity(0)) != [0, 1], reason="hosts are taken to have CPUs 0 and 1 and no others"
    ),
]

# What is mapped and how, beside the program itself: ranks that talk across the launcher's own order.
CASES = {
    "unequal nodes, one without ranks": ("stencil:5:periodic=x", {}, {"pack": True}),
    "partial nodes": ("stencil:4", {"exclude": "core=0"}, {}),
    "several cores per rank": ("stencil:4", {"cores_per_task": 2}, {}),
}


KINDS = ["openmpi-5", "openmpi-4", "hydra"]
# Open MPI 4 differs in the command alone, which one launch shows.
ALL_SHAPES = pytest.mark.parametrize("hosts", ["openmpi-5", "hydra"], indirect=True)


@pytest.fixture(scope="module", params=KINDS)
def hosts(request, tmp_path_factory):
    """Four hosts known by a probe on each of them, and an MPI program."""
    found = farm(request.param, tmp_path_factory.mktemp(request.param))
    build(found.compiler, found.folder)
    found.hopbytes("probe", "-o", "job.machine.json", "--", *found.once)
    return found


def job(hosts):
    """The machine; by its whole name, so that stored mappings find it from here."""
    return str(hosts.folder / "job.machine.json")


def mapped(hosts, pattern, machine, **options):
    """Map for the launcher in this process and store it; what the command does, in half the time."""
    graph = pattern if isinstance(pattern, hb.CommGraph) else hb.read(pattern)
    mapping = map_for(graph, hb.allocate(machine, **options), hosts.form)
    hb.write(mapping, str(hosts.folder / "m.json"), force=True)
    return mapping


def wanted(mapping):
    """Host and CPUs of every rank."""
    nodes = [mapping.where.hosts[node] for node in mapping.where.node_of_pe[mapping.pe]]
    return [(host, mapping.where.os_pus(pe)) for host, pe in zip(nodes, mapping.pe.tolist(), strict=True)]


def test_a_program_is_recorded_mapped_launched_and_verified(hosts):
    count = ["--cc", hosts.compiler] if hosts.form == "hydra" else []  # Open MPI counts by itself
    recorded = hosts.hopbytes("record", "-o", "app.pattern", *count, "--", *hosts.words, "-n", "8", "./app")
    assert "recorded: 8 ranks" in recorded.stderr
    graph = hb.read(str(hosts.folder / "app.pattern"))
    arcs = zip(graph.sources().tolist(), graph.targets.tolist(), graph.volumes.tolist(), strict=True)
    sent = {(source, target): volume for source, target, volume in arcs}
    assert all(sent[rank, (rank + 4) % 8] == 40960 for rank in range(8))
    mapping = mapped(hosts, graph, hb.allocate(job(hosts)))
    assert set(mapping.where.hosts) == set(HOSTS)
    if hosts.form == "openmpi":  # where any ranks may share a host, partners do
        assert all(wanted(mapping)[rank][0] == wanted(mapping)[rank + 4][0] for rank in range(4))
    run = ["run", "--pattern", "app.pattern"]
    if hosts.form == "openmpi":  # its own list of hosts says which machine it is for
        dry = hosts.hopbytes(*run, "--dry-run", "--", *hosts.words, "-n", "8", "./app")
        assert "2 tasks per node" in dry.stderr
        assert "--hostfile hosts -n 8 ./app" in dry.stderr
    run += ["--on", "job.machine.json"]
    done = hosts.hopbytes(*run, "--", *hosts.launch, "-n", "8", "./app")
    printed = re.findall(r"rank (\d+) on (\S+) CPUs (\S+) \.", done.stdout)
    seen = {int(rank): (host, tuple(expand(cpus))) for rank, host, cpus in printed}
    assert [seen[rank] for rank in range(8)] == wanted(mapping)
    good = hosts.hopbytes("verify", "m.json", "--json", "--", *hosts.launch, "-n", "8")
    assert json.loads(good.stdout)["wrong"] == []
    # The launcher by itself does something else, and the first rank of it is named.
    bad = hosts.hopbytes("verify", "m.json", "--as-typed", "--", *hosts.words, "-n", "8", code=1)
    assert re.match(r"rank \d (is on n\d, expected n\d|may run on CPUs)", bad.stdout)
    assert not list(hosts.folder.glob(".hopbytes*"))


@ALL_SHAPES
@pytest.mark.parametrize("case", CASES)
def test_other_shapes_are_launched_as_they_were_mapped(hosts, case):
    pattern, slots, options = CASES[case]
    mapping = mapped(hosts, pattern, hb.allocate(job(hosts), **slots), **options)
    sizes = {len(cpus) for _, cpus in wanted(mapping)}
    assert sizes == ({2} if "several" in case else {1})
    done = hosts.hopbytes("verify", "m.json", "--json", "--", *hosts.launch, "-n", str(mapping.n))
    assert json.loads(done.stdout)["wrong"] == []
    assert json.loads(done.stdout)["checked"] == ["hosts", "CPUs"]


@pytest.mark.parametrize("hosts", ["hydra"], indirect=True)
def test_where_a_launcher_puts_ranks_is_a_mapping_to_verify(hosts):
    launch = [*hosts.words, "-n", "8", "-bind-to", "user:1,0"]
    hosts.hopbytes("verify", "--on", job(hosts), "-o", "now.json", "--force", "--", *launch)
    found = hb.read(str(hosts.folder / "now.json"))
    assert wanted(found) == [(host, (cpu,)) for host in HOSTS for cpu in (1, 0)]
    hosts.hopbytes("verify", "now.json", "--", *hosts.launch, "-n", "8")


def test_where_a_launcher_puts_ranks_by_itself(hosts):
    """Open MPI 4 binds to packages here, Hydra to nothing, Open MPI 5 to cores; hosts are known under all."""
    launch = [*hosts.words, "-n", "8"]
    said = hosts.hopbytes("verify", "--on", job(hosts), "-o", "own.json", "--force", "--", *launch)
    found = hb.read(str(hosts.folder / "own.json"))
    assert wanted(found) == [(host, (cpu,)) for host in HOSTS for cpu in (0, 1)]
    version = subprocess.run([hosts.launch[0], "--version"], capture_output=True, text=True).stdout
    to_cores = "Open MPI) 5" in version
    assert ("8 of 8 ranks may run on several slots" in said.stderr) == (not to_cores)
