"""Generators of patterns: known answers, properties of all, and what they refuse."""

import collections
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hopbytes as hb
from helpers.errors import refused
from hopbytes.errors import UnsupportedError
from hopbytes.patterns.base import is_pattern_spec, pattern, patterns


def dense(spec, weight="bytes"):
    return pattern(spec).to_scipy(weight).toarray()


@pytest.mark.parametrize("points", [7, 15, 27])
@pytest.mark.parametrize("periodic", ["none", "x", "yz", "xyz"])
def test_halos_of_boxes(points, periodic):
    """Against the definition: tasks whose coordinates differ by at most one in the right number of axes."""
    sizes, axes = (3, 4, 5), {7: {1}, 15: {1, 3}, 27: {1, 2, 3}}[points]
    expected = collections.Counter()
    cells = list(product(*map(range, sizes)))
    for a, b in product(range(60), repeat=2):
        steps = []
        for axis, size in enumerate(sizes):
            step = abs(cells[a][axis] - cells[b][axis])
            steps.append(min(step, size - step) if "xyz"[axis] in periodic else step)
        if max(steps) == 1 and sum(steps) in axes:
            expected[a, b] = {1: 100, 2: 10, 3: 1}[sum(steps)]
    found = dense(f"stencil:3x4x5:points={points}:periodic={periodic}:bytes=100,edge_bytes=10,corner_bytes=1")
    assert found.tolist() == [[expected[a, b] for b in range(60)] for a in range(60)]


def test_ring_of_two_meets_its_neighbour_twice():
    assert dense("stencil:2:periodic=x:bytes=5").tolist() == [[0, 10], [10, 0]]


#: Rows and columns are the tasks 0 1 2 / 3 4 5 of a grid of 2 x 3.
FIVE_POINTS = {
    "none": ["010100", "101010", "010001", "100010", "010101", "001010"],
    "y": ["011100", "101010", "110001", "100011", "010101", "001110"],
    "x": ["010200", "101020", "010002", "200010", "020101", "002010"],
    "xy": ["011200", "101020", "110002", "200011", "020101", "002110"],
}


@pytest.mark.parametrize("periodic", FIVE_POINTS)
def test_five_points(periodic):
    """Written by hand; along x there are two tasks, so a ring of them meets the neighbour twice."""
    expected = [[7 * int(digit) for digit in row] for row in FIVE_POINTS[periodic]]
    assert dense(f"stencil:2x3:periodic={periodic}:bytes=7").tolist() == expected


def test_nine_points():
    """Faces 5, corners 2: the middle of 3 x 3 meets all, a corner three, by hand."""
    matrix = dense("stencil:3x3:points=9:bytes=5:edge_bytes=2")
    assert matrix[4].tolist() == [2, 5, 2, 5, 0, 5, 2, 5, 2]
    assert matrix[0].tolist() == [0, 5, 0, 5, 2, 0, 0, 0, 0]
    assert matrix[1].tolist() == [5, 0, 5, 2, 5, 2, 0, 0, 0]
    closed = pattern("stencil:4x4:points=9:periodic=xy")
    assert np.diff(closed.indptr).tolist() == [8] * 16


