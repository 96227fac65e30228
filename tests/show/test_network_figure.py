"""Networks as graphs that can be drawn, against the links and routes of the machine."""

from __future__ import annotations

import numpy as np
import pytest

import hopbytes as hb
from helpers.paths import SHARED_SAMPLES
from hopbytes.show.network import network_figure
from hopbytes.show.traffic import link_loads

NETWORKS = ("torus:4x3x2", "mesh:5", "fattree:4x8", "dragonfly:4x4x2", "dragonfly_plus:4x2x2", "hyperx:3x4")


@pytest.mark.parametrize("spec", NETWORKS)
def test_every_link_is_part_of_one_cable(spec):
    where = hb.allocate(spec)
    network, figure = where.machine.network(), network_figure(where)
    wiring = network.wiring()
    expected: dict[tuple[int, int], int] = {}
    for link in np.flatnonzero(network.capacity > 0).tolist():
        ends = tuple(sorted((int(wiring.tail[link]), int(wiring.head[link]))))
        expected[ends] = expected.get(ends, 0) + 1
    cables = [tuple(ends) for ends in figure.ends.tolist()]
    assert dict(zip(cables, figure.links.tolist(), strict=True)) == expected
    assert sorted(node for own in figure.nodes for node in own) == list(range(len(figure.hosts)))


@pytest.mark.parametrize("spec", NETWORKS)
def test_a_cable_has_the_load_of_its_busiest_link(spec):
    graph = hb.read("stencil:3x4:bytes=1000")
    where = hb.allocate(spec)
    if where.k < graph.n:
        graph = hb.read("stencil:5:bytes=1000")
    mapping = hb.Mapping(np.random.default_rng(3).permutation(where.k)[: graph.n], where)
    loads = link_loads(graph, mapping)
    figure = network_figure(where, loads)
    wiring = where.machine.network().wiring()
    busiest: dict[tuple[int, int], float] = {}
    for place, link in enumerate(loads.links.tolist()):
        ends = tuple(sorted((int(wiring.tail[link]), int(wiring.head[link]))))
        busiest[ends] = max(busiest.get(ends, 0.0), float(loads.congestion[place]))
    assert {
        tuple(ends): load for ends, load in zip(figure.ends.tolist(), figure.congestion.tolist(), strict=True)
    } == busiest
    assert np.allclose(figure.volumes, figure.congestion * figure.capacities)


def test_layers_count_links_from_the_hosts():
    assert np.bincount(network_figure(hb.allocate("fattree:4x4x4")).layers)[0] == 64
    assert set(network_figure(hb.allocate("torus:4x4")).layers.tolist()) == {0}
    assert set(network_figure(hb.allocate("dragonfly:4x4x2")).layers.tolist()) == {0, 1}


def test_names_are_hosts_and_switches():
    figure = network_figure(hb.allocate("fattree:2x2", hosts="a,b,c,d"))
    assert figure.names[:6] == ("a", "b", "c", "d", "leaf0", "leaf1")


def test_machines_without_links_are_refused():
    with pytest.raises(hb.UnsupportedError, match="the machine has no links"):
        network_figure(hb.allocate("node:2 core:2"))


@pytest.mark.shared
def test_a_real_fabric_has_its_hosts_and_short_names_of_switches():
    folder = SHARED_SAMPLES / "infiniband/avakas"
    if not folder.is_dir():
        pytest.skip("the developers' sample folder is missing")
    figure = network_figure(hb.allocate(f"ib:{folder}"))
    assert len(figure.hosts) == 281
    assert {"avakas-frontend1", "node001", "L101", "S209A"} <= set(figure.names)
    assert np.bincount(figure.layers).tolist() == [281, 16, 9]


@pytest.mark.shared
def test_all_adapters_of_hosts_are_theirs():
    folder = SHARED_SAMPLES / "infiniband/ndr_dgx_40sw"
    if not folder.is_dir():
        pytest.skip("the developers' sample folder is missing")
    figure = network_figure(hb.allocate(f"ib:{folder}:tables=dump_fts_dfsssp.txt.gz"))
    adapters = [own[0] for vertex, own in enumerate(figure.nodes) if figure.layers[vertex] == 0 and own]
    assert len(adapters) == int((figure.layers == 0).sum())
    assert max(np.bincount(adapters)) == 4
    assert {"A09-P1-IBLEAF-02-01", "B10-P1-IBSPINE-07"} <= set(figure.names)
