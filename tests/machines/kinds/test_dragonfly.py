"""Dragonflies: facts known by hand."""

from __future__ import annotations

import numpy as np

from helpers.machines import link_names
from hopbytes.machines.spec import parse_machine


def test_a_group_of_a_dragonfly_reaches_every_other_by_one_link():
    for arrangement in ("absolute", "palmtree"):
        network = parse_machine(f"dragonfly:9x4x2:global=2:links={arrangement}").network()
        pairs = set()
        for link in np.flatnonzero(network.capacity):
            name = network.name_link(int(link))
            if "global" in name:
                near, far = name.removesuffix(" (global)").split(" -> ")
                pairs.add((near.split(".")[0], far.split(".")[0]))
                # The cable exists in both directions.
                assert any(
                    network.name_link(int(other)) == f"{far} -> {near} (global)"
                    for other in np.flatnonzero(network.capacity)
                )
        assert len(pairs) == 9 * 8


def test_valiant_routes_leave_no_trace_of_the_minimal_one():
    machine = parse_machine("dragonfly:5x2x1:route=valiant")
    crossed = [name for name in link_names(machine, 0, 9) if "global" in name]
    assert len(crossed) == 2 * 3
    assert not any(name.startswith("r0.") and " -> r4." in name for name in crossed)