def test_alltoall_of_rows_and_columns_of_a_grid():
    tasks = np.arange(12)
    for members, group in (("consecutive", tasks // 4), ("strided", tasks % 3)):
        expected = 7 * (group[:, None] == group[None, :]) - 7 * np.eye(12, dtype=int)
        assert dense(f"alltoall:12:groups=3:members={members}:bytes=7").tolist() == expected.tolist()


def test_transpose_is_a_permutation_that_transposes_back():
    there, back = dense("transpose:3x5:bytes=1"), dense("transpose:5x3:bytes=1")
    still = [i * 5 + j for i in range(3) for j in range(5) if i * 5 + j == j * 3 + i]
    assert there.sum() == 15 - len(still)
    assert (there @ back).trace() == there.sum()


def test_transpose_by_hand():
    """0 1 2 / 3 4 5 becomes 0 3 / 1 4 / 2 5: where task 1 stands the transposed grid has number 2."""
    assert dense("transpose:2x3:bytes=4").tolist() == [
        [0, 0, 0, 0, 0, 0], [0, 0, 4, 0, 0, 0], [0, 0, 0, 0, 4, 0],
        [0, 4, 0, 0, 0, 0], [0, 0, 0, 4, 0, 0], [0, 0, 0, 0, 0, 0],
    ]  # fmt: skip


@pytest.mark.parametrize(("volume", "near", "far"), [("same", 8, 8), ("halving", 8, 4), ("doubling", 4, 8)])
def test_butterfly_by_hand(volume, near, far):
    assert dense(f"butterfly:4:volume={volume}:bytes=8").tolist() == [
        [0, near, far, 0], [near, 0, 0, far], [far, 0, 0, near], [0, far, near, 0],
    ]  # fmt: skip


def test_butterfly_stages():
    matrix = dense("butterfly:16:volume=doubling:bytes=80")
    assert [matrix[5, 5 ^ bit] for bit in (1, 2, 4, 8)] == [10, 20, 40, 80]
    assert matrix.sum() == 16 * 150


def test_seeds_are_golden():
    """Volumes must never change between versions: placements are compared across them."""
    assert pattern("hierarchical:2x2:seed=3").volumes.tolist() == [
        118498, 127212, 1118982, 118498, 1032764, 131286, 127212, 1032764, 130196, 1118982, 131286, 130196
    ]


def all_kinds(tp, cp, dp, pp, ep, hidden, layers, seq, micro, top=2, element=2):
    """The formulas of the notes, task by task: t + tp (c + cp (d + dp p)) sends what its coordinates say."""
    n, per = tp * cp * dp * pp, layers // pp * micro
    volumes, messages = np.zeros((2, n, n), int)
    activations = seq // cp * hidden * element
    piece, square = activations // tp, layers // pp * hidden**2 * element // tp

    def number(t, c, d, p):
        return t + tp * (c % cp + cp * (d % dp + dp * p))

    for t, c, d, p in product(range(tp), range(cp), range(dp), range(pp)):
        me, place, whole = number(t, c, d, p), c + cp * d, cp * dp

        def send(other, volume, count, me=me):
            if other != me:
                volumes[me, other] += volume
                messages[me, other] += count

        steps = 4 * per * 2 * (tp - 1)
        send(number((t + 1) % tp, c, d, p), steps * activations // tp, steps)
        send(number(t, c + 1, d, p), 3 * (cp - 1) * per * 2 * piece, 3 * (cp - 1) * per)
        for other in {p - 1, p + 1} & set(range(pp)):
            send(number(t, c, d, other), micro * piece, micro)

        def at(place, t=t, p=p):
            return number(t, place % cp, place // cp, p)

        send(at((place + 1) % whole), 2 * (whole - 1) * 4 * square // whole, 2 * (whole - 1))
        same = whole // ep  # tasks with the same expert are ep apart
        send(at((place + ep) % whole), 2 * (same - 1) * 8 * square // same, 2 * (same - 1))
        for expert in range(ep):
            send(at(place // ep * ep + expert), 4 * per * top * piece // ep, 4 * per)
    return volumes, messages


@pytest.mark.parametrize("ep", [2, 4])
def test_all_kinds_of_parallelism_together(ep):
    sizes = {"tp": 2, "cp": 2, "dp": 4, "pp": 3, "ep": ep, "hidden": 16, "layers": 6, "seq": 32, "micro": 5}
    spec = ",".join(f"{key}={value}" for key, value in sizes.items())
    for weight, expected in zip(("bytes", "messages"), all_kinds(**sizes), strict=True):
        assert dense(f"ml:{spec}", weight).tolist() == expected.tolist()


@pytest.mark.parametrize(("levels", "factor"), [("3x2x2", 4), ("2x3", 100), ("5", 7)])
def test_without_spread_volumes_are_those_of_the_hidden_tree(levels, factor):
    sizes = tuple(map(int, levels.split("x")))
    cells = list(product(*map(range, sizes)))
    expected = [
        [
            0 if one == other else max(1, 50 // factor ** next(
                len(sizes) - 1 - depth for depth in range(len(sizes)) if one[depth] != other[depth]
            )) for other in cells
        ] for one in cells
    ]  # fmt: skip
    assert dense(f"hierarchical:{levels}:bytes=50,factor={factor},spread=0,shuffle=no").tolist() == expected
    spread = dense(f"hierarchical:{levels}:bytes=50,factor={factor},spread=40,shuffle=no")
    assert np.all(spread >= expected)
    assert np.all(spread <= np.array(expected) * 140 // 100)


def test_sizes_that_are_given_by_default_are_told():
    assert hb.read("ml:tp=2").meta["sizes"] == "2 x 4 x 8 (tp x pp x dp; pp=4, dp=8 by default)"
    sizes = hb.read("ml:cp=2,pp=1,seq=8").meta["sizes"]
    assert sizes == "8 x 2 x 1 x 8 (tp x cp x pp x dp; tp=8, dp=8 by default)"
    assert "sizes" not in hb.read("ml:").meta
    assert "sizes" not in hb.read("ml:tp=2,pp=1,dp=3").meta
    assert "sizes" not in hb.read("stencil:4x4:bytes=8").meta


def test_one_task_alone_sends_nothing():
    for spec in ("alltoall", "butterfly", "transpose:1x", "stencil", "hierarchical", "ml:pp=1,dp=1,tp="):
        graph = pattern(f"{spec}:1" if spec.isalpha() else f"{spec}1")
        assert (graph.n, graph.m) == (1, 0)


def test_what_is_a_spec():
    for text, known in (("stencil:4x4", True), ("ML:tp=8", True), ("stencil", False), ("a.graph:x", False)):
        assert is_pattern_spec(text) == known
    assert pattern("STENCIL:4x4,BYTES=8").name == pattern("stencil: dims=4x4 , bytes=8").name


def test_tree_carries_everything_over_each_edge():
    matrix = dense("ml:tp=1,pp=1,dp=5,hidden=4,layers=1,seq=8,micro=1,allreduce=tree")
    edges = [(0, 1), (0, 2), (1, 3), (1, 4)]
    expected = np.zeros((5, 5), int)
    for a, b in edges:
        expected[a, b] = expected[b, a] = 12 * 16 * 2
    assert matrix.tolist() == expected.tolist()


def test_order_renumbers_tasks_and_nothing_else():
    """With pipeline innermost task p + 4 t is what task t + 2 p is by default."""
    usual = dense("ml:tp=2,pp=4,dp=1,hidden=8,layers=4,seq=8,micro=1")
    other = dense("ml:tp=2,pp=4,dp=1,hidden=8,layers=4,seq=8,micro=1,order=pp-tp-cp-ep-dp")
    number = np.array([t + 2 * p for t in range(2) for p in range(4)])
    assert other.tolist() == usual[np.ix_(number, number)].tolist()


SPECS = {
    "stencil": "stencil:5x4x3:points=27:periodic=xz",
    "alltoall": "alltoall:30:groups=5",
    "transpose": "transpose:6x7",
    "butterfly": "butterfly:32",
    "hierarchical": "hierarchical:4x3x2:seed=9",
    "ml": "ml:tp=2,pp=2,dp=4,ep=2,cp=2,hidden=64,layers=8,seq=64,micro=3",
}


@pytest.mark.parametrize("name", [name for name in patterns if name != "spmv"])  # it needs a file
def test_every_generator_can_be_mapped_and_names_itself(name):
    """The name in `meta` is a spec of the same pattern."""
    graph = hb.read(SPECS[name])
    again = hb.read(graph.name)
    assert again.volumes.tolist() == graph.volumes.tolist()
    assert again.targets.tolist() == graph.targets.tolist()
    assert again.messages.min() >= 1
    where = hb.allocate("node:2@10 core:[40,40]@1")
    assert hb.map_tasks(graph, where, "fast").info["comm_cost"] > 0


@pytest.mark.parametrize(("spec", "words"), [
    ("stencil:0x4", "dimensions '0x4'"),
    ("stencil:4x4x4x4", "expected 1 to 3 numbers"),
    ("stencil:99999x99999", "at most"),
    ("stencil:4x4:points=7", "expected 5 or 9"),
    ("stencil:4x4:periodic=z", "expected letters of xy"),
    ("stencil:4x4:periodic=xx", "expected letters of xy"),
    ("alltoall:0", "tasks=0, expected 1 to"), ("butterfly:0", "a power of two"),
    ("stencil:4x4x", "expected 1 to 3 numbers"), ("transpose:4x4x4", "expected 2 numbers"),
    ("hierarchical:4:bytes=9223372036854775807", "bytes=9223372036854775807"),
    ("ml:seq=6,cp=4", "seq=6, expected a multiple of cp=4"), ("ml:kv=-1", "kv=-1"),
    ("stencil:4x4:size=3", "option 'size=3' is unknown"),
    ("stencil:4x4:bytes=-3", "expected an integer from 0"),
    ("alltoall:64:groups=7", "a divisor of the 64 tasks"),
    ("alltoall:64:groups=0", "a divisor"),
    ("alltoall:64:members=odd", "consecutive or strided"),
    ("alltoall:60000", "arcs, expected at most"),
    ("transpose:4", "expected 2 numbers"),
    ("butterfly:48", "a power of two"),
    ("butterfly:8:volume=none", "expected same"),
    ("hierarchical:4x4:factor=0", "factor=0"),
    ("hierarchical:40000", "arcs, expected at most"),
    ("ml:tp=0", "tp=0, expected an integer >= 1"),
    ("ml:pp=3", "layers=80, expected a multiple of pp=3"),
    ("ml:ep=3", "a divisor of dp·cp = 8"),
    ("ml:order=tp-pp", "in any order"),
    ("ml:allreduce=star", "ring or tree"),
    ("ml:dp=2147483647", "tasks, expected at most"),
    ("ml:hidden=2147483640,layers=2147483640,seq=2147483647", "bytes on an arc"),
    ("ml:ep=2,cp=2,order=cp-pp-ep-tp-dp", "pipeline stage"),
])  # fmt: skip
def test_refusals_are_one_line(spec, words):
    with refused(UnsupportedError, words):
        hb.read(spec)


def test_a_file_of_that_name_goes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stencil:4x4").write_text("2 1\n2\n1\n")
    assert hb.read("stencil:4x4").n == 2
    (tmp_path / "stencil:4x4").unlink()
    assert hb.read("stencil:4x4").n == 16


WORDS = st.sampled_from(["tp", "pp", "dims", "=", ":", ",", "4", "x", "-1", "periodic", "seed", "9" * 30])


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(SPECS)), st.lists(WORDS, max_size=6))
def test_no_spec_crashes(name, words):
    try:
        graph = hb.read(f"{name}:{''.join(words)}")
    except UnsupportedError:
        return
    assert graph.n >= 1


def test_hierarchy_is_in_the_volumes():
    """Every pair that parts at an inner level talks more than every pair that parts further out."""
    matrix = dense("hierarchical:3x2x4:bytes=1000:factor=4:spread=90:shuffle=no:seed=5")
    level = np.zeros((24, 24), int)
    for i, j in product(range(24), repeat=2):
        level[i, j] = 2 - (i // 8 == j // 8) - (i // 4 == j // 4)
    apart = ~np.eye(24, dtype=bool)
    volumes = [matrix[apart & (level == each)] for each in range(3)]
    assert volumes[0].min() > volumes[1].max() >= volumes[1].min() > volumes[2].max()
    assert (matrix == matrix.T).all()
    shuffled = dense("hierarchical:3x2x4:bytes=1000:factor=4:spread=90:seed=5")
    assert sorted(shuffled.ravel()) == sorted(matrix.ravel())
    assert shuffled.tolist() != matrix.tolist()


def test_specs_as_the_manual_has_them():
    assert pattern("stencil:16x16x4:periodic=xy:bytes=65536").n == 1024
    assert np.diff(pattern("alltoall:groups=16").indptr).tolist() == [3] * 64
    spec = "ml:tp=8,pp=4,dp=8,ep=1,hidden=8192,layers=80,seq=4096,micro=8"
    assert pattern(spec).volumes.tolist() == pattern(f"{spec},order=tp-cp-ep-dp-pp").volumes.tolist()
    # One stage holds 20 layers of 12 x 8192^2 numbers, 2 bytes each, an eighth of them per tensor rank.
    gradients = 12 * 8192**2 * 20 * 2 // 8
    graph = pattern(spec)
    ring = graph.volumes[(graph.sources() == 0) & (graph.targets == 8)]
    assert ring.tolist() == [2 * 7 * gradients // 8]
