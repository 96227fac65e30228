"""The short forms of the scripts of papers: tables, bins, and metrics of partitions by definition."""

import numpy as np
import pytest

import hopbytes as hb

pytest.importorskip("hopbytes_laboratory", reason="no laboratory: pip install ./bench")

from bench.papers import paper003


@pytest.mark.parametrize("seed", range(5))
def test_metrics_of_a_partition_are_those_of_the_definition(seed):
    """A vertex is sent once to every other part that has a neighbour of it."""
    rng = np.random.default_rng(seed)
    graph = hb.read("stencil:6x5:points=9")
    part = rng.integers(0, 4, graph.n)
    sent = {
        (v, int(part[u]))
        for v in range(graph.n)
        for u in graph.targets[graph.indptr[v] : graph.indptr[v + 1]].tolist() if part[u] != part[v]
    }
    volume, partners = [0] * 4, [set() for _ in range(4)]
    for v, to in sent:
        volume[part[v]] += 1
        partners[part[v]].add(to)
    found = paper003.partition_metrics(graph, part, 4)
    assert found["TV"] == sum(volume) == len(sent)
    assert found["MSV"] == max(volume)
    assert found["TM"] == sum(map(len, partners))
    assert found["MSM"] == max(map(len, partners))
    assert found["cut"] == sum(part[graph.sources()] != part[graph.targets])
    assert found["balance"] == np.bincount(part, minlength=4).max() * 4 / graph.n
