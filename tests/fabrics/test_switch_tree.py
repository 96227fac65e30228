"""Trees of switches with every host at the same depth."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.errors import mentions
from hopbytes.errors import FormatError
from hopbytes.fabrics import switch_tree
from hopbytes.fabrics.switch_tree import Switch, SwitchTree


def paths(tree):
    """Return the child numbers of every host, level after level."""
    units = [()]
    for row in tree.counts:
        units = [(*unit, child) for unit, count in zip(units, row, strict=True) for child in range(count)]
    return dict(zip(tree.hosts, units, strict=True))


@st.composite
def forests(draw):
    """Return the switch above each switch, a later one or none, and the numbers of hosts at each."""
    count = draw(st.integers(1, 8))
    above = [draw(st.integers(number + 1, count)) for number in range(count)]
    hosts = draw(st.lists(st.integers(0, 2), min_size=count, max_size=count).filter(any))
    return above, [hosts[number] if number not in above else 0 for number in range(count)]


@settings(deadline=None)
@given(forests())
def test_two_hosts_part_at_the_level_of_the_smallest_switch_above_both(forest):
    above, hosts = forest
    if not any(hosts):
        return
    tree, count = SwitchTree("file"), len(above)
    for number in reversed(range(count)):
        below = [f"s{n}" for n in range(count) if above[n] == number]
        tree.add(Switch(f"s{number}", number, below, [f"n{number}-{n}" for n in range(hosts[number])]))
    height = [0] * (count + 1)
    for number, parent in enumerate(above):  # parents have higher numbers
        height[parent] = max(height[parent], height[number] + 1)
    leveled = tree.leveled()
    place = paths(leveled)
    assert set(place) == {f"n{number}-{n}" for number in range(count) for n in range(hosts[number])}
    assert list(place.values()) == sorted(place.values())
    part_of: dict[int, int] = {}
    for one, other in combinations(place, 2):
        lines = [[int(host[1:].partition("-")[0])] for host in (one, other)]
        for line in lines:
            while line[-1] < count:
                line.append(above[line[-1]])
        meet = next(switch for switch in lines[0] if switch in lines[1])
        apart = next(level for level, ends in enumerate(zip(place[one], place[other], strict=True))
                     if ends[0] != ends[1])  # fmt: skip
        assert part_of.setdefault(height[meet], apart) == apart
    assert [part_of[key] for key in sorted(part_of)] == sorted(part_of.values(), reverse=True)
    assert len(set(part_of.values())) == len(part_of)
    assert all(max(row) > 1 for row in leveled.counts[:-1])  # levels in which nothing branches are left out
    roots = {line for line in range(count) if above[line] == count}
    said = [notice for notice in leveled.notices if "a common root is assumed" in notice]
    full = {line for line, number in enumerate(hosts) if number}
    for line in range(count):
        full |= {above[line]} if line in full else set()
    assert bool(said) == (len(roots & full) > 1)


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
