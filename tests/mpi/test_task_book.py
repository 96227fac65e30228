"""What rank 0 tells the processes about tasks that change, without MPI."""

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.mpi.changing import ChangingRanks, _Book
from hopbytes.mpi.processes import Spot

SPOTS = [Spot(f"n{rank % 2}", (rank // 2,), (0, -1, -1, rank // 2)) for rank in range(4)]
NOTHING = ([], {}, {}, [])


def book(loads=(5, 5, 5, 5), **options):
    """Four processes, dealt round two nodes, each with a chain of tasks."""
    gathered = []
    for rank, count in enumerate(loads):
        tasks = {100 * rank + each: 1 for each in range(count)}
        edges = [(task, task + 1, 7) for task in tasks if task + 1 in tasks]
        gathered.append((SPOTS[rank], tasks, edges))
    return _Book(gathered, None, {"imbalance": "50%"} | options)


def carried_out(held, answers):
    """Return what each process holds after it sent and received; both sides must agree."""
    for rank, moves in enumerate(answers):
        for to, tasks in moves.send.items():
            assert answers[to].receive[rank] == tasks
            held[rank] -= set(tasks)
            held[to] |= set(tasks)
    return held


def test_lists_of_both_sides_agree_and_follow_the_placement():
    tasks = book()
    held = [set(range(100 * rank, 100 * rank + 5)) for rank in range(4)]
    rng = np.random.default_rng(1)
    for _ in range(5):
        pairs = rng.choice([task for each in held for task in each], (3, 2))
        edges = [(int(u), int(v), 10**4) for u, v in pairs if u != v]
        held = carried_out(held, tasks.update([(edges, {}, {}, []), NOTHING, NOTHING, NOTHING]))
        for rank, each in enumerate(held):
            for task in each:
                assert tasks.rank_of_pe[tasks.remapper.pe[tasks.number[task]]] == rank
        tasks.remapper.verify()


def test_tasks_that_exceed_the_bound_at_the_beginning_move_with_the_first_update():
    tasks = book((12, 2, 2, 2))
    held = [set(tasks.number) & set(range(100 * rank, 100 * rank + 100)) for rank in range(4)]
    held = carried_out(held, tasks.update([NOTHING] * 4))
    assert max(map(len, held)) <= 6
    assert sum(map(len, held)) == 18


def test_new_tasks_come_from_the_process_that_made_them():
    tasks = book()
    answers = tasks.update([NOTHING, NOTHING, NOTHING, ([(900, 0, 10**6)], {}, {900: 1}, [])])
    place = tasks.rank_of_pe[tasks.remapper.pe[tasks.number[900]]]
    assert (900 in answers[place].receive.get(3, [])) == (place != 3)
    assert (900 in answers[3].send.get(place, [])) == (place != 3)
    tasks.update([([], {}, {}, [900]), NOTHING, NOTHING, NOTHING])
    again = tasks.number | {}
    tasks.update([([], {}, {901: 1}, []), NOTHING, NOTHING, NOTHING])
    assert set(tasks.number) - set(again) == {901}
    assert tasks.name[tasks.number[901]] == 901
    assert len(tasks.name) == 21  # the number of the task that ended was given again


@pytest.mark.parametrize(
    "batch",
    [([(0, 77, 1)], {}, {}, []), ([], {77: 1}, {}, []), ([], {}, {}, [77]), ([], {}, {0: 1}, []),
     ([], {0: -1}, {}, []), ([(0, 1, -1)], {}, {}, [])],
)  # fmt: skip
def test_bad_batches_change_nothing(batch):
    tasks = book()
    before = dict(tasks.number), tasks.remapper.pe.tolist()
    with pytest.raises(hb.HopbytesError):
        tasks.update([NOTHING, batch, NOTHING, NOTHING])
    assert (tasks.number, tasks.remapper.pe.tolist()) == before
    with pytest.raises(hb.FormatError):
        tasks.update([([], {}, {500: 1}, []), ([], {}, {500: 1}, []), NOTHING, NOTHING])
    tasks.remapper.verify()


def test_a_task_of_two_processes_is_refused():
    with pytest.raises(hb.FormatError):
        _Book([(SPOTS[0], {1: 1}, []), (SPOTS[1], {1: 1}, [])], None, {})


class First:
    """Rank 0 of two processes; the other one sends nothing."""

    def Get_rank(self):  # noqa: N802
        return 0

    def Get_size(self):  # noqa: N802
        return 2

    def gather(self, mine, root):
        return [mine, (SPOTS[1] if isinstance(mine[0], Spot) else 1, {}, "")]

    def scatter(self, answers, root):
        return answers[root]


def test_ranks_that_no_longer_exchange_anything_are_apart(monkeypatch):
    """Zero bytes end what was sent before; a missing number does not."""
    monkeypatch.setattr("hopbytes.mpi.changing.this_spot", lambda: SPOTS[0])
    ranks = ChangingRanks(First(), {1: 100})
    for volumes, together in (({}, True), ({1: 50}, True), ({1: 0}, False)):
        ranks.update(volumes)
        assert (ranks._remapper.snapshot()[0].m > 0) == together
