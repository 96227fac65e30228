"""Tables and graphs of other libraries as patterns; libraries that are not installed have stand-ins."""

import numpy as np
import pytest
import scipy.sparse

import hopbytes as hb
from helpers.errors import mentions

MATRIX = [[0, 3, 0], [4, 0, 5], [0, 0, 0]]
ARCS = {"src": [0, 1, 1], "dst": [1, 0, 2], "bytes": [3, 4, 5]}


class Igraph:
    """The methods of a graph of igraph that are used."""

    def __init__(self, directed, weights=None):
        self.directed, self.es = directed, self
        self.weights = weights

    def vcount(self):
        return 4

    def get_edgelist(self):
        return [(0, 1), (1, 2)]

    def is_directed(self):
        return self.directed

    def attributes(self):
        return [] if self.weights is None else ["weight"]

    def __getitem__(self, name):
        assert name == "weight"
        return self.weights


class ArrowTable:
    """A table of pyarrow: names beside columns, which become arrays."""

    column_names = tuple(ARCS)
    columns = tuple(np.array(column) for column in ARCS.values())

    def __getitem__(self, name):
        return np.array(ARCS[name])


class Array:
    """What only has ``__array__``, such as a DataArray or a tensor."""

    def __array__(self, dtype=None, copy=None):
        return np.array(MATRIX)


def dense(graph):
    return graph.to_scipy().toarray().tolist()


def test_square_tables_of_pandas():
    pandas = pytest.importorskip("pandas")
    assert dense(hb.CommGraph.of(pandas.DataFrame(MATRIX))) == MATRIX
    named = pandas.DataFrame(MATRIX, index=list("abc"), columns=list("abc"))
    assert dense(hb.CommGraph.from_frame(named)) == MATRIX
    assert dense(hb.CommGraph.of(named[["c", "a", "b"]])) == MATRIX  # columns follow the rows
    from_csv = pandas.DataFrame(MATRIX, columns=list("012"))  # rows without labels, columns of a file
    assert dense(hb.CommGraph.of(from_csv)) == MATRIX
    with pytest.raises(hb.FormatError, match=mentions("'a'", "'x'")):
        hb.CommGraph.of(pandas.DataFrame(MATRIX, index=list("abc"), columns=list("xyz")))
    with pytest.raises(hb.FormatError, match="3 rows and columns a, b"):
        hb.CommGraph.of(named[["a", "b"]])


def test_edge_tables_of_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ARCS)
    assert dense(hb.CommGraph.of(frame)) == MATRIX
    other = frame.rename(columns={"src": "From", "dst": "To", "bytes": "weight"})
    assert dense(hb.CommGraph.of(other)) == MATRIX
    odd = frame.rename(columns={"src": "a", "dst": "b", "bytes": "c"})
    assert dense(hb.CommGraph.from_frame(odd, "a", "b", "c", n=3)) == MATRIX
    counted = hb.CommGraph.of(frame.assign(count=[1, 2, 3], host="x"))
    assert counted.messages.tolist() == [1, 2, 3]
    assert "host" in counted.meta["notices"][0]
    assert "task 0" in hb.CommGraph.of(frame.assign(src=frame.src + 1, dst=frame.dst + 1)).meta["notices"][0]
    mapping = hb.map_tasks(frame, "node:2@10 core:2@1")
    assert mapping.n == 3
    for wrong, facts in (
        (frame.rename(columns={"bytes": "b"}), ("columns b", "volume")),
        (frame.assign(src=["a", "b", "c"]), ("source", "integers")),
    ):
        with pytest.raises(hb.FormatError, match=mentions(*facts)):
            hb.CommGraph.of(wrong)
    with pytest.raises(hb.FormatError, match=mentions("'x'", "src, dst, bytes")):
        hb.CommGraph.from_frame(frame, "x")
    with pytest.raises(hb.FormatError, match="named columns"):
        hb.CommGraph.from_frame(3)


def test_stand_ins():
    assert dense(hb.CommGraph.of(ArrowTable())) == MATRIX
    assert dense(hb.CommGraph.of(Array())) == MATRIX
    graph = hb.CommGraph.of(Igraph(False, [7, 8]))
    assert (graph.n, graph.undirected, graph.arc_volumes().tolist()) == (4, True, [7, 7, 8, 8])
    assert hb.CommGraph.of(Igraph(True)).m == 2


def test_polars():
    polars = pytest.importorskip("polars")
    assert dense(hb.CommGraph.of(polars.DataFrame(ARCS))) == MATRIX
    assert dense(hb.CommGraph.of(polars.DataFrame(MATRIX, schema=["0", "1", "2"], orient="row"))) == MATRIX


def test_pyarrow():
    pyarrow = pytest.importorskip("pyarrow")
    assert dense(hb.CommGraph.of(pyarrow.table(ARCS))) == MATRIX


def test_xarray():
    xarray = pytest.importorskip("xarray")
    assert dense(hb.CommGraph.of(xarray.DataArray(MATRIX, dims=("from", "to")))) == MATRIX
    columns = {name: ("arc", column) for name, column in ARCS.items()}
    assert dense(hb.CommGraph.of(xarray.Dataset(columns))) == MATRIX


def test_igraph():
    igraph = pytest.importorskip("igraph")
    graph = hb.CommGraph.of(igraph.Graph.Ring(5))
    assert (graph.n, graph.m, graph.undirected) == (5, 10, True)
    arrows = igraph.Graph([(0, 1), (1, 2)], directed=True, edge_attrs={"weight": [2, 3]})
    assert dense(hb.CommGraph.of(arrows)) == [[0, 2, 0], [0, 0, 3], [0, 0, 0]]


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
