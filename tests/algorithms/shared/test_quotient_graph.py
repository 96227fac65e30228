"""Graphs between the blocks of a partition."""

import numpy as np

import hopbytes as hb
from hopbytes.algorithms.shared.quotient_graph import quotient_graph


def test_quotient_keeps_what_crosses_blocks():
    graph = hb.CommGraph.from_edges([0, 1, 2, 2], [1, 2, 0, 3], [5, 7, 11, 13], n=4)
    model = quotient_graph(graph, np.array([0, 0, 1, 1], np.int32), 2)
    assert (model.indptr.tolist(), model.targets.tolist()) == ([0, 1, 2], [1, 0])
    assert model.volumes.tolist() == [7, 11]
