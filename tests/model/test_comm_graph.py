"""Graphs from arrays: limits of what 64 bits hold, and arrays that are none, named in one line."""

import numpy as np
import pytest
import scipy.sparse

import hopbytes as hb
from helpers.errors import mentions
from hopbytes.errors import FormatError, ScaleError
from hopbytes.machines.allocate.allocate import allocate
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.util.integers import task_numbers, to_integers


@pytest.mark.parametrize("kind", [np.float64, np.uint64])
def test_the_first_volume_that_63_bits_do_not_hold_is_a_matter_of_scale(kind):
    with pytest.raises(ScaleError, match=mentions("2^63", "1", "2")):
        CommGraph.from_edges([0], [1], np.array([2**63], kind))


def test_the_largest_volumes_that_63_bits_hold_are_kept():
    assert CommGraph.from_edges([0], [1], np.array([2**63 - 1], np.uint64)).total_volume == 2**63 - 1
    below = float(2**63 - 1024)  # the largest double under 2^63
    assert CommGraph.from_edges([0], [1], [below]).total_volume == 2**63 - 1024


@pytest.mark.parametrize("bad", [float("inf"), float("nan"), -1.0])
def test_volumes_that_are_no_finite_amounts_are_named_with_their_place(bad):
    with pytest.raises(FormatError, match=mentions("volumes[1", ">=", "0")):
        CommGraph.from_edges([0, 1], [1, 0], [1.0, bad])


@pytest.mark.parametrize("n", [2.5, "3", -1, True])
def test_the_number_of_tasks_is_a_number(n):
    with pytest.raises(FormatError, match="expected a number of tasks"):
        CommGraph.from_edges([], [], n=n)


@pytest.mark.parametrize("kind", ["U1", object, complex, bool, "M8[s]", "m8[s]"])
def test_no_numbers_are_no_numbers_of_any_kind(kind):
    nothing = np.array([], kind)
    graph = CommGraph.from_edges(nothing, nothing, nothing, n=3, loads=[1, 2, 3])
    assert (graph.n, graph.m) == (3, 0)


@pytest.mark.parametrize("bad", [["1", "2"], [None, 1], [2**70, 1], np.array([1, 2], "m8[s]"), [1j, 2]])
def test_what_is_no_number_is_refused(bad):
    found = str(np.asarray(bad).dtype)
    with pytest.raises(FormatError, match=mentions("volumes", found, "real numbers")):
        CommGraph.from_edges([0, 1], [1, 0], bad)
    with pytest.raises(FormatError, match=mentions("sources", found, "1-d integers")):
        CommGraph.from_edges(bad, [1, 0])


def test_lists_in_lists_are_refused():
    with pytest.raises(FormatError, match="loads are lists of unequal length"):
        CommGraph.from_edges([0, 1], [1, 0], loads=[[1], [1, 2]])
    with pytest.raises(FormatError, match="sources are lists of unequal length"):
        CommGraph.from_edges([[0], [1, 2]], [1, 0])
    with pytest.raises(FormatError, match=r"matrix of shape \(3,\), expected a square one"):
        CommGraph.from_scipy(scipy.sparse.coo_array(np.array([1, 2, 0])))


def test_matrices_that_are_none_are_refused():
    with pytest.raises(FormatError, match="rows of unequal length"):
        CommGraph.from_dense([[0, 1], [1]])
    with pytest.raises(FormatError, match="a ndarray, expected a sparse matrix"):
        CommGraph.from_scipy(np.eye(2))


@pytest.mark.parametrize(("array", "value"), [("indices", 77), ("indptr", 77), ("indptr", -5)])
def test_a_damaged_sparse_matrix_is_refused_before_compiled_code_follows_its_numbers(array, value):
    matrix = scipy.sparse.csr_matrix(np.ones((3, 3)))
    getattr(matrix, array)[1] = value
    with pytest.raises(FormatError, match="a damaged sparse matrix"):
        CommGraph.from_scipy(matrix)


