"""Dragonflies: facts known by hand."""

import pytest

from helpers.machines import link_names, shares
from hopbytes.errors import FormatError
from hopbytes.machines.kinds.dragonfly import Dragonfly
from hopbytes.machines.spec import parse_machine


def test_the_largest_dragonfly_is_accepted_and_larger_ones_are_not():
    assert Dragonfly.parse("256x256x256").n_nodes == 2**24
    with pytest.raises(FormatError):
        Dragonfly.parse("257x256x256")
    with pytest.raises(FormatError, match="links, expected fewer"):
        Dragonfly.parse("2x65536x1")


def test_a_dragonfly_plus():
    network = parse_machine("dragonfly+:5x3x2:spines=2:global=4:bw=4x2x1").network()
    assert network.describe()["links"] == 2 * 30 + 2 * 5 * 3 * 2 + 5 * 4 * 2  # two copies of each of four
    assert network.hops(0, [0, 1, 2, 6, 29]).tolist() == [0, 2, 4, 5, 5]
    machine = parse_machine("dragonfly+:5x3x2:spines=2:global=4")
    assert link_names(machine, 0, 3) == ["n0 -> l0.0", "l0.0 -> s0.1", "s0.1 -> l0.1", "l0.1 -> n3"]
    # Of the two links from group 0 to group 4, port 3 (spine 0) and port 7 (spine 1), targets take turns.
    assert link_names(machine, 0, 28)[1:3] == ["l0.0 -> s0.0", "s0.0 -> s4.0"]
    assert link_names(machine, 0, 29)[1:3] == ["l0.0 -> s0.1", "s0.1 -> s4.1 #1"]
    found = shares(parse_machine("dragonfly+:5x3x2:spines=2:global=4:route=spread"), 0, 29)
    assert found["s0.0 -> s4.0"] == found["s0.1 -> s4.1 #1"] == 0.5
    assert found["l4.2 -> n29"] == 1
    assert parse_machine("dragonfly+:4x8x16 / core:2").spec() == "dragonfly+:4x8x16@10 / core:2@1"
