"""Which of several mappings the steps over ranks continue from; what the searches find is given."""

from types import SimpleNamespace

import numpy as np
import pytest

from hopbytes.mpi.distributed import islands, refinement

ONE_RANK = SimpleNamespace(all=lambda number: [number], total=lambda number: number)


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
        patch.setattr(islands, "_Cut", Given)
        patch.setattr(islands, "STARTS", 3)
        rows = SimpleNamespace(member=ONE_RANK, n=3)
        result = islands.cut_over_ranks(rows, np.array([2, 2]), 1, SimpleNamespace())
    assert result.tolist() == (found[1][0] * 2 + found[2][0]).tolist()
    assert [each.tolist() for each in calls[-1][1]] == [found[number][0].tolist() for number in (1, 2, 0)]


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