def test_lists_are_no_arrays_where_arrays_are_kept():
    with pytest.raises(FormatError, match=mentions("1-d", "int64")):
        CommGraph([0, 1, 2], [1, 0])
    with pytest.raises(FormatError, match="expected 1-d integers"):
        Mapping([0.5, 1], allocate("node:2 core:1"))


def csr(indptr=(0, 1, 2), targets=(1, 0)):
    return np.array(indptr, np.int64), np.array(targets, np.int32)


@pytest.mark.parametrize(
    ("indptr", "targets"),
    [(None, None), (5, 5), (np.array(0), np.array([], np.int32)), (csr()[0], None), (None, csr()[1]),
     (np.frombuffer(b"x" + csr()[0].tobytes(), np.int64, offset=1), csr()[1])],
    ids=["none", "numbers", "no dimension", "no targets", "no rows", "not aligned"],
)  # fmt: skip
def test_arrays_that_are_none_are_refused(indptr, targets):
    with pytest.raises(FormatError, match="must be a contiguous 1-d int"):
        CommGraph(indptr, targets)


@pytest.mark.parametrize("volumes", [[1, 2], [1, 1]])
def test_a_graph_that_claims_to_be_undirected_is_checked_before_a_search(volumes):
    """Searches on graphs that are not symmetric did not end."""
    indptr, targets = csr() if volumes == [1, 2] else csr((0, 1, 2, 2), (1, 2))
    graph = CommGraph(indptr, targets, np.array(volumes), undirected=True)
    with pytest.raises(FormatError, match="edge 0-1 is missing or weighs differently"):
        hb.map_tasks(graph, "node:2@10 core:2@1")


def test_the_directions_of_edges_are_checked_once(monkeypatch):
    graph = CommGraph(*csr(), np.array([3, 3]), undirected=True)
    hb.map_tasks(graph, "node:2@10 core:2@1")
    monkeypatch.setattr("hopbytes.kernels.find_asymmetry", None)
    hb.map_tasks(graph, "node:2@10 core:2@1")
    hb.map_tasks(CommGraph.from_edges([0], [1], undirected=True), "node:2@10 core:2@1")


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("counted", [False, True])
def test_a_quotient_has_the_sums_between_blocks(undirected, counted):
    rng = np.random.default_rng(5)
    for n, blocks in ((1, 1), (9, 4), (40, 7)):
        ends, volumes = rng.integers(0, n, (2, 3 * n)), rng.integers(0, 2**40, 3 * n)
        counts = rng.integers(1, 9, 3 * n) if counted else None
        loads = rng.integers(0, 99, n)
        graph = CommGraph.from_edges(*ends, volumes, counts, n=n, loads=loads, undirected=undirected)
        block = rng.integers(0, blocks, n)
        sums, messages = {}, {}
        for u, v, w, c in zip(
            graph.sources().tolist(), graph.targets.tolist(), graph.arc_volumes().tolist(),
            graph.arc_messages().tolist(), strict=True,
        ):
            pair = int(block[u]), int(block[v])
            if pair[0] != pair[1]:
                sums[pair], messages[pair] = sums.get(pair, 0) + w, messages.get(pair, 0) + c
        found = graph.quotient(block, blocks)
        arcs = list(zip(found.sources().tolist(), found.targets.tolist(), strict=True))
        assert dict(zip(arcs, found.arc_volumes().tolist(), strict=True)) == sums
        assert found.messages is None if not counted else dict(
            zip(arcs, found.messages.tolist(), strict=True)
        ) == messages
        assert found.loads.tolist() == [int(loads[block == b].sum()) for b in range(blocks)]
        assert found.undirected == undirected
        found.check_directions()


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_symmetric_graph_has_the_sums_of_both_directions(undirected, seed):
    """An undirected pattern without arcs of a task to itself is its own symmetric graph."""
    rng = np.random.default_rng(seed)
    ends, volumes = rng.integers(0, 7, (2, 12)), rng.integers(0, 3, 12) if seed else None
    if seed == 4:
        ends[1] = np.where(ends[0] == ends[1], (ends[1] + 1) % 7, ends[1])
    graph = CommGraph.from_edges(*ends, volumes, n=7, undirected=undirected)
    matrix = graph.to_scipy().toarray()
    loops = bool((ends[0] == ends[1]).any())
    assert graph.has_loops() == loops
    expected = matrix if undirected and not loops else matrix + matrix.T
    np.fill_diagonal(expected, 0)
    for csr in (graph.symmetric(), graph.symmetric_positive()):
        weights = np.ones(len(csr.targets), int) if csr.weights is None else csr.weights
        found = scipy.sparse.csr_array((weights, csr.targets, csr.indptr), shape=(7, 7))
        assert np.array_equal(found.toarray(), expected)
    assert weights.min(initial=1) > 0
    assert graph.symmetric() is graph.symmetric()


