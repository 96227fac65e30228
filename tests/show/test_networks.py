"""Networks as graphs, against the links of the machine, and as pictures with named hosts and loads."""

from xml.etree import ElementTree

import numpy as np
import pytest

import hopbytes as hb
from helpers.paths import SHARED_SAMPLES
from hopbytes.show.back_ends import svg
from hopbytes.show.marks import Line, Panel, Rectangle, Words, scaled
from hopbytes.show.network_layouts import IDLE, UNLOADED, network_figure, network_panel
from hopbytes.show.pictures import allocation_picture, evaluation_picture, mapping_picture
from hopbytes.show.traffic import link_loads

NETWORKS = ("torus:4x3x2", "mesh:5", "fattree:4x8", "dragonfly:4x4x2", "dragonfly_plus:4x2x2", "hyperx:3x4")


def sample(name):
    """Return a folder of a real fabric, if the developers' samples are there."""
    folder = SHARED_SAMPLES / "infiniband" / name
    if not folder.is_dir():
        pytest.skip("the developers' sample folder is missing")
    return folder


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
    present = np.flatnonzero(where.machine.network().capacity > 0)
    for place, link in enumerate(present.tolist()):
        ends = tuple(sorted((int(wiring.tail[link]), int(wiring.head[link]))))
        busiest[ends] = max(busiest.get(ends, 0.0), float(loads.congestion[place]))
    assert {
        tuple(ends): load for ends, load in zip(figure.ends.tolist(), figure.congestion.tolist(), strict=True)
    } == busiest
    of_links = set(zip(loads.volumes.tolist(), loads.congestion.tolist(), strict=True))
    assert of_links >= set(zip(figure.volumes.tolist(), figure.congestion.tolist(), strict=True))


def test_layers_count_links_from_the_hosts():
    assert np.bincount(network_figure(hb.allocate("fattree:4x4x4")).layers)[0] == 64
    assert set(network_figure(hb.allocate("torus:4x4")).layers.tolist()) == {0}
    assert set(network_figure(hb.allocate("dragonfly:4x4x2")).layers.tolist()) == {0, 1}


def test_machines_without_links_are_refused():
    with pytest.raises(hb.UnsupportedError, match="the machine has no links"):
        network_figure(hb.allocate("node:2 core:2"))


@pytest.mark.shared
def test_a_real_fabric_has_its_hosts_and_short_names_of_switches():
    folder = sample("avakas")
    figure = network_figure(hb.allocate(f"ib:{folder}"))
    assert len(figure.hosts) == 281
    assert {"avakas-frontend1", "node001", "L101", "S209A"} <= set(figure.names)
    assert np.bincount(figure.layers).tolist() == [281, 16, 9]


@pytest.mark.shared
def test_all_adapters_of_hosts_are_theirs():
    folder = sample("ndr_dgx_40sw")
    figure = network_figure(hb.allocate(f"ib:{folder}:tables=dump_fts_dfsssp.txt.gz"))
    adapters = [own[0] for vertex, own in enumerate(figure.nodes) if figure.layers[vertex] == 0 and own]
    assert len(adapters) == int((figure.layers == 0).sum())
    assert max(np.bincount(adapters)) == 4
    assert {"A09-P1-IBLEAF-02-01", "B10-P1-IBSPINE-07"} <= set(figure.names)


SPECS = {
    "ring": "torus:8", "torus": "torus:4x3x3", "four dimensions": "torus:2x2x3x2",
    "several nodes": "mesh:3x3:nodes=2", "hyperx": "hyperx:3x4", "fat tree": "fattree:4x8",
    "tall tree": "fattree:4x4x4", "wide tree": "fattree:2x40", "dragonfly": "dragonfly:4x4x2",
    "dragonfly+": "dragonfly_plus:4x2x2:spines=2",
}  # fmt: skip


