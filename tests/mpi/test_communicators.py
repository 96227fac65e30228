"""Grids of ranks: the fewest cells between ranks, compared with counting them one by one."""

import threading
from itertools import product

import numpy as np
import pytest

from helpers.together import together
from hopbytes.errors import FormatError, HopbytesError
from hopbytes.mpi import changing, communicators, processes
from hopbytes.mpi.changing import ChangingRanks, RankMove
from hopbytes.mpi.communicators import (
    best_dims,
    checked_neighbours,
    checked_rows,
    create_cart,
    create_dist_graph,
    create_dist_graph_adjacent,
    face_cells,
    grid_neighbours,
    neighbours_sends,
    reorder,
)
from hopbytes.mpi.processes import Spot, checked_sends, from_rank_0, this_spot


def cells_between(dims, extents, rings):
    """Count the pairs of neighbouring cells on different ranks, for extents that the grid divides."""
    total = 0
    for cell in product(*map(range, extents)):
        for axis, (size, count, ring) in enumerate(zip(extents, dims, rings, strict=True)):
            other = cell[axis] + 1
            if other == size and not ring:
                continue
            block = size // count
            total += cell[axis] // block != other % size // block
    return total


@pytest.mark.parametrize(
    ("ranks", "extents", "rings"),
    [
        (8, (8, 8), (False, False)), (8, (8, 8), (True, False)), (8, (8, 4, 8), (False, True, False)),
        (12, (24, 12), (True, True)), (6, (6, 12), (False, False)), (4, (4, 16), (False, True)),
    ],
)  # fmt: skip
def test_no_grid_sends_fewer_cells(ranks, extents, rings):
    chosen = best_dims(ranks, extents, rings)
    grids = [
        dims for dims in product(range(1, ranks + 1), repeat=len(extents))
        if _product(dims) == ranks and all(e % d == 0 for e, d in zip(extents, dims, strict=True))
    ]  # fmt: skip
    assert chosen in grids
    assert cells_between(chosen, extents, rings) == min(cells_between(dims, extents, rings) for dims in grids)


def _product(numbers):
    total = 1
    for number in numbers:
        total *= number
    return total


class OneProcess:
    """What create_cart asks of a communicator before it uses MPI."""

    def Get_size(self):  # noqa: N802, the name in mpi4py
        return 8

    def Create_cart(self, dims, periods, reorder):  # noqa: N802
        return dims, periods, reorder


def test_create_cart_chooses_dimensions():
    made = create_cart(OneProcess(), "auto", reorder=False, extents=(400, 100))
    assert made == ([8, 1], [False, False], False)
    for dims in ("auto", "best"):
        with pytest.raises(FormatError, match="expected numbers, or 'auto'"):
            create_cart(OneProcess(), dims, extents=None if dims == "auto" else (4, 4))


def test_faces_are_weights_of_directions():
    assert grid_neighbours(0, (2, 3), (False, True), face_cells((2, 3), (20, 30))) == {3: 10, 1: 10, 2: 10}
    assert grid_neighbours(0, (2, 2), (False, False), face_cells((2, 2), (20, 60))) == {2: 30, 1: 10}
    assert grid_neighbours(0, (4,), (False,)) == {1: 1}
    assert grid_neighbours(2, (4,), (False,)) == {1: 1, 3: 1}
    assert grid_neighbours(3, (2, 4), (False, True)) == {0: 1, 2: 1, 7: 1}
    with pytest.raises(FormatError, match="1 extents"):
        face_cells((2, 2), (4,))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((8, ()), "1 to 6"), ((8, (4, 0)), "numbers >= 1"), ((8, (4, "x")), "numbers"),
        ((8, (2, 2)), "a cell"), ((8, (8, 8), (True,)), "1 periods"), ((8, (2.5, 8)), "numbers"),
    ],
)
def test_bad_extents_are_one_line(arguments, word):
    with pytest.raises(FormatError) as caught:
        best_dims(*arguments)
    assert word in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("sends", [
    {1: 8, 2: 0}, [0, 8, 0], np.array([0, 8, 0]), {np.int32(1): np.int64(8)}, (0, np.uint8(8), 0),
])  # fmt: skip
def test_bytes_by_rank(sends):
    assert checked_sends(sends, 0, 3) == ({1: 8}, "")


