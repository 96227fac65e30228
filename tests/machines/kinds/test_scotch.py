"""Machines of Scotch's target files."""

import pytest

from helpers.errors import mentions
from helpers.machine_files import put
from helpers.machines import round_trip
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.machines.kinds.scotch import read_scotch_target


def test_scotch(tmp_path):
    def machine(text, options=""):
        return round_trip(f"scotch:{put(tmp_path, text)}{options}")

    assert machine("tleaf 2 4 180 6 1", ":names=node,core").spec() == "node:4@181 core:6@1"
    assert machine("cmplt 5").spec() == "level1:5@1"
    assert machine("torus3D 4 3 2").spec() == "torus:2x3x4@1"
    assert machine("hcub 3").distance().between(0, 7) == 3
    # Terminals listed as 1, 0, 2: rows of distances are in that order, places in that of the labels.
    table = machine("deco 0\n3 5\n1 1 4\n0 1 5\n2 1 3\n7\n8 9\n")
    assert table.distance().matrix().tolist() == [[0, 7, 9], [7, 0, 8], [9, 8, 0]]
    # Terminals 5, 0 and 4 of a line of 6, in that order.
    assert machine("sub 3 5 0 4 mesh2D 6 1").distance().matrix().tolist() == [[0, 5, 1], [5, 0, 4], [1, 4, 0]]
    with pytest.raises(UnsupportedError, match="different weights"):
        machine("cmpltw 2 3 5")
    with pytest.raises(FormatError, match=mentions("3", "2")):
        machine("tleaf 2 4 180 6 1", ":names=a,b,c")


def test_scotch_targets(tmp_path):
    def read(text):
        return read_scotch_target(put(tmp_path, text))

    tree = read("tleaf\n2 4 180 6 1\n")
    assert (tree.shape, tree.sizes, tree.costs, tree.n_terminals) == ("tree", (4, 6), (180, 1), 24)
    assert read("torus3D 4 4 2").sizes == (4, 4, 2)
    assert read("meshXD 2 4 3").sizes == (4, 3)
    assert read("hcub 3").n_terminals == 8
    assert read("cmpltw 2 3 5").weights == (3, 5)
    part = read("sub 2 5 3 cmplt 6")
    assert (part.terminals, part.n_terminals) == ((5, 3), 6)
    largest = read("deco 0\n1 2147483647\n2147483647 2147483647 2147483647\n")
    assert largest.table.tolist() == [[0]]


@pytest.mark.parametrize(("text", "message"), [
    ("tleaf 2 4 180 6", "the file ends expected a link cost"),
    ("cmplt x", "file:1 'x'"), ("cmplt 3 4", "1 numbers too many"), ("sub 2 1 1 cmplt 4", "a terminal twice"),
    ("sub 1 9 cmplt 4", "9 3"), ("torus5Q 1", "expected a suffix"),
    ("deco 0 2 3 0 1 1 0 1 2 4", "terminal 0 a second time"),
    ("torus3D 9999 9999 9999", "terminals expected at most"), ("deco 0 1 3 2147483648 1 1", "2147483648"),
    ("deco 0 1 3 0 2147483648 1", "2147483648"), ("deco 0 1 3 0 1 2147483648", "2147483648"),
    ("deco 0 1 2147483648 0 1 1", "2147483648"), ("deco 0 1 0 0 1 1", "'0' 1"), ("deco 1 1 1 0 1 1", "'1' 0"),
])  # fmt: skip
def test_scotch_faults(tmp_path, text, message):
    with pytest.raises(FormatError, match=mentions(*message.split())):
        read_scotch_target(put(tmp_path, text))
    with pytest.raises(UnsupportedError, match="known: tleaf"):
        read_scotch_target(put(tmp_path, "vhcub 2 3"))