def test_sums_and_numbers_of_tasks_at_their_limits():
    half = 2**62
    assert CommGraph.from_edges([0, 1], [1, 0], [half, half - 1], [half, half - 1]).total_volume == 2**63 - 1
    for columns in (([half, half],), ([1, 1], [half, half])):
        with pytest.raises(ScaleError, match="divide them by 2 or more"):
            CommGraph.from_edges([0, 1], [1, 0], *columns)
    with pytest.raises(ScaleError, match="loads"):
        CommGraph.from_edges([0], [1], loads=[half, half])
    assert CommGraph.from_edges([0], [2], n=3).n == CommGraph.from_edges([0], [2]).n == 3
    for wrong in ({"n": 2}, {"messages": [0.5]}, {"n": 2**31 - 1}):
        with pytest.raises(FormatError):
            CommGraph.from_edges([0], [2], **wrong)
    with pytest.raises(FormatError, match=mentions("1", "2")):
        CommGraph.from_edges([0], [1, 2])
    assert task_numbers("sources", [2**31 - 2]).tolist() == [2**31 - 2]
    for numbers in ([2**31 - 1], [-1, 3]):
        with pytest.raises(FormatError, match="2147483646"):
            task_numbers("sources", numbers)


@pytest.mark.parametrize(
    ("wrong", "facts"),
    [
        ({"volumes": [1]}, "volumes 1 2"), ({"messages": [1, 2, 3]}, "messages 3 2"),
        ({"loads": [1]}, "loads 1 2"),
        ({"volumes": [4, -3]}, "volumes[1] -3"), ({"loads": [-1, 2]}, "loads[0] -1"),
    ],
)
def test_arrays_of_another_length_or_below_0_are_named(wrong, facts):
    arrays = {name: np.array(values) for name, values in wrong.items()}
    with pytest.raises(FormatError, match=mentions(*facts.split())):
        CommGraph(*csr(), **arrays)
    for indptr, targets, row in (((0, 1, 2), (1, 2), 1), ((0, 2, 2), (1, 1), 0), ((0, 2, 2), (1, 0), 0)):
        with pytest.raises(FormatError, match=f"row {row}: targets .* 0..1"):
            CommGraph(*csr(indptr, targets))


def test_weights_of_a_pattern():
    known = {"name": "x", "tasks": "processes"}
    graph = CommGraph.from_edges([0, 1], [1, 0], [5, 7], [2, 3], n=3, meta=known)
    for kind, total in (("bytes", 12), ("time", 12), ("messages", 5), ("unit", 2)):
        assert graph.with_weights(kind).total_volume == total
    assert graph.to_scipy("messages").toarray()[1, 0] == 3
    assert graph.arc_messages().tolist() == [2, 3]
    assert CommGraph.from_edges([0], [1]).arc_messages().tolist() == [1]
    assert (graph.of_processes, graph.with_weights("unit").undirected) == (True, False)
    assert not CommGraph.from_edges([0], [1]).of_processes
    assert (graph.total_load, graph.name, CommGraph.from_edges([0], [1]).name) == (3, "x", "graph")
    block = graph.quotient([1, 0, 3])
    assert (block.n, block.name, block.of_processes) == (4, "x", True)


