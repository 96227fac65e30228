"""Small groups into blocks of exact sizes: always exact, near the optimum, the same for any threads."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.graphs import grid
from helpers.thorough import most
from hopbytes.engine.control import RunControl
from hopbytes.engine.partition import partition_many
from hopbytes.engine.problem import PartitionSettings, SearchProblem, VertexGroups
from hopbytes.model.comm_graph import CommGraph


def scattered(seed, n, edges, heaviest):
    rng = np.random.default_rng(seed)
    one, other = rng.integers(0, n, (2, edges))
    keep = one != other
    weights = rng.integers(1, heaviest, edges, endpoint=True)
    return CommGraph.from_edges(one[keep], other[keep], weights[keep], n=n)


def cut_up(graph, sizes, *, seed=0, group=None, threads=1, **how):
    csr = graph.symmetric()
    group = np.zeros(graph.n, np.int32) if group is None else group
    groups = int(group.max(initial=0)) + 1
    return partition_many(
        SearchProblem(csr),
        VertexGroups(
            group, np.arange(groups + 1, dtype=np.int64) * len(sizes),
            np.tile(np.array(sizes, np.int64), groups), np.arange(seed, seed + groups, dtype=np.uint64),
        ),
        PartitionSettings(**how), control=RunControl(threads=threads),
    )


def cut_of(graph, part):
    csr = graph.symmetric()
    weights = np.ones(len(csr.targets), np.int64) if csr.weights is None else csr.weights
    sources = np.repeat(np.arange(graph.n), np.diff(csr.indptr))
    return int(weights[part[sources] != part[csr.targets]].sum()) // 2


@given(
    seed=st.integers(0, 2**32), sizes=st.lists(st.integers(0, 40), min_size=2, max_size=16),
    density=st.integers(0, 6), heaviest=st.sampled_from([1, 9, 10**6, 10**12]), runs=st.integers(1, 2),
    combines=st.integers(0, 2), bisections=st.integers(1, 3), repeat=st.sampled_from([1, 1, 1, 7]),
)
@settings(deadline=None, max_examples=most(80, 30))
def test_sizes_are_exact_on_any_graph(seed, sizes, density, heaviest, runs, combines, bisections, repeat):
    sizes = sizes * repeat
    n = max(2, sum(sizes))
    sizes = sizes if sum(sizes) == n else [*sizes[:-1], sizes[-1] + n - sum(sizes)]
    graph = scattered(seed, n, density * n, heaviest)
    effort = {"repetitions": runs, "recombinations": combines, "bisection_repetitions": bisections}
    part, cut = cut_up(graph, sizes, seed=seed % 1000, **effort)
    assert np.bincount(part, minlength=len(sizes)).tolist() == sizes
    assert cut[0] == cut_of(graph, part)


def test_small_bisections_are_nearly_always_optimal_with_some_tries():
    optimal = 0
    for seed in range(40):
        graph = scattered(seed, 8, 16, (1, 20)[seed % 2])
        least = min(
            cut_of(graph, np.isin(np.arange(8), half).astype(np.int32))
            for half in itertools.combinations(range(8), 4)
        )
        optimal += cut_up(graph, [4, 4], initial_partitions=40)[1][0] == least
    assert optimal >= 36


def test_single_vertices_are_dealt_out_without_a_search():
    part, cut = cut_up(grid(4, 5), [1] * 7 + [0] + [1] * 13)
    assert part.tolist() == [b for b in range(21) if b != 7]
    assert cut[0] == 4 * 4 + 5 * 3


def test_many_groups_at_once_are_what_each_is_alone():
    group = np.repeat(np.arange(6, dtype=np.int32), 150)
    graph = grid(30, 30)
    results = [cut_up(graph, [50, 50, 50], group=group, threads=t, recombinations=1)[0] for t in (1, 2, 5)]
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])
    for g in range(6):
        rows = cut_up(grid(5, 30), [50, 50, 50], seed=g, recombinations=1)[0]
        assert np.array_equal(results[0][group == g], rows)


def test_a_stopped_partition_is_balanced_within_a_few_scans():
    """Blocks that an early stop leaves overloaded by thousands took a scan of the graph per vertex."""
    graph, scanned = grid(150, 150), []
    csr = graph.symmetric()
    stopped = RunControl(cancel=np.array([1, 0], np.int32), spend=lambda edges, whole: scanned.append(edges))
    sizes = np.full(16, 22500 // 16, np.int64)
    sizes[:4] += 1
    part, _ = partition_many(
        SearchProblem(csr), VertexGroups.whole(graph.n, sizes, seed=1), PartitionSettings(), control=stopped
    )
    assert np.bincount(part, minlength=16).tolist() == sizes.tolist()
    assert sum(scanned) < 200 * len(csr.targets)
