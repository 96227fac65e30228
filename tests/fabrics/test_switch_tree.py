"""Trees of switches with every host at the same depth."""


import pytest

from helpers.errors import mentions
from hopbytes.errors import FormatError
from hopbytes.fabrics import switch_tree
from hopbytes.fabrics.switch_tree import Switch, SwitchTree


def tree_of(rows, **options):
    tree = SwitchTree("file", **options)
    for line, (name, below, hosts, *kind) in enumerate(rows, start=1):
        tree.add(Switch(name, line, below.split(), hosts.split(), *kind))
    return tree


def test_names_of_levels():
    """From the leaves outwards; a kind that all switches of a level share goes before them, once."""
    rows = [
        ("r", "g1 g2", "", "rack"), ("g1", "l1 l2", "", "group"), ("g2", "l3 l4", "", "group"),
        *((f"l{n}", "", f"a{n} b{n}", "group") for n in (1, 2, 3)), ("l4", "", "c", "group"),
        ("q", "g3", "", "rack"), ("g3", "l5 l6", "", "group"), ("l5", "", "d"), ("l6", "", "e", "group"),
    ]  # fmt: skip
    found = tree_of(rows).leveled()
    assert found.levels == ("rack", "group", "leaf", "node")
    alike = [(*row[:3], "group" if row[0][0] == "l" else row[3]) for row in rows]
    assert tree_of(alike).leveled().levels == found.levels
    alike = [(*row[:3], "edge" if row[0][0] == "l" else row[3]) for row in rows]
    assert tree_of(alike).leveled().levels == ("rack", "group", "edge", "node")
    assert found.counts == ((2,), (2, 1), (2, 2, 2), (2, 2, 2, 1, 1, 1))
    plain = [(*row[:3], "") for row in rows]
    assert tree_of(plain).leveled().levels == ("switch3", "switch2", "leaf", "node")
    named = tree_of(plain, level_names=("block", "row")).leveled().levels
    assert named == ("switch2", "row", "block", "node")


def test_switches_above_others_are_joined():
    """One above some of those that another one is above becomes that one; of others there is an error."""
    leaves = [(f"l{n}", "", f"n{n}") for n in range(3)]
    found = tree_of([("few", "l0 l1", ""), ("all", "l0 l1 l2", ""), *leaves]).leveled()
    assert (found.counts, found.hosts) == (((3,), (1, 1, 1)), ("n0", "n1", "n2"))
    assert found.notices == ("switches above the same switches are one: few, all",)
    many = [(f"s{n}", "l0 l1 l2", "") for n in range(6)]
    (said,) = tree_of([*many, *leaves]).leveled().notices
    assert said.endswith("are one: s0, s1, s2, s3 and 2 more")
    (said,) = tree_of([*many[:4], *leaves]).leveled().notices
    assert said.endswith("are one: s0, s1, s2, s3")
    with pytest.raises(FormatError, match=mentions("file:2", "'l1'", "'b'", "'a'")):
        tree_of([("a", "l0 l1", ""), ("b", "l1 l2", ""), *leaves]).leveled()


def test_hosts_at_several_switches():
    found = tree_of([("a", "", "n1 n2"), ("b", "", "n2 n1 n3 n1 n2"), ("c", "", "")]).leveled()
    assert (found.hosts, found.counts) == (("n1", "n2", "n3"), ((2,), (2, 1)))
    assert found.notices[0] == (
        "4 nodes are named more than once: n2 (counted at a), n1 (counted at a), n1 (counted at a)"
    )
    assert "1 of 3 switches have no node below them" in found.notices[1]


def test_bounds_of_switch_trees(monkeypatch):
    chain = [(f"s{n}", f"s{n + 1}", "") for n in range(60)]
    assert tree_of([*chain, ("s60", "", "a b")]).leveled().levels == ("node",)
    with pytest.raises(FormatError, match=mentions("60")):
        tree_of([*chain, ("s60", "s61", ""), ("s61", "", "a b")]).leveled()
    with pytest.raises(FormatError, match=mentions("file:2", "'b'", "itself")):
        tree_of([("a", "", "n1"), ("b", "c", ""), ("c", "b", "")]).leveled()
    monkeypatch.setattr(switch_tree, "MAX_SWITCHES", 2)
    tree_of([("a", "", ""), ("b", "", "")])
    with pytest.raises(FormatError, match=mentions("file:3", "2")):
        tree_of([("a", "", ""), ("b", "", ""), ("c", "", "")])