@pytest.mark.parametrize(
    ("volumes", "integers", "factor"),
    [
        ([0.5, 2.0], [5, 20], 10), ([1.0, 2.0], [1, 2], 1), ([0.125], [125], 1000),
        ([2.5, 2.25], [250, 225], 100), ([1e-9], [1], 10**9), ([2.0**53 - 1], [2**53 - 1], 1),
        ([5e15, 0.5], [5 * 10**15, 0], 1), ([1e-12, 1.0], [1, 10**12], 10**12),
        ([True, False], [1, 0], 1), ([3, 4], [3, 4], 1), ([0.0], [0], 1),
    ],
)
def test_decimals_become_integers_by_the_smallest_power_of_ten(volumes, integers, factor):
    found, times = to_integers("volumes", volumes, len(volumes))
    assert (found.tolist(), times) == (integers, factor)
    graph = CommGraph.from_edges([0] * len(volumes), range(len(volumes)), volumes)
    lost = sum(volume > 0 and not kept for volume, kept in zip(volumes, integers, strict=True))
    told = [notice for notice in graph.meta.get("notices", ()) if "count as 0" in notice]
    assert len(told) == bool(lost)
    assert all(f"{lost} of {len(volumes)} volumes" in notice for notice in told)


@pytest.mark.parametrize("block", [[0, 1], [0, -1, 1], [0, 0.5, 1], [0, 1, 5], [0, 1, 2**30]])
def test_blocks_that_are_no_partition_are_refused(block):
    graph = CommGraph.from_edges([0, 1], [1, 2])
    with pytest.raises(FormatError):
        graph.quotient(block, 5 if 5 in block else None)


def test_a_lone_small_volume_keeps_three_digits():
    volumes, factor = to_integers("volumes", [1.234567e-7], 1)
    assert volumes[0] / factor == pytest.approx(1.234567e-7, rel=1e-3)


def test_j_of_the_model_is_j_of_its_mapping():
    """Tasks that follow their blocks: J of the blocks is J of the tasks."""
    import hopbytes as hb

    graph, rng = hb.read("stencil:12x12"), np.random.default_rng(1)
    block = rng.permutation(np.arange(144) % 8)
    model = hb.map_tasks(graph.quotient(block), "node:2@10 core:4@1", "eco")
    tasks = hb.evaluate(graph, hb.Mapping(model.pe[block], model.where))
    assert tasks.comm_cost == model.info["comm_cost"]


@pytest.mark.parametrize(
    "read",
    [
        CommGraph.from_dense, CommGraph.of, lambda masked: CommGraph.from_dense(np.ones((2, 2)), masked),
        lambda masked: CommGraph.from_edges([0, 1], [1, 0], masked[0]),
        lambda masked: CommGraph.from_edges(masked[0], [1, 0]),
        lambda masked: Mapping(masked[0], allocate("core:2")),
        lambda masked: hb.map_tasks("stencil:2x1", "core:2", constraints=hb.Constraints(initial=masked[0])),
        lambda masked: hb.Remapper(
            CommGraph.from_edges([0, 1], [1, 0]), "core:2", [0, 1], imbalance="100%"
        ).apply(edges=masked[:, [0, 1, 1]]),
    ],
)  # fmt: skip
def test_masked_entries_are_no_numbers(read):
    """What lies under a mask was never meant, and is not missing either: nothing says what to take."""
    with pytest.raises(FormatError, match=mentions("masked entries", "expected")):
        read(np.ma.masked_array([[0, 1], [1, 0]], mask=[[False, True], [False, False]]))
    read(np.ma.masked_array([[0, 1], [1, 0]]))
