"""Tori and meshes: routes known by hand, distances, cuts, specs and faults."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.machines import link_names, shares
from hopbytes.machines.kinds.torus import Torus
from hopbytes.machines.spec import parse_machine


@pytest.mark.parametrize(("spec", "source", "target", "links"), [
    ("torus:4x5", 0, 8, ["r0.0 -> r1.0 (x+)", "r1.0 -> r1.4 (y-)", "r1.4 -> r1.3 (y-)"]),
    ("torus:4", 3, 1, ["r3 -> r0 (x+)", "r0 -> r1 (x+)"]),  # half way round: in positive direction
    ("torus:4", 1, 0, ["r1 -> r0 (x-)"]), ("mesh:4", 3, 1, ["r3 -> r2 (x-)", "r2 -> r1 (x-)"]),
])  # fmt: skip
def test_routes_correct_the_dimensions_in_order(spec, source, target, links):
    assert link_names(parse_machine(spec), source, target) == links


@pytest.mark.parametrize(("text", "distance", "spec"), [
    ("torus:4x4@10:nodes=2 / core:2@1", None, "torus:4x4:nodes=2@10 / core:2@1"),
    ("torus:4x4 / package:2 core:2", None, "torus:4x4@100 / package:2@10 core:2@1"),
    ("torus:4x4 / package:2 core:2", "hop=7,package=3", "torus:4x4@7 / package:2@3 core:2@1"),
])  # fmt: skip
def test_distances_of_specs(text, distance, spec):
    assert hb.allocate(text, distance=distance).machine.spec() == spec


def test_adaptive_routes_divide_at_every_router():
    """From a corner of a 3 x 2 mesh to the other: three shortest ways, the first hop half and half."""
    assert shares(parse_machine("mesh:3x2:route=spread"), 0, 5) == {
        "r0.0 -> r1.0 (x+)": 0.5, "r0.0 -> r0.1 (y+)": 0.5, "r0.1 -> r1.1 (x+)": 0.5,
        "r1.0 -> r2.0 (x+)": 0.25, "r1.0 -> r1.1 (y+)": 0.25, "r1.1 -> r2.1 (x+)": 0.75,
        "r2.0 -> r2.1 (y+)": 0.25,
    }  # fmt: skip


def test_adaptive_routes_go_both_ways_round_where_those_are_as_long():
    assert shares(parse_machine("torus:4x3:route=spread"), 0, 6) == {
        "r0.0 -> r1.0 (x+)": 0.5, "r1.0 -> r2.0 (x+)": 0.5,
        "r0.0 -> r3.0 (x-)": 0.5, "r3.0 -> r2.0 (x-)": 0.5,
    }  # fmt: skip
    # On a ring of two routers both cables are used; with a step aside the halves meet again at the end.
    found = shares(parse_machine("torus:2x3:route=spread"), 0, 4)
    assert {name: share for name, share in found.items() if "(x" in name} == {
        f"r0.{y} -> r1.{y} (x{sign})": 0.25 for y in (0, 1) for sign in "+-"
    }


def test_a_mesh_has_no_way_round():
    network = parse_machine("mesh:4").network()
    assert int(np.count_nonzero(network.capacity)) == 6
    assert (network.describe()["diameter"], network.describe()["mean_distance"]) == (3, 20 / 12)


def test_endpoints_that_do_not_exist_are_refused():
    network = parse_machine("torus:4").network()
    for ask in (network.hops, network.routes):
        with pytest.raises(IndexError, match="expected 0 to 3"):
            ask([0], [4])
        with pytest.raises(IndexError, match="expected 0 to 3"):
            ask([-1], [0])


def test_wrap_per_dimension():
    machine = parse_machine("torus:4x4:wrap=1x0")
    hops = machine.network().hops
    assert int(hops(0, 3 * 4)) == 1
    assert int(hops(0, 3)) == 3
    assert machine.spec() == "torus:4x4:wrap=1x0@1"


def test_largest_distance_of_many_nodes_is_a_bound():
    for spec, most in (("torus:16x16x16@3", 3 * 24), ("mesh:64x40@2", 2 * 102)):
        where = hb.allocate(spec)
        assert where.distance.largest == most
        corner = where.machine.network().hops(0, np.arange(where.k))
        assert corner.max() * where.machine.hop_distance <= most


def test_the_longest_side_of_the_box_is_cut():
    torus = Torus((4, 8), (True, True))
    row = np.array([0, 1, 2, 3])  # y = 0..3 of x = 0
    assert [part.tolist() for part in torus.split_nodes(row)] == [[0, 1], [2, 3]]
    # y = 7, 0, 1, 2 is a box of length 4 on the ring, not one of length 8.
    assert [part.tolist() for part in torus.split_nodes(np.array([0, 1, 2, 7]))] == [[0, 7], [1, 2]]
    assert [len(part) for part in torus.split_nodes(np.arange(32))] == [16, 16]


def test_capacities_per_dimension_and_their_prices():
    machine = parse_machine("torus:3x3:bw=6x4")
    prices, unit = machine.network().prices()
    assert unit == 12
    assert prices is not None
    assert prices.reshape(-1, 4)[0].tolist() == [2, 2, 3, 3]


def test_unequal_nodes():
    machine = parse_machine("torus:3 / core:[1,2,3]")
    assert machine.n_cores == 6
    assert machine.node_of_core().tolist() == [0, 1, 1, 2, 2, 2]
    two = parse_machine("torus:2 / package:2 core:[1,2]")
    assert two.node_of_core().tolist() == [0, 0, 0, 1, 1, 1]
    assert parse_machine("torus:2 / package:2 core:[1,2,3,4]").n_cores == 10
