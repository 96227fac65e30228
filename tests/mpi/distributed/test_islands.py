"""Which of several mappings the steps over ranks continue from; what the searches find is given."""


from types import SimpleNamespace

import numpy as np
import pytest

import hopbytes as hb
from helpers.slabs import part_of, whole
from helpers.together import together
from hopbytes.mpi.distributed import islands, refinement
from hopbytes.mpi.distributed.islands import deal, groups_of
from hopbytes.mpi.distributed.rows import Member, checked_rows

ONE_RANK = SimpleNamespace(all=lambda number: [number], total=lambda number: number)


@pytest.mark.parametrize(("size", "islands"), [(1, 3), (2, 3), (3, 3), (5, 2), (7, 3)])
def test_islands_are_subgraphs_and_values_return(size, islands):
    rng = np.random.default_rng(size)
    graph = hb.read("stencil:15x9:bytes=2")
    island = rng.integers(0, islands, graph.n).astype(np.int32)
    groups = groups_of(np.bincount(island, minlength=islands), size)

    def work(comm):
        rows = checked_rows(Member(comm), part_of(graph, comm.Get_rank(), size))
        slabs, back = deal(rows, island[rows.first : rows.first + rows.n], groups)
        mine = [number for number, ranks in enumerate(groups) if comm.Get_rank() in ranks]
        assert set(slabs) <= set(mine)
        marks = [1000 * number + slab.loads + np.diff(slab.indptr) for number, slab in slabs.items()]
        return slabs, back(np.concatenate([np.empty(0, np.int64), *marks]))

    parts = together(size, work)
    inner = np.zeros(graph.n, np.int64)
    sources = graph.sources()
    np.add.at(inner, sources[island[sources] == island[graph.targets]], 1)
    assert np.concatenate([part[1] for part in parts]).tolist() == (1000 * island + 1 + inner).tolist()
    for number, ranks in enumerate(groups):
        found = whole([parts[rank][0][number] for rank in ranks if number in parts[rank][0]])
        members = np.flatnonzero(island == number)
        expected = graph.to_scipy()[members][:, members].toarray()
        assert np.array_equal(found.to_scipy().toarray(), expected)


def test_every_rank_has_work():
    for sizes in ([5, 9, 4], [1, 1], [100, 1, 1, 1]):
        for ranks in range(1, 12):
            groups = groups_of(np.array(sizes), ranks)
            assert {rank for group in groups for rank in group} == set(range(ranks))
            assert all(group == list(range(group[0], group[-1] + 1)) for group in groups)


@pytest.mark.parametrize(
    ("costs", "kept"), [((9, 7, 8), "first round"), ((9, 7, 5), "second round"), ((9, 10), "start")]
)
def test_a_round_is_kept_unless_it_costs_more(costs, kept, monkeypatch):
    rounds = iter(["first round", "second round"])
    values = iter(costs)
    monkeypatch.setattr(refinement, "repaired", lambda rows, pe, target, where: pe)
    monkeypatch.setattr(refinement, "cost_over_ranks", lambda rows, where, pe: next(values))
    monkeypatch.setattr(refinement, "refine_band", lambda *_: None)
    monkeypatch.setattr(refinement, "refine_over_ranks", lambda *_: (next(rounds), 1))
    history = SimpleNamespace(moves=0, levels=[], costs=[])
    rows = SimpleNamespace(member=ONE_RANK, total=4)
    where = SimpleNamespace(k=2)
    found = refinement.refined(rows, "start", None, where, history, rounds=len(costs) - 1)
    assert found == kept
    assert history.costs == [min(costs)]


def test_the_cheapest_start_is_combined_with_the_next():
    """Of the starts the cheapest comes first, and the others are candidates in the order of their costs."""
    found = [(np.array([0, 1, 1]), 9), (np.array([1, 1, 0]), 5), (np.array([0, 0, 1]), 7)]
    calls = []

    class Given:
        def __init__(self, *_):
            pass

        def by_coarsening(self, seed, together=None, known=()):
            calls.append((together, known))
            return found[len(calls) - 1] if together is None else (together, 0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(islands, "Cut", Given)
        patch.setattr(islands, "STARTS", 3)
        rows = SimpleNamespace(member=ONE_RANK, n=3)
        result = islands.cut_over_ranks(rows, np.array([2, 2]), 1, SimpleNamespace())
    assert result.tolist() == (found[1][0] * 2 + found[2][0]).tolist()
    assert [each.tolist() for each in calls[-1][1]] == [found[number][0].tolist() for number in (1, 2, 0)]
