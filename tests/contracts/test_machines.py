"""What every kind of machine promises: specs that come back, distances, cuts, links and routes that agree."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hopbytes as hb
from helpers.errors import mentions
from helpers.golden import checksum, compare
from helpers.paths import EXAMPLES, GPU_SAMPLES, HWLOC_SAMPLES, ROOT
from helpers.strategies import check_groupings
from hopbytes.errors import FormatError, HopbytesError
from hopbytes.machines.base import machines
from hopbytes.machines.network_machine import NetworkMachine
from hopbytes.machines.spec import parse_machine, with_distances

#: At least one spec of every kind that needs no file; kinds read from files have tests of their own too.
SPECS = {
    "tree": ["node:2@10 core:[1,2]@1", "rack:2 node:2 / core:2"],
    "torus": ["torus:4x3@10:nodes=2 / package:2@2 core:2@1", "torus:2x2x2",
              "torus:5:wrap=0 / core:[1,2,1,1,3]", "torus:4:wrap=1@9 / l3:2@2 core:[3,1]@1",
              "torus:2x2:bw=3x5@100 / core:4@1",
              "torus:3x5:nodes=2:order=hilbert / core:2", "torus:4x3:route=spread"],
    "mesh": ["mesh:3x4:bw=2x5", "mesh:1", "mesh:3x3:route=spread"],
    "fattree": [
        "fattree:2x3x2:up=1x2x2:cables=1x2x1:nodes=10@5 / core:2@1", "fattree:4:nodes=3", "fattree:1x1",
        "fattree:3x3:route=spread:up=1x2", "fattree:2x2x2:route=smodk:bw=1x2x4 / core:[1,2,1,1,1,1,1,1]",
    ],
    "dragonfly": [
        "dragonfly:5x2x2:global=2 / core:2", "dragonfly:4x3x1:links=palmtree:global=2:route=spread",
        "dragonfly:4x2x2:route=valiant:bw=4x2x3", "dragonfly:1x3x2", "dragonfly:2x1x1",
        "dragonfly:2x2x1:route=valiant", "dragonfly:3x2x2:bw=7x5x3",
    ],
    "dragonfly_plus": [
        "dragonfly+:3x2x2 / core:2", "dragonfly+:4x2x1:spines=3:global=2:links=palmtree:bw=4x2x3",
        "dragonfly+:5x2x2:spines=2:global=3:route=spread@5", "dragonfly+:1x3x2:spines=1", "dragonfly+:2x1x1",
    ],
    "hyperx": ["hyperx:3x4:nodes=2 / core:2", "hyperx:4:bw=3x2", "hyperx:1"],
    "rails": [
        "rails:3x2 / gpu:2 core:2", "rails:5x2:domain=2:pod=2:spines=1@7", "rails:3x3:route=pxn:spines=0",
    ],
    "synthetic": ["synthetic:pack:2 numa:2 core:2 pu:2@n[1-2]:core=2", "synthetic:l3:2 core:3"],
    "hwloc": [f"hwloc:{HWLOC_SAMPLES}/v2_smt_gpus.xml@n[1-2],hwloc:{HWLOC_SAMPLES}/v3_hybrid.xml@m:l3=4"],
    "amd": [f"amd:{GPU_SAMPLES}/amd_topology.txt@n[1-2]:gpu=3"],
    "nvidia": [f"nvidia:{GPU_SAMPLES}/pairs_topo.txt@n[1-2]:gpu=3", f"nvidia:{GPU_SAMPLES}/nccl_topo.xml"],
    "local": ["local"],
    "ib": [
        f"ib:{EXAMPLES}/fabric:rails=spread / package:2 core:2", f"ib:{EXAMPLES}/fabric_ports@7:hosts=n[2-6]",
    ],
    "slurm": [f"slurm:{EXAMPLES}/topology.conf@n[003-010] / core:[2,1,1,1,1,1,1,1]"],
    "coordinates": [f"coordinates:{EXAMPLES}/coordinates.txt:dims=4x2@5 / core:2"],
    "simgrid": [f"simgrid:{EXAMPLES}/platform.xml / core:2"],
}
ALL = [spec for specs in SPECS.values() for spec in specs]
NETWORKS = [spec for spec in ALL if parse_machine(spec).network() is not None]


def test_every_kind_without_a_file_is_here():
    needs_file = {kind for kind, made in machines.items() if kind not in SPECS and not made.stands_alone}
    for kind in needs_file:
        with pytest.raises(HopbytesError):
            machines[kind].parse("")
    assert set(SPECS) <= set(machines)


@pytest.mark.parametrize("spec", ALL)
def test_specs_come_back(spec):
    machine = parse_machine(spec)
    again = parse_machine(machine.spec())
    assert again == machine
    assert again.spec() == machine.spec()
    assert np.array_equal(again.distance().matrix(), machine.distance().matrix())


@pytest.mark.parametrize("spec", ALL)
def test_distances(spec):
    machine = parse_machine(spec)
    distance = machine.distance()
    matrix = distance.matrix()
    assert np.array_equal(matrix, matrix.T)
    assert not matrix.diagonal().any()
    assert matrix.min() >= 0
    assert distance.largest == matrix.max()
    rng = np.random.default_rng(5)
    for a, b in rng.integers(0, machine.n_cores, (40, 2)):
        assert distance.between(a, b) == matrix[a, b]
    some = np.flatnonzero(rng.integers(0, 2, machine.n_cores))
    if len(some):
        assert np.array_equal(distance.select(some).matrix(), matrix[np.ix_(some, some)])


@pytest.mark.parametrize("spec", ALL)
def test_units_and_nodes(spec):
    machine = parse_machine(spec)
    for level in range(len(machine.levels)):
        unit = machine.ancestors(level)
        assert unit.shape == (machine.n_cores,)
        assert np.array_equal(np.unique(unit), np.arange(unit.max() + 1))
        assert np.all(np.diff(unit) >= 0)
    assert np.all(np.diff(machine.node_of_core()) >= 0)


@pytest.mark.parametrize("spec", ALL)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_cuts_of_any_subset(spec, data):
    machine = parse_machine(spec)
    chosen = data.draw(st.sets(st.integers(0, machine.n_cores - 1), min_size=1))
    cores = np.array(sorted(chosen), np.int64)
    parts = machine.split(cores)
    assert (len(parts) > 1) == (len(cores) > 1)
    assert all(len(part) and np.all(np.diff(part) > 0) for part in parts)
    assert sorted(np.concatenate(parts).tolist()) == cores.tolist()
    check_groupings(machine.groups(cores), len(cores))
    together = np.diff(machine.node_of_core()[cores]) == 0
    assert all(np.all(np.diff(grouping)[together] >= 0) for grouping in machine.groups(cores))


def cut_down(machine, cores):
    """Return all parts of all parts, down to the cores."""
    parts = machine.split(cores)
    return [part.tolist() for part in parts] + [
        more for part in parts if 1 < len(part) < len(cores) for more in cut_down(machine, part)
    ]


def parts_of(machine):
    """Yield what users see of a machine, each with its name."""
    everything, where = np.arange(machine.n_cores), hb.allocate(machine)
    yield "levels", [repr(level) for level in machine.levels]
    yield "units", [machine.ancestors(level).tolist() for level in range(len(machine.levels))]
    yield "nodes", (machine.node_of_core().tolist(), where.hosts, [where.os_pus(pe) for pe in range(where.k)])
    yield "gpus", [(where.gpus_of(pe), where.shown_gpus(pe)) for pe in range(where.k)]
    yield "distances", machine.distance().matrix().tolist()
    yield "cuts", cut_down(machine, everything)
    yield "groups", [grouping.tolist() for grouping in machine.groups(everything[::2])]
    network = machine.network()
    if network is None:
        return
    links = np.flatnonzero(network.capacity > 0).tolist()
    yield "links", [(network.name_link(link), int(network.capacity[link])) for link in links]
    ends = np.arange(network.n_endpoints)
    routes = network.routes(np.repeat(ends, len(ends)), np.tile(ends, len(ends)))
    yield "routes", [None if each is None else each.tolist() for each in (
        routes.indptr, routes.links, routes.numerators, routes.denominators)]  # fmt: skip
    means, below = network.mean_hops(np.zeros_like(ends), ends)
    prices, unit = network.prices()
    priced = None if prices is None else prices.tolist()
    yield "sums", (network.describe(), means.tolist(), below, priced, unit)
    if network.geometry is not None:
        names, places, *shape = network.geometry()
        yield "places", (names, places.tolist(), shape)
    if network.wiring is not None:
        tail, head, at, vertices = network.wiring()
        yield "wiring", (tail[links].tolist(), head[links].tolist(), at.tolist(), vertices)


@pytest.mark.parametrize("spec", [spec for spec in ALL if spec != "local"])
def test_machines_are_what_they_were(spec):
    """Why golden: no other test notices a name, turn or number of a unit that is as good as another."""
    found = " ".join(f"{name} {checksum(part)}" for name, part in parts_of(parse_machine(spec)))
    compare("machines.txt", {spec.replace(f"{ROOT}/", ""): found})


@pytest.mark.parametrize("spec", NETWORKS)
def test_routes_are_chains_of_existing_links(spec):
    """Names of links tell where they lead, so a route of one path can be followed by reading it."""
    machine = parse_machine(spec)
    network = machine.network()
    n = network.n_endpoints
    a, b = (side.reshape(-1) for side in np.meshgrid(np.arange(n), np.arange(n)))
    routes = network.routes(a, b)
    hops = network.hops(a, b)
    assert np.all(network.capacity[routes.links] > 0)
    lengths = np.diff(routes.indptr)
    assert np.all((lengths == 0) == (hops == 0))
    if routes.numerators is None:
        assert np.array_equal(lengths, hops)
    else:
        shares = routes.numerators / routes.denominators
        total = np.add.reduceat(np.append(shares, 0.0), routes.indptr[:-1]) * (lengths > 0)
        if network.shortest:
            assert np.allclose(total, hops)
        else:
            assert np.all(total >= hops - 1e-9)
        return
    for start, end in zip(routes.indptr[:-1], routes.indptr[1:], strict=True):
        names = [network.name_link(int(link)) for link in routes.links[start:end]]
        for one, other in pairwise(name.split(" (")[0].split(" #")[0] for name in names):
            if spec.startswith("simgrid:"):  # its links have names of their own and may be shared
                continue
            assert one.split(" -> ")[1] == other.split(" -> ")[0]


@pytest.mark.parametrize("spec", NETWORKS)
def test_names_of_links_are_distinct(spec):
    network = parse_machine(spec).network()
    names = [network.name_link(int(link)) for link in np.flatnonzero(network.capacity)]
    assert len(set(names)) == len(names)


#: Which of the capacities of ``bw=`` a link has, by its name.
SORTS = {
    "torus": ((r"\(x", 0), (r"\(y", 1)), "hyperx": ((r"\bn", 0), ("", 1)),
    "dragonfly": ((r"\bn", 0), ("global", 2), ("", 1)), "dragonfly+": ((r"\bn", 0), ("s.*s", 2), ("", 1)),
    "fattree": ((r"\bn", 0), (r"\bleaf", 1), ("", 2)), "rails": (("nvswitch", 0), ("spine", 2), ("", 1)),
}  # fmt: skip
SORTS["mesh"] = SORTS["torus"]


@pytest.mark.parametrize("spec", [spec for spec in NETWORKS if not spec.startswith("simgrid:")])
def test_names_wiring_places_and_capacities_agree(spec):
    """Names of links are ``near -> far`` with something in brackets or behind ``#``."""
    network = parse_machine(spec).network()
    wiring, called, homes = network.wiring(), {}, {}
    kind, widths = spec.partition(":")[0], re.search(r"bw=([0-9x]+)", spec)
    for link in np.flatnonzero(network.capacity).tolist():
        name = network.name_link(link)
        ends = re.split(r" \(| #", name)[0].split(" -> ")
        for vertex, end in zip((int(wiring.tail[link]), int(wiring.head[link])), ends, strict=True):
            assert called.setdefault(vertex, end) == end
        homes.setdefault(ends[0], ends[1])
        if widths:
            number = next(number for pattern, number in SORTS[kind] if re.search(pattern, name))
            assert network.capacity[link] == int(widths[1].split("x")[number]), name
    assert len(set(called.values())) == len(called) <= wiring.vertices
    a, b = (side.reshape(-1) for side in np.meshgrid(*[np.arange(network.n_endpoints)] * 2))
    routes = network.routes(a, b)
    for flow in range(len(a)) if routes.numerators is None else ():
        links = routes.links[routes.indptr[flow] : routes.indptr[flow + 1]]
        stations = [wiring.at[a[flow]], *wiring.head[links]]
        assert stations[:-1] == wiring.tail[links].tolist()
        assert stations[-1] == wiring.at[b[flow]] or not len(links)
    if network.geometry is None or len(called) < 2:
        return
    geometry = network.geometry()
    assert geometry.places.shape == (len(geometry.names), network.n_endpoints)
    for endpoint in range(network.n_endpoints):
        router = called[int(wiring.at[endpoint])]
        numbers = re.findall("[0-9]+", router if router.startswith("r") else homes[router])
        sizes = geometry.places.max(axis=1) + 1
        if kind == "fattree" and len(sizes) > 1:
            numbers = [int(numbers[0]) // sizes[1], int(numbers[0]) % sizes[1]]
        assert list(map(int, numbers)) == geometry.places[:, endpoint].tolist()


@pytest.mark.parametrize("spec", NETWORKS)
def test_facts_about_networks_are_their_definitions(spec):
    network = parse_machine(spec).network()
    everyone = np.arange(network.n_endpoints)
    hops = network.hops(everyone[:, None], everyone[None, :])
    apart = hops[(hops >= 0) & ~np.eye(len(hops), dtype=bool)]
    there = network.capacity[network.capacity > 0].tolist()
    facts = network.describe()
    assert facts["capacities"] == {str(width): there.count(width) for width in sorted(set(there))}
    assert (facts["endpoints"], facts["links"]) == (len(everyone), len(there))
    assert (facts["diameter"], facts["sources_looked_at"]) == (max(apart, default=0), len(everyone))
    assert facts["mean_distance"] == (sum(apart.tolist()) / len(apart) if len(apart) else 0)
    assert (facts["unrouted_pairs"], facts["capacity_unit"]) == (np.count_nonzero(hops < 0), network.unit)
    routes = network.routes(*(side.reshape(-1) for side in np.meshgrid(everyone, everyone)))
    shared = routes.numerators is not None and bool(np.any(routes.numerators != routes.denominators))
    assert facts["several_paths"] == shared
    classes = network.capacity_classes()
    assert list(classes.values) == sorted(set(there))
    for number, width in enumerate(classes.values if classes.links is not None else ()):
        own = classes.links[classes.start[number] : classes.start[number + 1]]
        assert own.tolist() == np.flatnonzero(network.capacity == width).tolist()
    prices, unit = network.prices()
    assert prices is None or not prices.flags.writeable  # it is computed once for all
    assert prices is None or {unit} == set((prices * network.capacity)[network.capacity > 0].tolist())


@pytest.mark.parametrize(("spec", "levels"), [
    ("torus:3x2@2 / core:2", "node 2 core 1"), ("hyperx:3x2@2", "node 4"), ("mesh:3:nodes=2", "node 1"),
    ("dragonfly:3x2x2@2 / core:2", "group 10 router 6 node 4 core 1"),
    ("dragonfly:2x1x1", "group 5 router 3 node 2"),
    ("dragonfly+:3x2x2@2 / core:2", "group 10 leaf 8 node 4 core 1"),
    ("fattree:2x3x2@2 / l3:2@2 core:2", "switch2 12 leaf 8 node 4 l3 2 core 1"), ("fattree:3@5", "node 10"),
    ("torus:3 / l3:2 core:2", "node 100 l3 10 core 1"), ("fattree:2x2 / core:2", "leaf 40 node 20 core 1"),
])  # fmt: skip
def test_levels_of_networks_and_their_usual_distances(spec, levels):
    machine = parse_machine(spec)
    assert " ".join(f"{level.name} {level.distance}" for level in machine.levels) == levels


@pytest.mark.parametrize("spec", ALL)
def test_levels_that_a_machine_does_not_have(spec):
    machine = parse_machine(spec)
    with pytest.raises(HopbytesError, match=mentions("nolevel")):
        with_distances(machine, "nolevel=3")
    for level in machine.levels if machine.network() is None else ():
        assert with_distances(machine, f"{level.name}={level.distance}") == machine


@pytest.mark.parametrize("spec", [spec for spec in NETWORKS if "simgrid" not in spec])
def test_distances_of_networks_do_not_shrink_outwards(spec):
    outside, inside = spec.partition(" / ")[0], "gpu" if spec.startswith("rails") else "core"
    outside = re.sub(r"@[0-9]+", "", outside)
    count = outside.split("x")[1][0] if inside == "gpu" else 2
    assert parse_machine(f"{outside}@5 / {inside}:{count}@5").hop_distance == 5
    with pytest.raises(FormatError, match=mentions("4", "5", inside)):
        parse_machine(f"{outside}@4 / {inside}:{count}@5")


@pytest.mark.parametrize("spec", [
    spec for spec in ALL
    if spec.startswith(("dragonfly", "fattree", "rails", "slurm")) and spec != "fattree:1x1"
])  # fmt: skip
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_hierarchies_are_cut_at_the_outermost_level_in_which_cores_differ(spec, data):
    machine = parse_machine(spec)
    chosen = data.draw(st.sets(st.integers(0, machine.n_cores - 1), min_size=2))
    cores = np.array(sorted(chosen), np.int64)
    level = next(n for n in range(len(machine.levels)) if len(set(machine.ancestors(n)[cores].tolist())) > 1)
    same = [n for n, tier in enumerate(machine.levels) if tier.distance == machine.levels[level].distance]
    unit = machine.ancestors(max(same))[cores]
    expected = [cores[unit == number].tolist() for number in sorted(set(unit.tolist()))]
    assert [part.tolist() for part in machine.split(cores)] == expected


# Distances of rails are not hops: tests/machines/kinds/test_rails.py has their definition.
@pytest.mark.parametrize("spec", [spec for spec in NETWORKS if not spec.startswith("rails:")])
def test_nodes_sit_at_endpoints_and_distances_are_hops(spec):
    machine = parse_machine(spec)
    assert isinstance(machine, NetworkMachine)
    endpoint, node = machine.network_use.endpoint_of_core(), machine.node_of_core()
    if spec.partition(":")[0] in ("ib", "coordinates"):  # several adapters, or places without a host
        owner = {(int(e), int(n)) for e, n in zip(endpoint, node, strict=True)}
        assert len({e for e, _ in owner}) == len(owner)
        assert int(endpoint.max()) < machine.network().n_endpoints
    else:
        assert machine.network().n_endpoints == machine.n_nodes
        assert np.array_equal(endpoint, node)
    hops = machine.network().hops(endpoint[:, None], endpoint[None, :])
    matrix = machine.distance().matrix()
    apart = node[:, None] != node[None, :]
    wide = matrix[~apart].max()
    assert np.all(matrix[apart & (hops > 0)] == (hops * machine.hop_distance)[apart & (hops > 0)])
    assert np.all(matrix[apart & (hops == 0)] >= wide)
