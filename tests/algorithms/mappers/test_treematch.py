"""TreeMatch and MPIPP as mappers: the paper's example, hidden hierarchies, which slots, uneven trees."""

import math
from itertools import combinations, product

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.algorithms.multisection.subtree_sizes import in_whole_tree, shapes
from hopbytes.algorithms.papers.locked_passes import LockedPasses
from hopbytes.algorithms.shared.quotient_graph import with_isolated
from hopbytes.errors import InfeasibleError, ScaleError, UnsupportedError
from hopbytes.kernels.best_swap import best_swap
from hopbytes.kernels.grouping import group_objects

FIGURE_1 = [
    [0, 1000, 10, 1, 100, 1, 1, 1],
    [1000, 0, 1000, 1, 1, 100, 1, 1],
    [10, 1000, 0, 1000, 1, 1, 100, 1],
    [1, 1, 1000, 0, 1, 1, 1, 100],
    [100, 1, 1, 1, 0, 1000, 10, 1],
    [1, 100, 1, 1, 1000, 0, 1000, 1],
    [1, 1, 100, 1, 10, 1000, 0, 1000],
    [1, 1, 1, 100, 1, 1, 1000, 0],
]
TREE = "socket:2@3 cache:3@2 core:2@1"


def uneven(mapping):
    return "uneven_tree" in mapping.info["work"]


def test_example_of_the_paper():
    """8 tasks on 12 leaves: two virtual objects keep a third of each half free. J = 18568."""
    mapping = hb.map_tasks(hb.CommGraph.from_dense(FIGURE_1), hb.machine(TREE), mapper="treematch")
    assert mapping.pe.tolist() == [0, 1, 2, 3, 6, 7, 8, 9]
    assert mapping.info["comm_cost"] == 18568
    assert mapping.info["refine"] == []
    assert mapping.info["preset"] is None
    assert not uneven(mapping)


def test_example_of_the_paper_for_other_numbers_of_tasks():
    order = np.random.default_rng(0).permutation(8)
    graph = hb.CommGraph.from_dense(np.array(FIGURE_1)[np.ix_(order, order)])
    assert hb.map_tasks(graph, hb.machine(TREE), mapper="treematch").info["comm_cost"] == 18568


