"""Mappers by geometry, and round robin: known answers, promises on every grid, what they refuse."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.strategies import random_graph
from hopbytes.algorithms.base import mappers
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.machines.common.geometry import geometry_of, occupied
from hopbytes.machines.network.curves import curve_order, hilbert_order
from hopbytes.machines.selection.launcher_order import launcher_placement
from hopbytes.patterns.base import pattern
from hopbytes.solve.map_tasks import map_tasks

GEOMETRIC = [name for name, kind in mappers.items() if kind.needs_coordinates]
GRIDS = (
    "torus:3x4@5:nodes=2 / package:2@2 core:2@1", "mesh:5x2@3 / core:[2,1,3,1,1,2,1,1,1,1]@2", "torus:7",
    "hyperx:3x4:nodes=2 / core:2@1", "torus:2x3x2x2 / core:2@1",
)


def hops_between(points, order):
    return np.abs(np.diff(points[:, order], axis=1)).sum(axis=0)


@pytest.mark.parametrize("sizes", [(8, 8), (4, 4, 4), (2, 2, 2, 2)])
def test_every_step_of_hilbert_and_of_a_snake_is_to_a_neighbour(sizes):
    points = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes))
    for order in (hilbert_order(sizes), curve_order(points, "hilbert"), curve_order(points, "snake")):
        assert np.array_equal(np.sort(order), np.arange(points.shape[1]))
        assert np.all(hops_between(points, order) == 1)


def test_steps_of_gray_order_change_one_bit_of_one_coordinate():
    points = np.stack(np.unravel_index(np.arange(256), (16, 16)))
    steps = np.diff(points[:, curve_order(points, "gray")], axis=1)
    changed = points[:, curve_order(points, "gray")]
    flips = changed[:, 1:] ^ changed[:, :-1]
    assert np.all(np.count_nonzero(steps, axis=0) == 1)
    assert np.all(flips.sum(axis=0) & (flips.sum(axis=0) - 1) == 0)


def test_the_widest_gap_of_a_ring_opens_it():
    assert occupied(np.array([6, 7, 0, 1]), 8, True) == (6, 4)
    assert occupied(np.array([6, 7, 0, 1]), 8, False) == (0, 8)
    assert occupied(np.arange(8), 8, True) == (0, 8)


@pytest.mark.parametrize("name", GEOMETRIC)
@pytest.mark.parametrize("spec", GRIDS)
def test_all_tasks_are_placed_within_bounds_whole_and_sparse(spec, name, tmp_path):
    whole = hb.machine(spec)
    rng = np.random.default_rng(3)
    for where in (whole, whole.select(np.sort(rng.choice(whole.k, whole.k // 2, replace=False)))):
        for n in (where.k, 3 * where.k, where.k - 1):
            points = tmp_path / f"{n}.txt"
            points.write_text("\n".join(" ".join(f"{x:.3f}" for x in rng.random(3)) for _ in range(n)))
            graph = random_graph(rng, n=n)
            made = map_tasks(graph, where, mapper=f"{name}:tasks={points}", partition=n > where.k, seed=1)
            again = map_tasks(
                graph, where, mapper=f"{name}:tasks={points}", partition=n > where.k, seed=1, threads=2
            )
            assert made.pe.tobytes() == again.pe.tobytes()
            counts = made.tasks_per_pe()
            assert counts.sum() == n
            assert counts.max() <= 1 or n > where.k


def test_a_grid_finds_itself_on_the_machine_of_its_shape():
    """The transposed grid needs a rotation, the ring an opening: then every message takes one hop."""
    for shape, machine, hosts in (
        ("6x4", "mesh:4x6", None), ("4x3x2", "mesh:2x3x4", None), ("8", "torus:32", "nodes:0-3,28-31"),
    ):
        where = hb.machine(machine, hosts=hosts)
        graph = pattern(f"stencil:{shape}:bytes=1")
        for cuts in ("multi", "two"):
            mapping = map_tasks(graph, where, mapper=f"multi_jagged:cuts={cuts}")
            assert hb.evaluate(graph, mapping, random_seeds=0).to_dict()["hop_bytes"] == graph.m


def test_the_curve_goes_on_over_holes_and_inside_nodes():
    where = hb.machine("mesh:2x2 / core:2", hosts="nodes:0,1,3")
    graph = pattern("stencil:6")
    # Hilbert's curve meets the nodes in the order 0 (0,0), 1 (0,1), 3 (1,1): cores 0-1, 2-3, 4-5 of the job.
    assert map_tasks(graph, where, mapper="curve").pe.tolist() == [0, 1, 2, 3, 4, 5]
    whole = hb.machine("mesh:2x2")
    assert map_tasks(pattern("stencil:4"), whole, mapper="curve").pe.tolist() == [0, 1, 3, 2]
    # A grid of tasks follows the same curve, so every task is where it belongs.
    graph = pattern("stencil:2x2")
    assert map_tasks(graph, whole, mapper="curve").pe.tolist() == [0, 1, 2, 3]
    assert map_tasks(graph, whole, mapper="curve:tasks=own").pe.tolist() == [0, 1, 3, 2]


def test_hosts_with_coordinates_of_a_file_are_places_of_a_grid(tmp_path):
    table = tmp_path / "table.txt"
    table.write_text("a 0 0\nb 0 1\nc 1 0\nd 1 1\n")
    machine = hb.machine(f"coordinates:{table}:dims=2x2").machine
    found = geometry_of(machine)
    assert found.sizes == (2, 2)
    assert dict(zip(machine.node_names(), found.places.T.tolist(), strict=True)) == {
        "a": [0, 0], "b": [0, 1], "c": [1, 0], "d": [1, 1]
    }


def test_round_robin_deals_tasks_to_nodes():
    where = hb.machine("node:3 core:[2,1,2]")
    ring = hb.CommGraph.from_edges(np.arange(5), (np.arange(5) + 1) % 5)
    assert map_tasks(ring, where, mapper="round_robin").pe.tolist() == [0, 2, 3, 1, 4]
    assert map_tasks(ring, where, mapper="round_robin:turn=2").pe.tolist() == [0, 1, 2, 3, 4]
    for order, turn in (("cyclic", 1), ("plane=2", 2)):
        by_launcher = launcher_placement(hb.machine("node:4 core:4"), 16, order)
        graph = pattern("stencil:4x4")
        mine = map_tasks(graph, hb.machine("node:4 core:4"), mapper=f"round_robin:turn={turn}")
        assert np.array_equal(mine.pe, by_launcher.pe)


@pytest.mark.parametrize(("wrong", "words"), [
    ("curve:order=peano", "expected one of hilbert"),
    ("multi_jagged:cuts=three", "expected cuts=multi or two"),
    ("multi_jagged:rotations=0", "rotations >= 1"),
    ("round_robin:turn=0", "expected an integer >= 1"),
    ("multi_jagged:tasks=4x5", "expected a grid of 16 tasks"),
    ("curve:tasks=2x2", "expected a grid of 16 tasks"),
])
def test_options_that_make_no_sense(wrong, words):
    with pytest.raises(UnsupportedError, match=words):
        map_tasks(pattern("stencil:4x4"), hb.machine("torus:4x4"), mapper=wrong)


@pytest.mark.parametrize(("text", "words"), [
    ("0 0\n0 1\n", "coordinates of 2 tasks, expected 4"),
    ("0 0\n0 1\n1\n1 1\n", ":3: 1 numbers, expected 2"),
    ("0 0\n0 x\n1 0\n1 1\n", ":2: '0 x', expected the coordinates"),
    ("0 0\n0 nan\n1 0\n1 1\n", ":2: '0 nan', expected the coordinates"),
    ("-1e308 0\n1e308 0\n1 0\n1 1\n", "expected a range of finite size"),
    ("", "empty"),
])
def test_bad_files_of_coordinates(tmp_path, text, words):
    path = tmp_path / "points.txt"
    path.write_text(text)
    ring = hb.CommGraph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    with pytest.raises(FormatError, match=words):
        map_tasks(ring, hb.machine("torus:4"), mapper=f"multi_jagged:tasks={path}")


@pytest.mark.parametrize("grid", [[2, 3], "4", [4.0], [True, 4], [0], [2] * 20, [-4]])
def test_a_grid_that_a_pattern_claims_falsely_is_no_grid(grid):
    ring = hb.CommGraph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], meta={"grid": grid})
    with pytest.raises(UnsupportedError, match="needs coordinates of tasks"):
        map_tasks(ring, hb.machine("torus:4"), mapper="multi_jagged")


@pytest.mark.parametrize("name", GEOMETRIC)
def test_machines_without_coordinates_are_refused_with_what_works(name):
    graph = pattern("stencil:2x2")
    for spec in ("node:2 core:2", "fattree:2x2"):
        with pytest.raises(UnsupportedError, match="'multisection' and 'ug' work everywhere"):
            map_tasks(graph, hb.machine(spec), mapper=name)