def said(panel: Panel) -> str:
    """Return all words and tool tips of a picture, which must be well-formed."""
    ElementTree.fromstring(svg(panel))
    words = [mark.text for mark in panel.marks if isinstance(mark, Words)]
    return "\n".join([*words, *(mark.tip for mark in panel.marks if isinstance(mark, (Line, Rectangle)))])


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_every_node_and_cable_is_drawn(spec):
    count = int(hb.allocate(spec).machine.node_of_core()[-1]) + 1
    where = hb.allocate(spec, hosts=f"h[1-{count}]")
    panel = network_panel(where)
    words = said(panel)
    assert all(f"h{number}" in words for number in range(1, count + 1))
    assert any(isinstance(mark, Line) and mark.colour == UNLOADED for mark in panel.marks)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_loads_have_colours_and_the_busiest_link_a_name(spec):
    where = hb.allocate(spec)
    graph = hb.read(f"stencil:{min(where.k, 32)}:bytes=1000000")
    mapping = hb.Mapping(np.random.default_rng(2).permutation(where.k)[: graph.n], where)
    loads = link_loads(graph, mapping)
    panel = network_panel(where, loads=loads, mapping=mapping)
    busiest = loads.names[int(loads.most_loaded(1)[0])]
    assert f"busiest here: {busiest}, " in said(panel)
    assert "ranks " in said(panel)


def test_the_darkest_colour_is_the_busiest_link():
    graph = hb.CommGraph.from_edges([0, 1], [1, 2], [1, 100], n=3)
    mapping = hb.Mapping([0, 1, 2], hb.allocate("mesh:4"))
    panel = network_panel(mapping.where, loads=link_loads(graph, mapping))
    colours = {mark.tip: mark.colour for mark in panel.marks if isinstance(mark, Line) and mark.tip}
    assert colours == {
        "node 0 – node 1: 1 B on its busiest link": scaled(0.01),
        "node 1 – node 2: 100 B on its busiest link": "#1d2a62",
        "node 2 – node 3: idle": IDLE,
    }  # fmt: skip


def test_slices_of_a_torus_are_named():
    words = [mark.text for mark in network_panel(hb.allocate("torus:3x3x2")).marks if isinstance(mark, Words)]
    assert {"z = 0", "z = 1", *map(str, range(18))} <= set(words)


def test_links_of_the_third_dimension_lead_to_the_next_slice_and_back():
    """In a row of three slices upwards from the first, both ways from the second, downwards from the last."""
    lines = [mark.points for mark in network_panel(hb.allocate("mesh:1x1x3")).marks if isinstance(mark, Line)]
    assert [end[1] < start[1] for start, end in lines] == [True, False, True, False]


def test_things_on_networks_are_drawn_as_networks():
    where = hb.allocate("torus:2x2x2 / core:4", hosts="h[1-8]")
    machine = said(allocation_picture(where)[0])
    assert "4 cores in each node" in machine
    assert all(f"h{number}" in machine for number in range(1, 9))
    mapping = hb.Mapping(np.arange(32)[::-1], where)
    words = said(mapping_picture(mapping)[0])
    assert all(f"\n{rank}\n" in words for rank in range(32))
    evaluation, _ = evaluation_picture(hb.read("stencil:8x4:bytes=1000"), mapping)
    assert "Links, before: ranks in order, nodes filled" in said(evaluation)


def test_networks_that_are_too_large_are_refused():
    with pytest.raises(hb.UnsupportedError, match="hosts and switches, expected at most 16384"):
        allocation_picture(hb.allocate("torus:64x64x8"))


@pytest.mark.shared
def test_many_leaf_switches_are_told_apart():
    """A09-P1-IBLEAF-01-02 without what all switches share; hosts from the first to the last."""
    folder = sample("ndr_dgx_40sw")
    panel = network_panel(hb.allocate(f"ib:{folder}:tables=dump_fts_dfsssp.txt.gz"))
    tips = {mark.tip for mark in panel.marks if isinstance(mark, Rectangle)}
    leaves = [tip for tip in tips if tip.startswith("switch ") and "LEAF" in tip]
    said = [mark.text for mark in panel.marks if isinstance(mark, Words)]
    short = [text for text in said if text.count("-") == 2 and "…" not in text and "P1" not in text]
    assert len(short) == len(set(short)) == len(leaves)
    assert "a07-p1-dgx-03-c01 … 18 (18)" in said
    assert not any("…e" in text for text in said)
