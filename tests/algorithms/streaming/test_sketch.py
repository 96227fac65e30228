"""A sketch keeps all weight between its clusters through contractions, and the bounds of its table."""

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.algorithms import streaming
from hopbytes.kernels.streaming import Block
from hopbytes.model.capacities import group_sums


@pytest.mark.parametrize("buffer", [48, 192, 10_000])
@pytest.mark.parametrize("seed", range(4))
def test_weights_between_clusters_are_those_of_the_graph(monkeypatch, buffer, seed):
    monkeypatch.setattr(streaming, "SMALLEST_TABLE", 64)
    rng = np.random.default_rng(seed)
    n = 300
    a = rng.integers(0, n - 12, 1200)
    b = a + rng.integers(1, 12, 1200)
    w = rng.integers(1, 9, 1200)
    graph = hb.CommGraph.from_edges(
        np.concatenate([a, b]), np.concatenate([b, a]), np.concatenate([w, w]), n=n, undirected=True
    )
    loads = rng.integers(0, 5, n) if seed % 2 else None
    found = streaming.Sketch(n, loads, buffer, heaviest=8, limit=64)
    for first in range(0, n, 37):
        last = min(first + 37, n)
        begin, end = graph.indptr[first], graph.indptr[last]
        found.add(Block(
            first, graph.indptr[first : last + 1] - begin, graph.targets[begin:end], graph.volumes[begin:end],
            None if loads is None else loads[first:last],
        ))
    clusters, number = found.graph()
    assert np.array_equal(np.unique(number), np.arange(clusters.n))
    assert np.array_equal(group_sums(number, loads, clusters.n), clusters.task_loads())
    assert clusters.m // 2 == found.pairs
    apart = number[graph.sources()] != number[graph.targets]
    if not found.dropped:
        assert clusters.total_volume == int(graph.volumes[apart].sum())
    else:
        assert clusters.total_volume < int(graph.volumes[apart].sum())
    assert (found.contractions > 0) == (buffer < 10_000)
    if buffer == 10_000:
        several = np.bincount(number) > 1
        assert group_sums(number, loads, clusters.n)[several].max() <= 8
