"""map_stream(): bounds kept, every vertex placed once, J counted right, the same answer again."""

import os

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.algorithms import streaming
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats import streaming as streams
from hopbytes.model.capacities import exact_imbalance, group_sums, load_bound

MACHINE = "island:2@100 node:4@10 core:3@1"


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(streams, "BLOCK_ARCS", 64)
    monkeypatch.setattr(streams, "BLOCK_ROWS", 32)


def written(folder, graph, name="g.graph"):
    path = folder / name
    hb.write(graph, path)
    return path


def grid(side, seed=None, loads=None):
    """A square grid; with a seed its vertices are in random order."""
    number = np.arange(side * side).reshape(side, side)
    a = np.concatenate([number[1:].ravel(), number[:, 1:].ravel()])
    b = np.concatenate([number[:-1].ravel(), number[:, :-1].ravel()])
    if seed is not None:
        order = np.random.default_rng(seed).permutation(side * side)
        a, b = order[a], order[b]
    ones = np.ones(2 * len(a), np.int64)
    return hb.CommGraph.from_edges(
        np.concatenate([a, b]), np.concatenate([b, a]), ones, n=side * side, undirected=True, loads=loads
    )


def check(graph, mapping, imbalance=0.03):
    """Every vertex has a PE, bounds hold as integers, and J is that of the definition."""
    where = mapping.where
    assert mapping.n == graph.n
    assert mapping.info["comm_cost"] == hb.evaluate(graph, mapping).comm_cost
    bound = load_bound(graph.loads, graph.n, np.ones(where.k, np.int64), exact_imbalance(imbalance))
    kept = group_sums(mapping.pe, bound.loads, where.k)
    if mapping.info["balance"] == "met":
        assert np.all(kept <= bound.caps)
    if graph.n >= where.k:
        assert mapping.tasks_per_pe().min() >= 1
    return kept, bound.caps


@pytest.mark.parametrize("buffer", [0, 50, 300, 10**6])
@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("seed", [None, 1])
def test_bounds_hold_and_the_cost_is_exact(tmp_path, buffer, passes, seed):
    graph = grid(24, seed)
    path = written(tmp_path, graph)
    mapping = hb.map_stream(path, MACHINE, buffer=buffer, passes=passes)
    check(graph, mapping)
    assert mapping.info["balance"] == "met"
    assert mapping.info["work"]["passes"] == passes + 1
    again = hb.map_stream(path, MACHINE, buffer=buffer, passes=passes, threads=2)
    assert np.array_equal(mapping.pe, again.pe)
    if buffer == 50:
        assert mapping.info["work"]["contractions"] > 0


@pytest.mark.parametrize("name", ["g.parhip", "g.edges", "g.graph"])
def test_the_format_does_not_change_the_answer(tmp_path, name):
    graph = grid(20, 3)
    found = hb.map_stream(written(tmp_path, graph, name), MACHINE)
    plain = hb.map_stream(written(tmp_path, graph), MACHINE)
    assert np.array_equal(found.pe, plain.pe)
    assert found.comm_cost == plain.comm_cost == hb.evaluate(graph, plain).comm_cost


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("buffer", [0, 200])
def test_loads_are_balanced(tmp_path, seed, buffer):
    rng = np.random.default_rng(seed)
    loads = rng.integers(0 if seed % 2 else 1, 6, 400)
    if seed > 3:
        loads[7] = 10_000
    graph = grid(20, seed, loads)
    path = written(tmp_path, graph)
    mapping = hb.map_stream(path, "node:2@10 core:4@1", buffer=buffer, strict_balance=True)
    check(graph, mapping)
    assert mapping.info["balance"] == "met"
    if seed % 2:
        empty_handed = np.bincount(mapping.pe[graph.loads == 0], minlength=8)
        assert empty_handed.max() <= np.ceil(1.03 * np.count_nonzero(graph.loads == 0) / 8)


@pytest.mark.parametrize("n", [1, 2, 3, 23, 24, 25, 30])
@pytest.mark.parametrize("buffer", [0, 100])
def test_few_vertices_use_different_pes(tmp_path, n, buffer):
    a = np.arange(n - 1)
    graph = hb.CommGraph.from_edges(
        np.concatenate([a, a + 1]), np.concatenate([a + 1, a]), n=n, undirected=True
    )
    mapping = hb.map_stream(written(tmp_path, graph, "g.parhip"), MACHINE, buffer=buffer)
    check(graph, mapping)
    assert mapping.tasks_per_pe().max() <= -(-n // 24)


def test_dropped_pairs_are_counted_and_change_no_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "SMALLEST_TABLE", 64)
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 400, 4000), rng.integers(0, 400, 4000)
    keep = a != b
    graph = hb.CommGraph.from_edges(
        np.concatenate([a[keep], b[keep]]), np.concatenate([b[keep], a[keep]]), n=400, undirected=True
    )
    mapping = hb.map_stream(written(tmp_path, graph), "node:2@10 core:4@1", buffer=48)
    check(graph, mapping)
    assert mapping.info["work"]["dropped_pairs"] > 0


@pytest.mark.parametrize("machine", ["torus:4x3@5", "fattree:4x2", "core:8@1", "node:2@10 core:[1,5]@1"])
def test_every_kind_of_distance_is_counted_right(tmp_path, machine):
    graph = grid(16, 2)
    mapping = hb.map_stream(written(tmp_path, graph), machine)
    check(graph, mapping)


