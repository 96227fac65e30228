"""The communication matrix in machine order, against entry by entry sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hopbytes as hb
from hopbytes.show.traffic import CommMatrix, comm_matrix, common_extremes


def random_graph(n: int, arcs: int, seed: int) -> hb.CommGraph:
    numbers = np.random.default_rng(seed)
    sources, targets = numbers.integers(0, n, (2, arcs))
    return hb.CommGraph.from_edges(sources, targets, numbers.integers(1, 2**40, arcs), n=n)


def entry_by_entry(graph: hb.CommGraph, order: list[int], each: int) -> list[list[int]]:
    """Sum every arc into its cell with Python's integers."""
    rows = -(-graph.n // each)
    cells = [[0] * rows for _ in range(rows)]
    position = {task: place for place, task in enumerate(order)}
    for source in range(graph.n):
        for arc in range(int(graph.indptr[source]), int(graph.indptr[source + 1])):
            target = int(graph.targets[arc])
            if target != source:
                row, column = position[source] // each, position[target] // each
                cells[row][column] += int(graph.arc_volumes()[arc])
    return cells


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 30), st.integers(1, 12), st.integers(0, 100))
def test_cells_are_sums_of_the_arcs_of_their_tasks(n, most_rows, seed):
    graph = random_graph(n, 3 * n, seed)
    where = hb.allocate("node:4@10 core:8@1")
    pe = np.random.default_rng(seed).permutation(where.k)[:n]
    found = comm_matrix(graph, hb.Mapping(pe, where), most_rows=most_rows)
    order = sorted(range(n), key=lambda task: int(pe[task]))
    assert found.order.tolist() == order
    assert found.rows <= most_rows
    assert found.cells.tolist() == entry_by_entry(graph, order, found.tasks_per_cell)


def test_borders_and_names_of_nodes():
    graph = random_graph(5, 9, 1)
    found = comm_matrix(graph, hb.Mapping([0, 5, 4, 1, 9], hb.allocate("node:4 core:3", hosts="n[1-4]")))
    assert found.order.tolist() == [0, 3, 2, 1, 4]
    assert found.borders.tolist() == [0, 2, 4, 5]
    assert found.nodes == ("n1", "n2", "n4")


def test_partition_keeps_tasks_of_a_pe_in_order():
    graph = random_graph(6, 9, 1)
    found = comm_matrix(graph, hb.Mapping([1, 0, 1, 0, 1, 0], hb.allocate("core:2")))
    assert found.order.tolist() == [1, 3, 5, 0, 2, 4]
    assert (found.borders.tolist(), found.nodes) == ([0, 6], ("node 0",))


def test_without_a_mapping_tasks_keep_their_order():
    graph = random_graph(7, 20, 3)
    found = comm_matrix(graph)
    assert found.order.tolist() == list(range(7))
    assert found.cells.tolist() == entry_by_entry(graph, list(range(7)), 1)
    assert found.nodes == ()


def test_rows_end_at_nodes_of_48_tasks():
    graph = hb.read("stencil:96x128")
    found = comm_matrix(graph, hb.Mapping(np.arange(96 * 128), hb.allocate("node:256 core:48")))
    assert found.tasks_per_cell == 24
    odd = comm_matrix(graph, hb.Mapping(np.arange(96 * 128), hb.allocate("node:7 core:2000")))
    assert odd.tasks_per_cell == 24  # unequal nodes: the least number


@pytest.mark.parametrize(("n", "rows"), [(1024, 1024), (1025, 342)])
def test_matrices_of_1024_tasks_are_complete(n, rows):
    assert comm_matrix(random_graph(n, 2000, 1)).rows == rows


def matrix_of(cells) -> CommMatrix:
    table = np.array(cells, np.int64)
    n = len(table)
    return CommMatrix(table, n, 1, np.arange(n, dtype=np.int32), np.array([0, n], np.int64))


def test_shades_are_logarithmic():
    found = matrix_of([[0, 1], [1000, 10**6]])
    assert common_extremes([found]) == (1, 10**6)
    assert found.shades(1, 10**6).tolist() == [[0, 1], [128, 255]]


def test_shades_of_two_matrices_share_a_scale():
    small, large = matrix_of([[0, 10], [10, 0]]), matrix_of([[0, 1000], [10, 0]])
    assert common_extremes([small, large]) == (10, 1000)
    assert small.shades(10, 1000).tolist() == [[0, 1], [1, 0]]
    assert small.shades(10, 10).tolist() == [[0, 255], [255, 0]]  # a single value is the darkest


def test_matrices_without_traffic():
    found = matrix_of([[0, 0], [0, 0]])
    assert common_extremes([found]) == (0, 0)
    assert not found.shades(0, 0).any()


def test_a_mapping_of_another_size_is_refused():
    where = hb.allocate("core:4")
    with pytest.raises(hb.FormatError, match=r"3 tasks, expected the 5 of"):
        comm_matrix(random_graph(5, 9, 1), hb.Mapping([0, 1, 2], where))
