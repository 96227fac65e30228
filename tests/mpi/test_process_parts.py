"""Parts of a distributed graph for the processes that hold it, which are threads here."""

import itertools
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import hopbytes as hb
from helpers.slabs import part_of
from helpers.together import together
from hopbytes.errors import HopbytesError
from hopbytes.mpi import Slab, parts_of_processes
from hopbytes.mpi.distributed.rows import Member
from hopbytes.mpi.parts import (
    _across_processes,
    _cells_across_faces,
    _owner_and_ghosts,
    dolfinx_partitioner,
    petsc_partition,
    set_plex_partition,
)
from hopbytes.mpi.processes import Spot

GRID = hb.read("stencil:24x24:bytes=1")
NODE = np.array([0, 1, 0, 1])
EMPTY = Slab(np.zeros(1, np.int64), np.empty(0, np.int64))


@pytest.fixture(autouse=True)
def alternating_hosts(monkeypatch):
    """Even ranks are on host a, odd ones on host b, each bound to a core of its own."""
    monkeypatch.setattr("hopbytes.mpi.parts.this_spot", lambda: here.spot)


here = threading.local()


def parts(size, rows, **options):
    """Return the parts that each process gets, if `rows` returns the slab of a rank."""

    def work(comm):
        rank = comm.Get_rank()
        here.spot = Spot("ab"[rank % 2], (rank,), (-1, -1, -1, rank))
        return parts_of_processes(comm, rows(rank), preset="fast", **options)

    return together(size, work)


def between(part, group=None):
    group = part if group is None else group[part]
    return int(np.count_nonzero(group[GRID.sources()] != group[GRID.targets]))


@pytest.mark.parametrize("machine", [None, "node:2@10 core:2@1"])
def test_nodes_come_first_and_parts_are_ranks(machine):
    part = np.concatenate(parts(4, lambda rank: part_of(GRID, rank, 4), machine=machine))
    node = NODE if machine is None else np.arange(4) // 2
    assert np.bincount(part, minlength=4).max() <= 148  # 3 % above 144
    assert between(part, node) <= 2 * 24 + 8  # one cut through the grid, both directions
    assert between(part) > between(part, node)


def test_rows_on_one_process_with_a_diagonal_get_the_same_quality():
    tails = np.concatenate([GRID.sources(), np.arange(GRID.n)])
    heads = np.concatenate([GRID.targets, np.arange(GRID.n)]).astype(np.int64)
    heads = heads[np.argsort(tails, kind="stable")]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(tails))]).astype(np.int64)
    for weights in (None, np.full(len(heads), 3)):
        all_rows = Slab(indptr, heads, weights)
        found = parts(4, lambda rank, rows=all_rows: rows if rank == 2 else EMPTY)
        assert [len(each) for each in found] == [0, 0, GRID.n, 0]
        assert np.bincount(found[2]).max() <= 148
        assert between(found[2], NODE) <= 2 * 24 + 8


def test_loads_travel_with_their_rows():
    rows = part_of(GRID, 0, 1)
    loads = np.where(np.arange(GRID.n) < 100, 5, 1)
    heavy = Slab(rows.indptr, rows.targets, None, loads)
    found = parts(3, lambda rank: heavy if rank == 0 else EMPTY, machine="node:3@1")
    assert np.bincount(found[0], weights=loads).max() <= 1.03 * loads.sum() / 3 + 5


@pytest.mark.parametrize(
    ("options", "said"),
    [({"parts": 6}, "name a `machine` with 6 PEs"), ({"machine": "node:3@1"}, "3 PEs, expected one for each"),
     ({"machine": "node:zwei"}, "zwei"), ({"parts": 6, "machine": "core:5@1"}, "of the 6 parts")],
)  # fmt: skip
def test_machines_that_do_not_fit(options, said):
    with pytest.raises(HopbytesError, match=said):
        parts(2, lambda rank: part_of(GRID, rank, 2), **options)