def test_further_passes_do_not_raise_the_cost(tmp_path):
    path = written(tmp_path, grid(30, 5))
    costs = [hb.map_stream(path, MACHINE, passes=passes).comm_cost for passes in (1, 2, 4)]
    assert costs[0] > costs[1] >= costs[2]


def test_an_edge_with_one_direction_is_an_error(tmp_path):
    path = tmp_path / "bad.graph"
    path.write_text("4 2\n2\n3\n4\n1\n")
    with pytest.raises(FormatError) as error:
        hb.map_stream(path, "core:2@1")
    assert str(error.value).startswith(f"{path}: ")


@pytest.mark.parametrize("when", [(1, 900), (2, 100), (3, 32)])
def test_a_file_that_changes_between_passes_is_an_error(tmp_path, when):
    graph = grid(30)
    path = written(tmp_path, graph)
    other = written(tmp_path, grid(30, 1), "other.graph")

    def change(number, done, total):
        if (number, done) >= when and other.exists():
            os.replace(other, path)

    with pytest.raises(FormatError, match="changed"):
        hb.map_stream(path, MACHINE, progress=change)


def test_options_out_of_range_are_refused(tmp_path):
    path = written(tmp_path, grid(4))
    for options in ({"passes": 0}, {"buffer": -1}, {"imbalance": 3}, {"format": "csv"}):
        with pytest.raises(UnsupportedError):
            hb.map_stream(path, "core:2@1", **options)


def test_loads_that_cannot_be_balanced_are_relaxed_also_beside_a_heavy_task(tmp_path):
    """Loads of 5, 5, 5, 2 on two PEs: 9 each was asked for; a task of 100 has a third PE."""
    cases = ([5, 5, 5, 2], 2, False), ([100, 5, 5, 5, 2], 3, True), ([15, 15, 15, 6], 2, False)
    for loads, k, heavy in cases:
        ends, n = np.arange(len(loads) - 1), len(loads)
        graph = hb.CommGraph.from_edges(
            np.append(ends, ends + 1), np.append(ends + 1, ends), n=n, loads=loads, undirected=True,
        )
        path = written(tmp_path, graph)
        info = hb.map_stream(path, f"core:{k}@1", imbalance=0).info
        unit = 3 if loads[0] == 15 else 1
        assert (info["balance"], info["bound_asked"], info["bound_kept"]) == ("relaxed", 9 * unit, 10 * unit)
        total = sum(min(load, 9 * unit) for load in loads)  # the heavy task counts as much as a PE holds
        assert info["imbalance"] == pytest.approx(10 * unit * k / (total if heavy else sum(loads)) - 1)
        assert any("1 task is heavier" in notice for notice in info["notices"]) == heavy
        with pytest.raises(hb.InfeasibleError, match=f"within {9 * unit} per PE: PE . holds {10 * unit}"):
            hb.map_stream(path, f"core:{k}@1", imbalance=0, strict_balance=True)


def test_what_a_stream_reports_is_counted_from_the_result(tmp_path):
    path = written(tmp_path, grid(25, 1))
    for passes, buffer in ((1, 0), (3, 0), (2, 200)):
        mapping = hb.map_stream(path, MACHINE, passes=passes, buffer=buffer, seed=4, threads=2)
        info, held = mapping.info, mapping.tasks_per_pe()
        assert (info["bound_asked"], info["bound_kept"]) == (27, held.max())
        assert info["imbalance"] == pytest.approx(held.max() * 24 / 625 - 1)
        assert (info["preset"], info["seed"], info["threads"]) == ("fast" if buffer else None, 4, 2)
        assert ("clusters" in info["work"]) == (buffer > 0)
        assert (info["work"]["moves"] > 0) == (passes > 1)
        assert info["objective_value"] == info["comm_cost"]
        assert set(info["seconds"]) == {"map", "verify"}
        assert min(info["seconds"].values()) > 0


@pytest.mark.parametrize("buffer", [0, 300])
def test_a_factor_of_all_loads_changes_no_bound(tmp_path, buffer):
    """25 vertices more than fit evenly: loads of 7 each have the bound of loads of 1 each, 7 times."""
    found = []
    for load in (1, 7):
        path = written(tmp_path, grid(25, loads=np.full(625, load)), f"{load}.parhip")
        mapping = hb.map_stream(path, MACHINE, buffer=buffer, imbalance=0)
        asked, kept = mapping.info["bound_asked"], mapping.info["bound_kept"]
        found.append((mapping.pe.tolist(), mapping.info["balance"], asked // load, kept // load))
    assert found[0] == found[1]
    assert found[0][1:] == ("met", 27, 27)


def test_single_arcs_count_once(tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 300, 900), rng.integers(0, 300, 900)
    graph = hb.CommGraph.from_edges(a, b, rng.integers(1, 50, 900), n=300)
    mapping = hb.map_stream(written(tmp_path, graph, "g.edges"), "node:3@10 core:4@1")
    check(graph, mapping)


def test_a_hub_and_vertices_without_neighbours(tmp_path):
    n = 600
    a = np.arange(1, 500)
    graph = hb.CommGraph.from_edges(
        np.concatenate([a, 0 * a]), np.concatenate([0 * a, a]), n=n, undirected=True
    )
    path = written(tmp_path, graph, "g.parhip")
    for buffer in (0, 10, 10**5):
        mapping = hb.map_stream(path, "node:2@10 core:3@1", buffer=buffer)
        check(graph, mapping)
        assert mapping.info["balance"] == "met"
