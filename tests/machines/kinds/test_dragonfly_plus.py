"""Dragonfly+ networks: facts known by hand."""

from __future__ import annotations

import numpy as np

from helpers.machines import link_names
from hopbytes.machines.spec import parse_machine


def test_a_dragonfly_plus():
    network = parse_machine("dragonfly+:5x3x2:spines=2:global=4:bw=4x2x1").network()
    assert network.describe()["links"] == 2 * 30 + 2 * 5 * 3 * 2 + 5 * 4 * 2  # two copies of each of four
    assert network.hops(0, [0, 1, 2, 6, 29]).tolist() == [0, 2, 4, 5, 5]
    machine = parse_machine("dragonfly+:5x3x2:spines=2:global=4")
    assert link_names(machine, 0, 3) == ["n0 -> l0.0", "l0.0 -> s0.1", "s0.1 -> l0.1", "l0.1 -> n3"]
    # Of the two links from group 0 to group 4, port 3 (spine 0) and port 7 (spine 1), targets take turns.
    assert link_names(machine, 0, 28)[1:3] == ["l0.0 -> s0.0", "s0.0 -> s4.0"]
    assert link_names(machine, 0, 29)[1:3] == ["l0.0 -> s0.1", "s0.1 -> s4.1 #1"]
    spread = parse_machine("dragonfly+:5x3x2:spines=2:global=4:route=spread").network()
    routes = spread.routes([0], [29])
    shares = dict(zip(map(spread.name_link, routes.links.tolist()),
                      np.array(routes.numerators) / np.array(routes.denominators), strict=True))  # fmt: skip
    assert shares["s0.0 -> s4.0"] == shares["s0.1 -> s4.1 #1"] == 0.5
    assert shares["l4.2 -> n29"] == 1
    assert parse_machine("dragonfly+:4x8x16 / core:2").spec() == "dragonfly+:4x8x16@10 / core:2@1"