@pytest.mark.parametrize(("sends", "fault"), [
    ([1, 2], "gives 2 numbers of bytes, expected 8, one for each rank"),
    ([0] * 9, "gives 9 numbers of bytes, expected 8"),
    ({1: 2.5}, "sends 2.5 bytes to rank 1, expected a whole number"),
    (np.full(8, 2.0), "sends 2.0 bytes to rank 0, expected a whole number"),
    ({1: True}, "sends True bytes to rank 1, expected a whole number"),
    ({1: "8"}, "sends 8 bytes to rank 1, expected a whole number"),
    ({8: 1}, "sends to rank 8, expected 0..7"), ({-1: 1}, "sends to rank -1, expected"),
    ({1.5: 1}, "sends to rank 1.5, expected"), ({1: -3}, "sends -3 bytes, expected 0 to 2^63 - 1"),
    ({1: 2**63}, "expected 0 to 2^63 - 1"), (7, "'7', expected bytes by rank or a sequence of 8"),
    (None, "'None', expected bytes by rank"),
])  # fmt: skip
def test_faults(sends, fault):
    told, said = checked_sends(sends, 3, 8)
    assert told == {}
    assert said.startswith("rank 3")
    assert fault in said


@pytest.fixture
def mpi():
    """mpi4py's constants without MPI_Init, which ends a process that no MPI can start in."""
    package = pytest.importorskip("mpi4py")
    before, package.rc.initialize = package.rc.initialize, False
    try:
        from mpi4py import MPI
    finally:
        package.rc.initialize = before
    return MPI


def test_neighbours(mpi):
    assert checked_neighbours([1], (2, 2), None, None) == (([1], [2, 2], None, None), "")
    assert neighbours_sends(([1], [2, 2], None, None)) == {2: 2}
    assert neighbours_sends(([1], [2, 2], None, [5, 7])) == {2: 12}
    assert checked_neighbours([1], [2], mpi.UNWEIGHTED, mpi.UNWEIGHTED) == (([1], [2], None, None), "")
    assert checked_neighbours([], [2], mpi.WEIGHTS_EMPTY, [3]) == (([], [2], [], [3]), "")
    for given, fault in [
        (([1], [2], None, mpi.WEIGHTS_EMPTY), "destweights: WEIGHTS_EMPTY for 1 neighbours, expected 1"),
        (([1], [2], [1, 2], None), "sourceweights: 2 numbers, expected 1"),
        (([1], [2], None, [2.5]), r"destweights: [2.5], expected whole numbers"),
        (([1], [2], None, 77), "destweights: 77, expected whole numbers"),
        (([1.5], [2], None, None), "neighbours that are not ranks"),
    ]:
        assert fault in checked_neighbours(*given)[1]


class Adjacent:
    """Keeps what an MPI would be told."""

    def Create_dist_graph_adjacent(self, *ends, **more):  # noqa: N802
        return ends, more


@pytest.mark.parametrize(("weights", "told"), [
    ((None, None), {}), (([3], [5, 7]), {"sourceweights": [3], "destweights": [5, 7]}),
    ((None, [5, 7]), {"sourceweights": None, "destweights": [5, 7]}),
    (([3], None), {"sourceweights": [3], "destweights": None}),
])  # fmt: skip
def test_weights_of_neighbours_are_handed_on(mpi, weights, told):
    made = create_dist_graph_adjacent(Adjacent(), [1], [2, 2], *weights, reorder=False)
    assert made == (([1], [2, 2]), {"reorder": False, **told})


