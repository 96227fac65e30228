"""Mappers by geometry: known answers, promises on every grid, what they refuse."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.strategies import random_graph
from hopbytes.algorithms.base import mappers
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.patterns.base import pattern
from hopbytes.solve.map_tasks import map_tasks

GEOMETRIC = [name for name, kind in mappers.items() if kind.needs_coordinates]
GRIDS = (
    "torus:3x4@5:nodes=2 / package:2@2 core:2@1", "mesh:5x2@3 / core:[2,1,3,1,1,2,1,1,1,1]@2", "torus:7",
    "hyperx:3x4:nodes=2 / core:2@1", "torus:2x3x2x2 / core:2@1",
)


@pytest.mark.parametrize("name", GEOMETRIC)
@pytest.mark.parametrize("spec", GRIDS)
def test_all_tasks_are_placed_within_bounds_whole_and_sparse(spec, name, tmp_path):
    whole = hb.allocate(spec)
    rng = np.random.default_rng(3)
    for where in (whole, whole.select(np.sort(rng.choice(whole.k, whole.k // 2, replace=False)))):
        for n in (where.k, 3 * where.k, where.k - 1):
            points = tmp_path / f"{n}.txt"
            points.write_text("\n".join(" ".join(f"{x:.3f}" for x in rng.random(3)) for _ in range(n)))
            graph = random_graph(rng, n=n)
            made = map_tasks(graph, where, f"{name}:tasks={points}", partition=n > where.k, seed=1)
            again = map_tasks(
                graph, where, f"{name}:tasks={points}", partition=n > where.k, seed=1, threads=2
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
        where = hb.allocate(machine, hosts=hosts)
        graph = pattern(f"stencil:{shape}:bytes=1")
        for cuts in ("multi", "two"):
            mapping = map_tasks(graph, where, f"multi_jagged:cuts={cuts}")
            assert hb.evaluate(graph, mapping, random_seeds=0).to_dict()["hop_bytes"] == graph.m


def test_the_curve_goes_on_over_holes_and_inside_nodes():
    where = hb.allocate("mesh:2x2 / core:2", hosts="nodes:0,1,3")
    graph = pattern("stencil:6")
    # Hilbert's curve meets the nodes in the order 0 (0,0), 1 (0,1), 3 (1,1): cores 0-1, 2-3, 4-5 of the job.
    assert map_tasks(graph, where, "curve").pe.tolist() == [0, 1, 2, 3, 4, 5]
    whole = hb.allocate("mesh:2x2")
    assert map_tasks(pattern("stencil:4"), whole, "curve").pe.tolist() == [0, 1, 3, 2]
    # A grid of tasks follows the same curve, so every task is where it belongs.
    graph = pattern("stencil:2x2")
    assert map_tasks(graph, whole, "curve").pe.tolist() == [0, 1, 2, 3]
    assert map_tasks(graph, whole, "curve:tasks=own").pe.tolist() == [0, 1, 3, 2]


@pytest.mark.parametrize(("wrong", "words"), [
    ("curve:order=peano", "expected one of hilbert"),
    ("multi_jagged:cuts=three", "cuts=three multi two"),
    ("multi_jagged:rotations=0", "rotations=0 expected 1"),
    ("round_robin:turn=0", "turn=0 expected 1"),
    ("multi_jagged:tasks=4x5", "expected a grid of 16 tasks"),
    ("curve:tasks=2x2", "expected a grid of 16 tasks"),
])
def test_options_that_make_no_sense(wrong, words):
    with pytest.raises(UnsupportedError, match=mentions(*words.split())):
        map_tasks(pattern("stencil:4x4"), hb.allocate("torus:4x4"), wrong)


@pytest.mark.parametrize(("text", "words"), [
    ("0 0\n0 1\n", "2 4"),
    ("0 0\n0 1\n1\n1 1\n", ":3 1 2"),
    ("0 0\n0 x\n1 0\n1 1\n", ":2 0"),
    ("0 0\n0 nan\n1 0\n1 1\n", ":2 0"),
    ("-1e308 0\n1e308 0\n1 0\n1 1\n", "expected a finite range"),
    ("", "empty"),
])
def test_bad_files_of_coordinates(tmp_path, text, words):
    path = tmp_path / "points.txt"
    path.write_text(text)
    ring = hb.CommGraph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    with pytest.raises(FormatError, match=mentions(*words.split())):
        map_tasks(ring, hb.allocate("torus:4"), f"multi_jagged:tasks={path}")


@pytest.mark.parametrize("grid", [[2, 3], "4", [4.0], [True, 4], [0], [2] * 20, [-4]])
def test_a_grid_that_a_pattern_claims_falsely_is_no_grid(grid):
    ring = hb.CommGraph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], meta={"grid": grid})
    with pytest.raises(UnsupportedError, match="needs coordinates of tasks"):
        map_tasks(ring, hb.allocate("torus:4"), "multi_jagged")


@pytest.mark.parametrize("name", GEOMETRIC)
def test_machines_without_coordinates_are_refused_with_what_works(name):
    graph = pattern("stencil:2x2")
    for spec in ("node:2 core:2", "fattree:2x2"):
        with pytest.raises(UnsupportedError, match=mentions("'multisection'", "'ug'")):
            map_tasks(graph, hb.allocate(spec), name)