def test_more_parts_than_processes():
    found = np.concatenate(
        parts(2, lambda rank: part_of(GRID, rank, 2), parts=6, machine="node:2@10 core:3@1")
    )
    assert np.bincount(found).min() > 0
    assert np.bincount(found).max() <= 98


def test_one_sided_edges_are_refused():
    rows = Slab(np.array([0, 1, 1]), np.array([1]))
    with pytest.raises(HopbytesError, match="differs in its two directions"):
        parts(1, lambda rank: rows)


def test_a_cell_is_a_ghost_where_its_neighbours_are():
    part = (np.arange(GRID.n) * 7 // 3 % 5).astype(np.int32)

    def work(comm):
        rank = comm.Get_rank()
        slab = part_of(GRID, rank, 3)
        first = GRID.n * rank // 3
        return _owner_and_ghosts(Member(comm), slab, part[first : first + slab.n], True)

    row = 0
    for ranks, begins in together(3, work):
        for begin, end in itertools.pairwise(begins):
            around = set(part[GRID.targets[GRID.indptr[row] : GRID.indptr[row + 1]]].tolist())
            assert ranks[begin] == part[row]
            assert ranks[begin + 1 : end].tolist() == sorted(around - {part[row]})
            row += 1
    assert row == GRID.n


def test_cells_meet_across_faces():
    sides = {0: [(7, 10), (8, 11), (9, 12)], 1: [(8, 20), (3, 21)], 2: [(7, 30), (5, 31)]}

    def work(comm):
        face, cell = np.array(sides[comm.Get_rank()], np.int64).T
        return [each.tolist() for each in _across_processes(Member(comm), face, cell)]

    pairs = [sorted(zip(*each, strict=True)) for each in together(3, work)]
    assert pairs == [[(10, 30), (11, 20)], [(20, 11)], [(30, 10)]]


class Strip:
    """The own part of a mesh that is a row of cells, as DMPlex shows it: points of cells, then of faces."""

    def __init__(self, cells, faces):
        self.cells, self.faces = cells, faces

    def getHeightStratum(self, height):  # noqa: N802
        count = len(self.cells)
        return (5, 5 + count) if height == 0 else (5 + count, 5 + count + len(self.faces))

    def getSupport(self, point):  # noqa: N802
        face = self.faces[point - 5 - len(self.cells)]
        beside = [cell for cell in (face - 1, face) if cell in self.cells]
        return np.array([5 + self.cells.index(cell) for cell in beside], np.int32)

    def createPointNumbering(self):  # noqa: N802
        return self

    def getIndices(self):  # noqa: N802
        return [0] * (5 + len(self.cells)) + [face if face % 2 else -face - 1 for face in self.faces]


def test_cells_of_a_plex_are_numbered_through_all_processes():
    """Five cells in a row, the third process has the last two; face i is before cell i."""
    own = [[0, 1], [2], [3, 4]]

    def work(comm):
        cells = own[comm.Get_rank()]
        slab = _cells_across_faces(Member(comm), Strip(cells, [*cells, cells[-1] + 1]), len(cells), None)
        return np.split(slab.targets, slab.indptr[1:-1])

    found = [row.tolist() for rows in together(3, work) for row in rows]
    assert found == [[1], [0, 2], [1, 3], [2, 4], [3]]


class Mesh(Strip):
    """A strip with the communicator, the numbers of its cells and the partitioner of a DMPlex."""

    Type = SimpleNamespace(SHELL="shell")

    def __init__(self, comm, cells, *, depth=1, numbers=None):
        super().__init__(cells, [*cells, cells[-1] + 1])
        self.comm, self.given = SimpleNamespace(tompi4py=lambda: comm), []
        self.getDepth, self.getDimension, self.getChart = lambda: depth, lambda: 1, lambda: (0, 9)
        self.getCellNumbering = lambda: SimpleNamespace(getIndices=lambda: numbers or cells)
        self.getPartitioner = lambda: self
        self.setType = self.given.append
        self.setShellPartition = lambda size, *arrays: self.given.extend(
            [size, *(array.tolist() for array in arrays)]
        )


def test_a_plex_is_told_how_many_cells_go_where_and_which():
    own = [[0, 1, 2], [3], [4, 5]]

    def work(comm):
        rank = comm.Get_rank()
        here.spot = Spot("ab"[rank % 2], (rank,), (-1, -1, -1, rank))
        mesh = Mesh(comm, own[rank])
        return set_plex_partition(mesh, preset="fast").tolist(), mesh.given

    found = together(3, work)
    assert np.bincount([to for part, _ in found for to in part]).tolist() == [2, 2, 2]
    for part, (kind, size, sizes, order) in found:
        assert (kind, size, sizes) == ("shell", 3, np.bincount(part, minlength=3).tolist())
        assert order == [5 + cell for cell in sorted(range(len(part)), key=lambda cell: (part[cell], cell))]


@pytest.mark.parametrize(
    ("wrong", "said"), [({"depth": 0}, "interpolated"), ({"numbers": [0, -3]}, "without overlap")]
)
def test_a_plex_without_faces_or_with_cells_of_others_is_refused_on_all_processes(wrong, said):
    def work(comm):
        with pytest.raises(HopbytesError, match=said):
            set_plex_partition(Mesh(comm, [0, 1], **(wrong if comm.Get_rank() else {})))

    together(2, work)


@pytest.mark.parametrize(
    ("options", "weights"), [({}, None), ({"edge_weights": True, "loads": [4, 5, 6]}, [3, 3, 1, 1])]
)
def test_a_matrix_of_petsc_is_a_graph(monkeypatch, options, weights):
    general = SimpleNamespace(createGeneral=lambda part, comm: (part.tolist(), part.dtype, comm.tompi4py()))
    kinds = SimpleNamespace(IS=lambda: general, IntType=np.int64)
    monkeypatch.setitem(sys.modules, "petsc4py", SimpleNamespace(PETSc=kinds))
    seen = []

    def mapped(comm, slab, **more):
        seen.append((comm, slab, more))
        return np.arange(slab.n, dtype=np.int32)

    monkeypatch.setattr("hopbytes.mpi.parts.parts_of_processes", mapped)
    rows = np.array([0, 1, 3, 4], np.int32), np.array([1, 0, 2, 1], np.int32), np.array([-2.6, 3, 0.2, -1])
    matrix = SimpleNamespace(getValuesCSR=lambda: rows, comm=SimpleNamespace(tompi4py=lambda: "comm"))
    assert petsc_partition(matrix, **options, seed=3) == ([0, 1, 2], np.int64, "comm")
    ((comm, slab, more),) = seen
    assert (comm, more) == ("comm", {"parts": None, "machine": None, "seed": 3})
    assert (slab.indptr.tolist(), slab.targets.tolist()) == ([0, 1, 3, 4], [1, 0, 2, 1])
    assert (slab.weights if slab.weights is None else slab.weights.tolist()) == weights
    assert (slab.loads if slab.loads is None else slab.loads.tolist()) == options.get("loads")


@pytest.mark.parametrize("ghosting", [False, True])
def test_cells_of_dolfinx_go_to_their_owner_and_as_ghosts_to_those_beside_it(monkeypatch, ghosting):
    lists = SimpleNamespace(AdjacencyList_int32=lambda ranks, begins: np.split(ranks, begins[1:-1]))
    monkeypatch.setitem(sys.modules, "dolfinx", SimpleNamespace(cpp=SimpleNamespace(graph=lists)))
    path = SimpleNamespace(offsets=[0, 1, 3, 5, 6], array=[1, 0, 2, 1, 3, 2])

    def work(comm):
        here.spot = Spot("a", (0,), (-1, -1, -1, 0))
        return dolfinx_partitioner("core:2@1", preset="fast")(comm, 2, path, ghosting)

    (found,) = together(1, work)
    owner = [each[0] for each in found]
    assert owner in ([0, 0, 1, 1], [1, 1, 0, 0])
    assert [len(each) for each in found] == ([1, 2, 2, 1] if ghosting else [1] * 4)
