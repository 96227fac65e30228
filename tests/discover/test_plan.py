"""Which pairs of ranks are measured, and for how many rounds."""

import pytest

import hopbytes as hb
from helpers.errors import mentions
from hopbytes.discover.measure import RankPlace, _rounds_of, pairs_of_levels, pes_of_ranks
from hopbytes.errors import FormatError, InfeasibleError
from hopbytes.machines.kinds.synthetic import read_synthetic
from hopbytes.machines.node.node_tree import NodeInventory
from hopbytes.machines.node_machine import NodeMachine


def test_batches_are_long_enough_and_end():
    assert _rounds_of(1) == 200
    assert _rounds_of(2**22) == 2
    assert _rounds_of(2**30) == 2


def test_pairs_first_differ_at_their_level():
    where = hb.allocate("switch:2 node:3 package:2 l3:2 core:4")
    pairs = pairs_of_levels(where, list(range(where.k)))
    assert sorted(pairs) == [0, 1, 2, 3, 4]
    ancestors = [where.machine.ancestors(level) for level in range(5)]
    for level, chosen in pairs.items():
        assert 1 <= len(chosen) <= 3
        for a, b in chosen:
            assert ancestors[level][a] != ancestors[level][b]
            assert level == 0 or ancestors[level - 1][a] == ancestors[level - 1][b]


def test_levels_without_two_ranks_are_left_out():
    where = hb.allocate("node:2 package:2 core:4")
    assert sorted(pairs_of_levels(where, [0, 8])) == [0]
    assert sorted(pairs_of_levels(where, [0, 4, 5])) == [1, 2]
    assert pairs_of_levels(where, [3]) == {}


def bound_machine() -> NodeMachine:
    tree = read_synthetic("pack:2 core:2 pu:2(indexes=core:pack)")
    return NodeMachine("test:", NodeInventory((tree,), (0, 0)), ("n1", "n2"))


def test_ranks_are_found_by_host_and_cpus():
    where = hb.allocate(bound_machine())
    cores = [frozenset(where.os_pus(2)), frozenset(where.os_pus(1)[:1])]
    places = [RankPlace("n2.cluster", cores[0]), RankPlace("n1", cores[1])]
    assert pes_of_ranks(places, where) == [6, 1]


def test_unbound_ranks_are_counted_when_there_is_one_per_slot():
    where = hb.allocate(bound_machine())
    free = [RankPlace("n1", frozenset(range(8)))] * 4 + [RankPlace("n2", frozenset(range(8)))] * 4
    assert pes_of_ranks(free, where) == list(range(8))
    with pytest.raises(InfeasibleError, match=mentions("3", "8")):
        pes_of_ranks(free[:3], where)
    with pytest.raises(FormatError, match="expected a host of the machine"):
        pes_of_ranks([RankPlace("elsewhere", frozenset({0}))], where)
