"""The compiled partitioner: caps kept, cuts counted truly, the same for any threads and company."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.engine_cases import csrs, cut_of, cut_once, edges, random_csr, sums
from helpers.graphs import grid_csr
from hopbytes.engine.control import RunControl
from hopbytes.engine.partition import partition_many
from hopbytes.engine.problem import PartitionSettings, SearchProblem, SearchSettings, VertexGroups
from hopbytes.kernels.records import Csr
from hopbytes.model.comm_graph import CommGraph

THOROUGH = PartitionSettings(
    repetitions=2, recombinations=2, initial_partitions=2, search=SearchSettings(flow_rounds=1)
)


def split(total, blocks):
    """Caps that add up to exactly `total`, as equal as possible."""
    return [total // blocks + (b < total % blocks) for b in range(blocks)]


@given(csrs(), st.integers(1, 9), st.integers(0, 2), st.integers(0, 99))
@settings(deadline=None)
def test_unit_loads_keep_their_caps_and_the_cut_is_true(csr, blocks, slack, seed):
    n = len(csr.indptr) - 1
    caps = [cap + slack for cap in split(n, blocks)]
    for effort in (PartitionSettings(), THOROUGH):
        child, cut = cut_once(csr, caps, effort, seed=seed)
        assert child.min() >= 0
        assert child.max() < blocks
        assert all(held <= cap for held, cap in zip(sums(child, None, blocks), caps, strict=True))
        assert cut == cut_of(csr, child)


@pytest.mark.parametrize("blocks", [2, 3, 7, 16, 17, 40])
@pytest.mark.parametrize("shape", ["random", "star", "path", "empty", "clique", "pairs"])
def test_exact_caps_on_larger_graphs(shape, blocks):
    rng = np.random.default_rng(blocks)
    n = 60 if shape == "clique" else 900
    pairs = {
        "random": rng.integers(0, n, (3 * n, 2)).tolist(),
        "star": [(0, v) for v in range(1, n)],
        "path": [(v, v + 1) for v in range(n - 1)],
        "empty": [],
        "clique": [(u, v) for u in range(n) for v in range(u)],
        "pairs": [(v, v + 1) for v in range(0, n - 1, 2)],
    }[shape]
    csr, caps = edges(n, pairs), split(n, blocks)
    child, cut = cut_once(csr, caps)
    assert sums(child, None, blocks) == caps
    assert cut == cut_of(csr, child)


@given(csrs(max_tasks=16), st.integers(2, 5), st.data())
@settings(deadline=None)
def test_any_loads_give_blocks_in_range_and_a_true_cut(csr, blocks, data):
    n = len(csr.indptr) - 1
    load = st.one_of(st.just(0), st.integers(0, 9), st.integers(0, 2**57))
    loads = np.array(data.draw(st.lists(load, min_size=n, max_size=n)), np.int64)
    caps = data.draw(st.lists(st.integers(0, 2**58), min_size=blocks, max_size=blocks))
    child, cut = cut_once(csr, caps, THOROUGH, loads=loads)
    assert child.min() >= 0
    assert child.max() < blocks
    assert cut == cut_of(csr, child)


def in_groups(csr, group, blocks, seeds, effort=THOROUGH, threads=1):
    count = len(blocks)
    start = np.concatenate([[0], np.cumsum(blocks)]).astype(np.int64)
    caps = np.concatenate([
        split(int(np.count_nonzero(group == g)) + blocks[g], blocks[g]) for g in range(count)
    ]).astype(np.int64)
    return partition_many(
        SearchProblem(csr), VertexGroups(group.astype(np.int32), start, caps, np.array(seeds, np.uint64)),
        effort, control=RunControl(threads=threads),
    )


@pytest.mark.parametrize("exact", [False, True])
def test_parts_on_idle_threads_change_neither_answer_nor_work(exact):
    """Initial partitions and halves of one graph: with a thread for each, and with one for all."""
    answers = []
    effort = PartitionSettings(repetitions=1, initial_partitions=8, coarse_recombinations=2)
    problem, room = SearchProblem(grid_csr(48)), 48 * 48 // 6 + (0 if exact else 120)
    groups = VertexGroups(
        np.zeros(48 * 48, np.int32), np.array([0, 6]), np.full(6, room), np.array([3], np.uint64)
    )
    for threads in (1, 2, 5):
        work = {}
        control = RunControl(
            threads=threads, spend=lambda arcs, _, into=work: into.update(arcs=arcs),
            overlap=lambda beside, into=work: into.update(beside=beside),
        )
        child, cut = partition_many(problem, groups, effort, control=control)
        answers.append((child.tolist(), cut.tolist(), work))
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][2]["beside"] > answers[0][2]["arcs"] * (0.2 if exact else 0.6)


def test_a_group_does_not_see_the_others():
    rng = np.random.default_rng(6)
    csr = random_csr(rng, 300)
    group = rng.integers(0, 4, 300)
    child, cut = in_groups(csr, group, [3, 1, 4, 2], [7, 8, 9, 10])
    for g, blocks in enumerate([3, 1, 4, 2]):
        members = np.flatnonzero(group == g)
        place = {int(v): i for i, v in enumerate(members)}
        inner = [(place[v], place[int(u)], w) for v in place for e in range(csr.indptr[v], csr.indptr[v + 1])
                 if (u := int(csr.targets[e])) > v and u in place for w in [int(csr.weights[e])]]
        own = edges(len(members), [(i, j) for i, j, _ in inner], [w for _, _, w in inner])
        alone, alone_cut = cut_once(own, split(len(members) + blocks, blocks), THOROUGH, seed=7 + g)
        assert np.array_equal(child[members], alone)
        assert cut[g] == alone_cut == cut_of(own, alone)


def test_empty_groups_and_more_blocks_than_vertices():
    csr = edges(3, [(0, 1), (1, 2)])
    child, cut = in_groups(csr, np.array([2, 2, 2]), [4, 1, 9], [0, 0, 0])
    assert cut.tolist()[:2] == [0, 0]
    assert child.min() >= 0
    assert child.max() < 9
    child, cut = partition_many(
        SearchProblem(Csr(np.zeros(1, np.int64), np.empty(0, np.int32), None)),
        VertexGroups.whole(0, np.array([0, 0, 0], np.int64), 0), THOROUGH,
    )
    assert len(child) == 0
    assert cut.tolist() == [0]


def test_candidates_never_lose():
    rng = np.random.default_rng(8)
    csr = random_csr(rng, 120)
    caps = split(120, 4)
    thorough = PartitionSettings(repetitions=4, recombinations=4, initial_partitions=8)
    good, best_cut = cut_once(csr, caps, thorough)
    poor = PartitionSettings(
        initial_partitions=1, region_growings=1, coarsest=2, coarse_recombinations=0,
        search=SearchSettings(rounds=0),
    )
    _, alone = cut_once(csr, caps, poor)
    assert alone > best_cut, "or this test shows nothing"
    over = np.zeros(120, np.int32)  # cut 0, but everything in one block
    absent = np.full(120, -1, np.int32)
    for combines in (0, 3):
        effort = PartitionSettings(
            initial_partitions=1, region_growings=1, coarsest=2, recombinations=combines,
            search=poor.search,
        )
        child, cut = cut_once(csr, caps, effort, candidates=np.array([absent, good, over], np.int32))
        assert cut <= best_cut
        assert cut == cut_of(csr, child)
        assert sums(child, None, 4) == caps


def test_more_blocks_than_a_product_of_labels_can_number():
    blocks = 50_000  # blocks**2 > 2**31: partitions are combined by pairs of labels
    csr = edges(300, [(v, v + 1) for v in range(299)])
    effort = PartitionSettings(
        repetitions=2, recombinations=1, initial_partitions=1, region_growings=1,
        coarse_recombinations=0,
    )
    child, cut = cut_once(csr, [1] * blocks, effort)
    assert len(set(child.tolist())) == 300
    assert cut == 299


def test_volumes_at_the_top_of_63_bits():
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    csr = edges(4, ring, [2**60, 5, 2**60, 7])
    child, cut = cut_once(csr, [2, 2])
    assert cut == 12 == cut_of(csr, child)
    one = edges(3, [(0, 1)], [2**62 - 1])
    child, cut = cut_once(one, [2, 1])
    assert cut == 0
    assert child[0] == child[1]


def test_sparse_components_shrink_and_hubs_stay_cheap():
    # Neither may cost more than a few passes; a quadratic step would run for hours.
    n = 100_000
    empty = edges(n, [])
    child, cut = cut_once(empty, split(n, 24))
    assert sums(child, None, 24) == split(n, 24)
    assert cut == 0
    hub = np.zeros(n - 1, np.int64)
    leaves = np.arange(1, n)
    graph = CommGraph.from_edges(np.r_[hub, leaves], np.r_[leaves, hub], n=n).symmetric_positive()
    child, cut = cut_once(graph, [n // 1000 + 1] * 1000, PartitionSettings(initial_partitions=1))
    assert max(np.bincount(child)) <= n // 1000 + 1
    assert cut == 2 * (n - np.bincount(child)[child[0]])  # each edge came in both directions


def test_a_deadline_in_the_past_still_gives_a_partition():
    rng = np.random.default_rng(9)
    csr = random_csr(rng, 3000)
    child, cut = cut_once(csr, [1000] * 4, THOROUGH, deadline=0.0)
    assert child.min() >= 0
    assert child.max() < 4
    assert cut == cut_of(csr, child)
    assert max(sums(child, None, 4)) <= 1000