def test_arcs_reach_the_rank_that_they_begin_at(mpi, monkeypatch):
    """Every process gives some arcs of any ranks; the definition is one list of all of them."""
    arcs = [(0, 2, 7), (2, 0, 7), (1, 3, 9), (3, 1, 9), (0, 2, 1), (0, 1, 1)]
    given = [[arcs[1], arcs[2]], [arcs[0]], [], [arcs[3], arcs[4], arcs[5]]]
    monkeypatch.setattr(communicators, "this_spot", lambda: None)
    seen = {}

    def answer(comm, mine, work, name):
        seen[comm.Get_rank()] = mine[1]
        return comm.Get_rank() ^ 1, None

    class Member:
        def __init__(self, comm):
            self.comm = comm

        def __getattr__(self, name):
            return getattr(self.comm, name)

        def Split(self, color, key):  # noqa: N802
            return Member(self.comm.Split(color, key))

        def Create_dist_graph(self, *arguments, **more):  # noqa: N802
            return self.comm.Get_rank(), arguments, more

    def work(comm):
        rows = given[comm.Get_rank()]
        sources, targets, weights = ([row[i] for row in rows] for i in range(3))
        return create_dist_graph(Member(comm), sources, [1] * len(rows), targets, weights)

    monkeypatch.setattr(communicators, "from_rank_0", answer)
    made = together(4, work)
    for rank in range(4):
        expected = {}
        for source, target, weight in arcs:
            if source == rank:
                expected[target] = expected.get(target, 0) + weight
        assert seen[rank] == expected
        sources, targets, weights = ([row[i] for row in given[rank]] for i in range(3))
        assert made[rank] == (
            rank ^ 1, (sources, [1] * len(sources), targets), {"weights": weights, "reorder": False},
        )  # fmt: skip


@pytest.mark.parametrize(("given", "fault"), [
    (([0, 1], [1], [1], None), "2 sources with 1 degrees"), (([0], [-1], [], None), "a number >= 0"),
    (([0], [2], [1], None), "1 destinations, expected 2, the sum of degrees"),
    (([4], [1], [1], None), "arcs from rank 4, expected 0..3"), (([0], [1.5], [1], None), "not ranks"),
    (([0], [1], [1], [2, 3]), "weights: 2 numbers, expected 1"),
])  # fmt: skip
def test_faults_in_arcs(mpi, given, fault):
    assert fault in checked_rows(4, *given)[1]