def test_slots_are_those_asked_for():
    graph, where = hb.CommGraph.from_dense(FIGURE_1), hb.machine(TREE)
    packed = hb.map_tasks(graph, where, mapper="treematch", pack=True)
    assert sorted(packed.pe.tolist()) == list(range(8))
    spread = hb.map_tasks(graph, where, mapper="treematch", per="socket=4")
    assert (np.bincount(spread.pe // 6) == 4).all()
    refined = hb.map_tasks(graph, where, mapper="treematch", refine=["vcycle", "swap"])
    assert refined.info["comm_cost"] <= 18568
    assert len(set(refined.pe.tolist())) == 8


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dims", ["2x2x4", "4x3x2", "3x2x2x2"])
def test_hidden_hierarchies_are_found(dims, seed):
    """Volumes fall 100 fold per level, so the least J is that of the tree they were made from."""
    spec = f"hierarchical:{dims}:factor=100:spread=50:seed={seed}:bytes=100000000"
    counts = dims.split("x")
    where = hb.machine(" ".join(f"l{i}:{c}@{10 ** (len(counts) - i)}" for i, c in enumerate(counts)))
    found = hb.map_tasks(hb.read(spec), where, mapper="treematch:credit=0")
    plain = hb.read(spec + ":shuffle=no")
    in_order = hb.evaluate(plain, hb.map_tasks(plain, where, mapper="identity"), baselines=False)
    assert found.info["comm_cost"] == in_order.mapping.comm_cost
    assert not uneven(found)


def test_smaller_trees_are_those_that_can_lose_nothing():
    """Against the definition: trees inside 4 x 3 x 5 with room for 13, no count one too large."""
    sizes = [4, 3, 5]
    fitting = {shape for shape in product(*(range(1, size + 1) for size in sizes)) if math.prod(shape) >= 13}
    least = [
        shape for shape in fitting
        if not any((*shape[:i], shape[i] - 1, *shape[i + 1:]) in fitting for i in range(3))
    ]  # fmt: skip
    first, *rest = shapes(sizes, 13, 1000)
    assert first == sizes
    assert sorted(map(tuple, rest)) == sorted(least)
    assert [math.prod(shape) for shape in rest] == sorted(map(math.prod, least))
    assert shapes(sizes, 13, 3) == [first, *rest[:2]]
    assert shapes(sizes, 60, 9) == [sizes]


@pytest.mark.parametrize("shape", [[4, 3, 5], [2, 3, 4], [1, 1, 5], [4, 1, 1]])
def test_leaves_of_a_smaller_tree_part_where_they_do_in_the_whole_one(shape):
    leaf = np.arange(math.prod(shape))
    whole = np.unravel_index(in_whole_tree(leaf, shape, [4, 3, 5]), (4, 3, 5))
    assert np.array_equal(whole, np.unravel_index(leaf, shape))


def test_more_subtrees_where_groups_do_not_fill_the_large_ones():
    """Four groups of six on packages of ten: the whole tree fills packages, six cores of each are best."""
    where = hb.machine("node:2@100 package:2@10 core:10@1")
    graph = hb.read("hierarchical:4x6:seed=3:factor=100")
    filled = hb.map_tasks(graph, where, mapper="treematch")
    chosen = hb.map_tasks(graph, where, mapper="treematch:shapes=16")
    assert np.bincount(filled.pe // 10, minlength=4).max() == 10
    assert np.bincount(chosen.pe // 10, minlength=4).tolist() == [6, 6, 6, 6]
    assert chosen.info["comm_cost"] < filled.info["comm_cost"]


def test_several_tasks_per_pe_are_one_more_level():
    graph = hb.read("hierarchical:2x2x4:seed=1")
    where = hb.machine("node:2@10 core:2@1")
    mapping = hb.map_tasks(graph, where, mapper="treematch", oversubscribe=True)
    assert np.bincount(mapping.pe).tolist() == [4, 4, 4, 4]
    assert not uneven(mapping)
    best = hb.map_tasks(graph, where, preset="strong", oversubscribe=True)
    assert mapping.info["comm_cost"] == best.info["comm_cost"]
    with pytest.raises(InfeasibleError, match="16 processes, but the machine has 4 slots"):
        hb.map_tasks(graph, where, mapper="treematch", partition=False)


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("rack:2@10 node:[1,2]@5 core:4@1", {}),
        ("node:2@10 core:4@1", {"fixed": {0: 7}}),
        ("node:2@10 core:[3,9]@1", {}),
    ],
)
def test_uneven_trees_are_cut_from_the_outside_in_and_say_so(spec, options):
    mapping = hb.map_tasks(hb.read("stencil:2x4:bytes=10"), hb.machine(spec), mapper="treematch", **options)
    assert uneven(mapping)
    assert len(set(mapping.pe.tolist())) == 8
    for task, pe in options.get("fixed", {}).items():
        assert mapping.pe[task] == pe


def test_excluded_cores_stay_free():
    """Node 0 lost two of its cores: 4 and 2 remain."""
    where = hb.machine("node:2@10 core:4@1").select(np.array([0, 1, 4, 5, 6, 7]))
    graph = hb.read("alltoall:6:groups=2")
    mapping = hb.map_tasks(graph, where, mapper="treematch")
    assert uneven(mapping)
    assert sorted(mapping.pe.tolist()) == list(range(6))


def test_many_ranks_grow_groups_and_find_a_grid():
    """4096 ranks, numbered at random: better than in order by far, without listing anything."""
    order = np.random.default_rng(1).permutation(4096)
    grid = hb.read("stencil:16x16x16:bytes=1")
    graph = hb.CommGraph.from_edges(order[grid.sources()], order[grid.targets], grid.volumes, n=4096)
    where = hb.machine("node:64@100 package:2@10 core:32@1")
    mapping = hb.map_tasks(graph, where, mapper="treematch", work_limit=10**6)
    random = hb.map_tasks(graph, where, mapper="identity")
    assert mapping.info["comm_cost"] < 0.5 * random.info["comm_cost"]


def test_groups_too_many_to_list_may_be_a_partition():
    """C(64, 16) cannot be listed; a grid of 8 x 8 falls into four of 4 x 4, 16 edges apart."""
    graph = hb.read("stencil:8x8:bytes=1")
    mapping = hb.map_tasks(graph, hb.machine("node:4@10 core:16@1"), mapper="treematch")
    assert mapping.info["work"]["grouping_partition"] == 1
    grown, _ = group_objects(graph.symmetric_positive(), 16)
    sources = graph.sources()
    apart = [int((each[sources] != each[graph.targets]).sum()) for each in (mapping.pe // 16, grown)]
    assert apart[0] == 32 < apart[1]


def test_dense_patterns_of_many_groups_are_not_partitioned():
    """A partition of everybody with everybody takes seconds for nothing: work stays near the arcs."""
    where = hb.machine("node:32@10 core:8@1")
    dense, sparse = hb.read("hierarchical:32x8:seed=1:factor=2"), hb.read("stencil:16x16")
    work = hb.map_tasks(dense, where, mapper="treematch").info["work"]
    assert "grouping_partition" not in work
    assert work["arcs"] < 2 * dense.m
    assert hb.map_tasks(sparse, where, mapper="treematch").info["work"]["arcs"] > 2 * sparse.m


def test_options_out_of_range():
    for text, words in (("list_up_to=9999999", "at most 1000000"), ("credit=1001", "at most 1000")):
        with pytest.raises(UnsupportedError, match=words):
            hb.map_tasks(hb.read("stencil:4x4"), hb.machine("core:16"), mapper=f"treematch:{text}")


def test_mpipp_ends_where_no_exchange_helps():
    graph, where = hb.read("hierarchical:2x2x4:seed=2"), hb.machine("node:4@10 core:4@1")
    mapping = hb.map_tasks(graph, where, mapper="mpipp", seed=3)
    cost = mapping.info["comm_cost"]
    for a in range(16):
        for b in range(a):
            pe = mapping.pe.copy()
            pe[[a, b]] = pe[[b, a]]
            assert hb.evaluate(graph, hb.Mapping(pe, where, {}), baselines=False).mapping.comm_cost >= cost


def test_mpipp_of_the_paper_keeps_to_the_cores_of_its_start():
    """Exchanges between tasks only: no exchange of two of them helps, while moves to free cores would."""
    graph, where = hb.read("hierarchical:2x4:seed=2"), hb.machine("node:8@10 core:4@1")
    kept = hb.map_tasks(graph, where, mapper="mpipp:free=no", seed=3)
    assert len(set(kept.pe.tolist())) == 8
    assert len(set((kept.pe // 4).tolist())) > 2
    for a, b in combinations(range(8), 2):
        pe = kept.pe.copy()
        pe[[a, b]] = pe[[b, a]]
        other = hb.evaluate(graph, hb.Mapping(pe, where, {}), baselines=False).mapping.comm_cost
        assert other >= kept.info["comm_cost"]
    assert hb.map_tasks(graph, where, mapper="mpipp", seed=3).info["comm_cost"] < kept.info["comm_cost"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n", "k"), [(7, 8), (8, 8), (5, 8)])
def test_passes_are_their_definition(seed, n, k):
    """Every exchange by J of the whole placement; the least of all again and again, nobody twice."""
    rng = np.random.default_rng(seed)
    half = np.triu(rng.integers(0, 9, (n, n)), 1)
    graph = hb.CommGraph.from_dense(half + half.T)
    where = hb.machine("node:2@10 package:2@4 core:2@1")
    table = where.distance.matrix()
    search = LockedPasses(with_isolated(graph.symmetric_positive(), k), table, n)
    start = rng.permutation(k).astype(np.int32)

    def cost(place):
        return int(((half + half.T) * table[np.ix_(place[:n], place[:n])]).sum())

    place, free, costs, places = start.copy(), set(range(k)), [cost(start)], [start.copy()]
    while any(task < n for task in free) and len(free) > 1:
        options = []
        for a, b in combinations(sorted(free), 2):
            if a < n:
                other = place.copy()
                other[[a, b]] = other[[b, a]]
                options.append((cost(other), a, b))
        least, a, b = min(options)
        place[[a, b]] = place[[b, a]]
        free -= {a, b}
        costs.append(least)
        places.append(place.copy())
    kept = costs.index(min(costs))
    found, saved, made = search.once(start)
    assert (saved, made) == (costs[0] - costs[kept], kept)
    assert found.tolist() == places[kept].tolist()


def test_passes_leave_no_exchange_and_can_go_through_losses():
    where, ahead = hb.machine("node:4@10 package:2@5 core:4@1"), 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        half = np.triu(rng.integers(0, 100, (32, 32)) * (rng.random((32, 32)) < 0.1), 1)
        graph = hb.CommGraph.from_dense(half + half.T)
        single, passes = (
            hb.map_tasks(graph, where, mapper=f"mpipp:passes={word}", seed=seed) for word in ("no", "yes")
        )
        ahead += passes.info["comm_cost"] < single.info["comm_cost"]
        csr = graph.symmetric_positive()
        assert best_swap(csr, where.distance.matrix(), passes.pe.copy(), 1)[1] == 0
    assert ahead > 0


def test_passes_keep_what_they_have_when_time_is_up():
    graph, where = hb.read("stencil:6x6"), hb.machine("node:6@10 core:6@1")
    search = LockedPasses(graph.symmetric_positive(), where.distance.matrix(), 36)
    start = np.random.default_rng(0).permutation(36).astype(np.int32)
    whole, answers = search.once(start), iter([False, False, False])
    found, saved, made = search.once(start, lambda: next(answers, True))
    assert made == 3 < whole[2]
    assert 0 < saved < whole[1]
    assert np.count_nonzero(found != start) in range(4, 7)


def test_a_work_limit_ends_a_pass_between_two_exchanges():
    graph = hb.CommGraph.from_edges(np.arange(63), np.arange(1, 64), n=64)
    free, limited = (
        hb.map_tasks(graph, hb.machine("node:8@9 core:8@1"), mapper="mpipp:passes=yes", work_limit=limit)
        for limit in (None, 64**2 * 6)
    )
    assert limited.info["work"]["arcs"] == 64**2 * 6
    assert limited.info["work"]["exchanges"] <= 5
    assert free.info["work"]["arcs"] % (64**2 * 33) == 0  # whole passes


def test_passes_refuse_what_does_not_fit():
    graph = hb.CommGraph.from_edges([0, 1], [1, 0], [2**58, 2**58])
    with pytest.raises(ScaleError, match="2\\^60"):
        hb.map_tasks(graph, hb.machine("core:2@9"), mapper="mpipp:passes=yes")


def test_five_starts_are_no_worse_than_the_first_of_them():
    where = hb.machine("node:4@10 core:4@1")
    for seed in range(5):
        graph = hb.read(f"hierarchical:4x4:seed={seed}:spread=100:factor=2")
        one, five = (hb.map_tasks(graph, where, mapper=f"mpipp:starts={s}", seed=seed) for s in (1, 5))
        assert five.info["comm_cost"] <= one.info["comm_cost"]


def test_mpipp_refuses_tables_beyond_memory():
    where = hb.machine("node:1000@10 core:20@1")
    with pytest.raises(UnsupportedError, match="expected at most 134217728 pairs"):
        hb.map_tasks(hb.read("alltoall:20000:groups=10000"), where, mapper="mpipp")
