"""Graphs of other libraries become communication graphs, and back."""

import numpy as np
import pytest
import scipy.sparse

import hopbytes as hb


def test_undirected_edges_count_twice():
    directed = hb.CommGraph.from_edges([0, 1, 2], [1, 2, 2], [5, 6, 7])
    both = hb.CommGraph.from_edges([0, 1, 2], [1, 2, 2], [5, 6, 7], undirected=True)
    assert (directed.m, both.m) == (3, 5)  # the arc of a task to itself stands once
    where = hb.allocate("core:3@2")
    costs = [hb.evaluate(g, hb.Mapping([0, 1, 2], where)).comm_cost for g in (directed, both)]
    assert costs == [22, 44]


def test_metis_arrays():
    path = hb.CommGraph.from_metis([0, 1, 3, 4], [1, 0, 2, 1], [7, 7, 2, 2], vwgt=[3, 1, 1])
    assert path.undirected
    assert path.to_scipy().toarray().tolist() == [[0, 7, 0], [7, 0, 2], [0, 2, 0]]
    assert path.loads is not None
    assert path.loads.tolist() == [3, 1, 1]
    with pytest.raises(hb.FormatError, match="other direction"):
        hb.CommGraph.from_metis([0, 1, 1], [1])
    with pytest.raises(hb.FormatError, match="xadj"):
        hb.CommGraph.from_metis([0, 2, 1], [1])


def test_scipy_and_back():
    matrix = scipy.sparse.csr_array(np.array([[0, 4, 0], [1, 0, 0], [0, 0, 9]]))
    graph = hb.CommGraph.of(matrix)
    assert np.array_equal(graph.to_scipy().toarray(), matrix.toarray())
    graph.to_scipy().data[:] = 0  # a copy
    assert graph.total_volume == 14


def test_networkx_and_back():
    networkx = pytest.importorskip("networkx")
    grid = networkx.grid_2d_graph(3, 3)
    graph = hb.CommGraph.of(grid)
    assert (graph.n, graph.m, graph.undirected) == (9, 2 * grid.number_of_edges(), True)
    numbered = networkx.convert_node_labels_to_integers(grid)
    assert {frozenset(edge) for edge in graph.to_networkx().edges} == {frozenset(e) for e in numbered.edges}
    arrows = networkx.DiGraph()
    arrows.add_edge("a", "b", weight=3)
    arrows.add_edge("b", "a")
    assert hb.CommGraph.from_networkx(arrows).to_scipy().toarray().tolist() == [[0, 3], [1, 0]]
    assert hb.CommGraph.from_networkx(arrows, weight=None).to_scipy().toarray().tolist() == [[0, 1], [1, 0]]
    many = networkx.MultiGraph([(0, 1), (0, 1)])
    assert hb.CommGraph.of(many).to_scipy().toarray().tolist() == [[0, 2], [2, 0]]


@pytest.mark.parametrize("thing", [3, None, hb])
def test_what_is_no_graph_is_named(thing):
    with pytest.raises(TypeError, match="expected a CommGraph") as caught:
        hb.CommGraph.of(thing)
    assert isinstance(caught.value, hb.UnsupportedError)