def test_methods_by_name_and_as_lists():
    spots = [Spot(f"node{rank // 2}", (rank % 2,), (0, -1, -1, rank % 2)) for rank in range(4)]
    sends = [{(rank + 2) % 4: 100} for rank in range(4)]
    for method in ("eco", "treematch", ["treematch", "swap"], "top_down"):
        new = communicators.new_ranks(spots, sends, method=method)
        node = {int(role): rank // 2 for rank, role in enumerate(new)}
        assert node[0] == node[2] != node[1] == node[3]
    spots = [Spot(f"node{rank // 2}", (rank % 2,), (0, -1, -1, rank % 2)) for rank in range(6)]
    new = communicators.new_ranks(spots, [{(rank + 3) % 6: 100} for rank in range(6)])
    node = {int(role): rank // 2 for rank, role in enumerate(new)}
    assert [node[role] == node[role + 3] for role in range(3)] == [True] * 3


@pytest.fixture
def two_nodes(monkeypatch):
    """Ranks 0 and 1 run on one node, 2 and 3 on the other one."""
    def spots(comm):
        here.spot = Spot(
            f"node{comm.Get_rank() // 2}", (comm.Get_rank() % 2,), (0, -1, -1, comm.Get_rank() % 2)
        )

    for module in (communicators, changing):
        monkeypatch.setattr(module, "this_spot", lambda: here.spot)
    return spots


here = threading.local()


class Told:
    """A communicator that keeps what an MPI would be told, and its ranks."""

    def __init__(self, comm):
        self.comm = comm

    def __getattr__(self, name):
        return getattr(self.comm, name)

    def Split(self, color, key):  # noqa: N802
        return Told(self.comm.Split(color, key))

    def Create_cart(self, dims, periods, reorder):  # noqa: N802
        return self.Get_rank(), dims, periods, reorder

    def Create_dist_graph_adjacent(self, *ends, **more):  # noqa: N802
        return self.Get_rank(), ends, more


def test_ranks_that_talk_come_to_one_node(two_nodes):
    """Ranks i and i ^ 2 send to each other, as the columns of a grid of 2 x 2 or neighbours in a graph do."""
    def work(comm):
        two_nodes(comm)
        rank = comm.Get_rank()
        ordered = reorder(comm, {rank ^ 2: 100}).Get_rank()
        cart = create_cart(Told(comm), [2, 2], extents=(8, 800))
        graph = create_dist_graph_adjacent(Told(comm), [rank ^ 2], [rank ^ 2], [rank], [10 + rank], "told")
        with pytest.raises(HopbytesError, match="rank 1: sourceweights: 2 numbers"):
            create_dist_graph_adjacent(comm, [rank], [rank], [1] * (1 + (rank == 1)), [1])
        with pytest.raises(FormatError, match="a grid of 6 ranks, expected 4"):
            create_cart(comm, [2, 3])
        return ordered, cart, graph

    found = together(4, work)
    for members in zip(*((each[0], each[1][0], each[2][0]) for each in found), strict=True):
        assert sorted(members) == [0, 1, 2, 3]
        assert {members[0] ^ members[1], members[2] ^ members[3]} == {2}
    for _, cart, (rank, ends, more) in found:
        assert cart[1:] == ([2, 2], [False, False], False)
        assert ends == ([rank ^ 2], [rank ^ 2])
        assert more == {"reorder": False, "info": "told", "sourceweights": [rank], "destweights": [10 + rank]}


def test_work_moves_to_the_processes_that_have_its_rank_now(two_nodes):
    """What each process holds is sent as it is told, and arrives where its rank is."""
    def work(comm):
        two_nodes(comm)
        rank = comm.Get_rank()
        ranks = ChangingRanks(comm, {rank ^ 1: 100})
        kept = ranks.update({rank ^ 1: 90})
        moved = ranks.update({rank ^ 2: 1000, rank ^ 1: 0})
        new = ranks.comm.Get_rank()
        board = comm.allgather((moved.dest, new, moved.source))
        with pytest.raises(HopbytesError, match="rank 3 sends -1 bytes"):
            ranks.update({0: -1} if rank == 3 else {})
        again = ranks.update({new ^ 2: 1000})
        return rank, kept, moved, new, board, again

    for rank, kept, moved, new, board, again in together(4, work):
        assert kept == RankMove(False, rank, rank)
        assert (moved.changed, moved.dest) == (True, rank)
        # the process that this one gets data from had done the work of the new rank
        (giver,) = [row for row in board if row[1] == moved.source]
        assert giver[0] == new
        assert again == RankMove(False, new, new)
    nodes = [{row[1] for row in board[:2]}, {row[1] for row in board[2:]}]
    assert sorted(map(sorted, nodes)) == [[0, 2], [1, 3]]


def test_where_this_process_runs(tmp_path, monkeypatch):
    """Units are told by their lowest CPU, if they contain all CPUs that the process may use."""
    monkeypatch.setattr(processes.os, "sched_getaffinity", lambda who: {7, 5})
    for name, text in (("topology/package_cpus_list", "4-11"), ("cache/index3/shared_cpu_list", "5,7\n"),
                       ("topology/core_cpus_list", "5,13")):  # fmt: skip
        path = tmp_path / "cpu5" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert this_spot("here", str(tmp_path / "cpu{}")) == Spot("here", (5, 7), (4, 5, -1, -1))


def test_an_answer_that_rank_0_cannot_find_fails_on_all():
    def fail(error):
        raise error

    for error, said in ((ValueError("odd"), "place: ValueError('odd')"), (HopbytesError("full"), "full")):
        def work(comm, error=error, said=said):
            with pytest.raises(HopbytesError) as caught:
                from_rank_0(comm, comm.Get_rank(), lambda gathered: fail(error), "place")
            assert str(caught.value) == said
            return from_rank_0(comm, comm.Get_rank() + 1, lambda gathered: gathered[::-1], "place")

        assert together(3, work) == [3, 2, 1]
