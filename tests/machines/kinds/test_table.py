"""Machines from a table: reading, and cutting along the seams that only distances show."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers.errors import mentions
from helpers.strategies import check_groupings, machines
from hopbytes.errors import FormatError
from hopbytes.machines.kinds.table import MAX_PLACES, Table, _energy
from hopbytes.machines.spec import parse_machine
from hopbytes.model.allocation import Allocation


@given(machines(max_cores=50))
@settings(deadline=None)
def test_the_table_of_a_tree_is_cut_like_the_tree(tree):
    one, other = Allocation.whole(tree), Allocation.whole(Table(tree.distance().matrix()))
    # A table cannot tell levels apart when the places are at distance 0 anyway.
    assert [g.tolist() for g in one.groups()] == [g.tolist() for g in other.groups()]
    if one.k > 1:
        everything = np.arange(one.k)
        assert [p.tolist() for p in one.split(everything)] == [p.tolist() for p in other.split(everything)]


square = st.integers(1, 24).flatmap(lambda k: arrays(np.int64, (k, k), elements=st.integers(0, 2**62)))


@given(square)
@settings(deadline=None)
def test_any_table_can_be_cut_down_to_single_places(table):
    np.fill_diagonal(table, 0)
    where = Allocation.whole(Table(table))
    check_groupings(where.groups(), where.k)
    places = np.arange(where.k)
    parts = where.split(places)
    assert sorted(np.concatenate(parts).tolist()) == places.tolist()
    assert len(parts) == 1 if where.k == 1 else len(parts) >= 2
    assert all(np.all(np.diff(part) > 0) for part in parts)


def grid_of_places(width, height, wrap):
    x, y = np.divmod(np.arange(width * height), height)
    across, along = abs(x[:, None] - x), abs(y[:, None] - y)
    if wrap:
        across, along = np.minimum(across, width - across), np.minimum(along, height - along)
    return Table(across + along)


@pytest.mark.parametrize("wrap", [False, True])
def test_a_mesh_is_cut_straight_across(wrap):
    where = Allocation.whole(grid_of_places(8, 8, wrap))
    halves = where.groups()[0].reshape(8, 8)
    links = np.sum(halves[1:] != halves[:-1]) + np.sum(halves[:, 1:] != halves[:, :-1])
    if wrap:
        links += np.sum(halves[0] != halves[-1]) + np.sum(halves[:, 0] != halves[:, -1])
    assert np.bincount(halves.ravel()).tolist() == [32, 32]
    assert links == (16 if wrap else 8)


def test_an_asymmetric_table_is_kept():
    table = np.array([[0, 1, 9], [2, 0, 9], [9, 9, 0]])
    machine = Table(table)
    assert np.array_equal(machine.distance().matrix(), table)
    assert [part.tolist() for part in machine.split(np.arange(3))] == [[0, 1], [2]]
    assert machine.levels == ()
    assert machine.node_of_core().tolist() == [0, 0, 0]


def test_reading(tmp_path):
    file = tmp_path / "two words.mat"
    file.write_text("# three places\n0 1,  5\n\n% again\n1,0,5\r\n 5 5 0")
    machine = parse_machine(f"table:{file}")
    assert machine.distance().matrix().tolist() == [[0, 1, 5], [1, 0, 5], [5, 5, 0]]
    assert parse_machine(machine.spec()) == machine
    assert hash(parse_machine(machine.spec())) == hash(machine)


@pytest.mark.parametrize(("content", "words"), [
    (b"", ": an empty file"),
    (b"# nothing\n", ": 0 rows of 0 numbers, expected a square matrix"),
    (b"0 1\n", ": 1 rows of 2 numbers"), (b"0 1\n1 0\n2 2\n", ":3: row 3, expected 2"),
    (b"0 1\n1 0 3\n", ":2: 3 numbers, expected 2 as above"),
    (b"0 -1\n1 0\n", ":1: '-1', expected an integer from 0"),
    (b"0 1\n1.5 0\n", ":2: '1.5'"), (b"0 nan\n1 0\n", ":1: 'nan'"),
    (b"0 99999999999999999999\n1 0\n", ":1: '99999"), (b"0 9000000000000000000\n1 0\n", ":1: '9000"),
    (b"\x7fELF\x00\x01\xff", ":1: a NUL byte"),
    (b"0 " * 5000, f":1: 5000 numbers, expected at most {MAX_PLACES}"),
    (b"0" * 10**5, "a line of 100000 characters"), ("0 ²\n1 0\n".encode(), ":1: "),
])  # fmt: skip
def test_faulty_files(tmp_path, content, words):
    file = tmp_path / "t.mat"
    file.write_bytes(content)
    with pytest.raises(FormatError) as caught:
        parse_machine(f"table:{file}")
    message = str(caught.value)
    assert message.startswith(str(file))
    assert words in message
    assert "\n" not in message
    assert len(message) < len(str(file)) + 150


def test_no_file(tmp_path):
    for path in (tmp_path / "nothing", tmp_path, "/dev/zero"):
        with pytest.raises(FormatError, match=r"No such file|a directory|a device"):
            parse_machine(f"table:{path}")
    with pytest.raises(FormatError, match="not a file name"):
        parse_machine("table:a\nb\x00\udcff")  # one line, whatever the name
    with pytest.raises(FormatError, match="expected table:FILE"):
        parse_machine("table:")
    with pytest.raises(FormatError, match="did you mean table:"):
        parse_machine("tabel:x.mat")


@pytest.mark.parametrize(("table", "words"), [
    (np.zeros((2, 3), int), "shape"), (np.zeros(4, int), "shape"), (np.zeros((0, 0), int), "shape"),
    (np.zeros((2, 2)), "float64"), (np.array([[0, -1], [1, 0]]), "-1 0 1"),
])  # fmt: skip
def test_faulty_arrays(table, words):
    with pytest.raises(FormatError, match=mentions(*words.split())):
        Table(table)


def test_energy_is_what_its_definition_says():
    rng = np.random.default_rng(3)
    distance = rng.integers(0, 50, (9, 9))
    distance = distance + distance.T
    np.fill_diagonal(distance, 0)
    half = np.arange(9) >= 4
    a, b = np.flatnonzero(~half), np.flatnonzero(half)
    cross, inner_a, inner_b = (distance[np.ix_(i, j)].mean() for i, j in ((a, b), (a, a), (b, b)))
    expected = (2 * cross - inner_a - inner_b) * len(a) * len(b) / 9
    assert _energy(distance, half) == pytest.approx(expected)


def test_unequal_clusters_of_no_exact_tree_are_found():
    # Points on a line, 5 and 9 of them with a gap: no two distances agree, so no level is exact.
    rng = np.random.default_rng(2)
    points = np.concatenate([rng.integers(0, 100, 5), rng.integers(150, 260, 9)])
    parts = Table(abs(points[:, None] - points)).split(np.arange(14))
    assert [part.tolist() for part in parts] == [list(range(5)), list(range(5, 14))]
