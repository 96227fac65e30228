"""Fat trees: facts known by hand; and one-line errors for wrong sizes of every generated network."""

import numpy as np
import pytest

from helpers.errors import refused
from helpers.machines import link_names, shares
from hopbytes.errors import HopbytesError
from hopbytes.machines.spec import parse_machine

GPC = "fattree:30x6x18:up=1x2x9:cables=1x3x2:nodes=3090"


def test_the_fabric_of_gpc():
    """103 leaves of 30 nodes, 3 uplinks to one line switch in each of 2 cores: 18 line, 9 spine switches."""
    network = parse_machine(GPC).network()
    facts = network.describe()
    assert (facts["endpoints"], facts["switches"]) == (3090, 103 + 2 * 18 + 2 * 9)
    cables = 3090 + 103 * 2 * 3 + 2 * 18 * 9 * 2
    assert facts["links"] == 2 * cables
    assert facts["diameter"] == 6
    listed = [network.name_link(int(link)) for link in np.flatnonzero(network.capacity)]
    up_from_leaf_0 = [name for name in listed if name.startswith("leaf0 -> s2")]
    assert len(up_from_leaf_0) == 6
    assert len({name.split(" #")[0] for name in up_from_leaf_0}) == 2
    assert len([name for name in listed if name.startswith("s2.0.0 -> s3")]) == 9 * 2


def test_ways_up_follow_the_target():
    machine = parse_machine("fattree:4x4")
    for target in range(4, 16):
        assert link_names(machine, 0, target)[1] == f"leaf0 -> s2.0.{target % 4}"
    by_source = parse_machine("fattree:4x4:route=smodk")
    for source in range(4):
        assert link_names(by_source, source, 15)[1] == f"leaf0 -> s2.0.{source}"


def test_spread_flows_use_all_shortest_paths_evenly():
    found = shares(parse_machine("fattree:2x3x2:up=1x2x3:cables=1x2x1:route=spread"), 0, 11)
    assert sorted(set(found.values())) == [1 / 6, 1 / 4, 1]
    assert len(found) == 2 * (1 + 4 + 6)


@pytest.mark.parametrize(("text", "said"), [
    ("dragonfly+:9x4", "GROUPSxLEAVESxNODES"), ("dragonfly+:9x2x1:spines=3:global=2", "expected global=3"),
    ("dragonfly+:3x2x1:links=ring", "'ring'"), ("dragonfly+:3x2x1:route=valiant", "minimal, spread"),
    ("dragonfly+:3x2x1:bw=1x2", "three"), ("dragonfly+:999x99x99", "tables of at most 268435456"),
    ("fattree:", "integers >= 1"), ("fattree:4x4:up=1", "up for 1"), ("fattree:4:route=east", "'east'"),
    ("fattree:4:nodes=5", "nodes=5"), ("fattree:4:nodes=0", "nodes='0'"), ("fattree:4:bw=0", "bw='0'"),
    ("fattree:999x999x999", "16777216"), ("fattree:9x9:up=999999x999999", "cables"),
    ("dragonfly:9x4", "GROUPSxROUTERSxNODES"), ("dragonfly:9x2x1:global=1", "expected global=4"),
    ("dragonfly:3x2x1:links=ring", "'ring'"), ("dragonfly:3x2x1:route=far", "'far'"),
    ("dragonfly:3x2x1:bw=1x2", "three"), ("dragonfly:9999x999x999", "16777216"),
    ("hyperx:4x4:bw=1x2x3", "two"), ("hyperx:4:wrap=1", "'wrap=1'"), ("hyperx:4096x4096", "fewer"),
    ("torus:", "expected integers >= 1"), ("torus:4x0", "expected integers >= 1"),
    ("torus:4xx", "expected integers"), ("torus:4:nodes=0", "nodes='0'"), ("torus:4:bw=0", "bw='0'"),
    ("torus:4:wrap=2", "wrap='2'"), ("torus:4:color=1", "'color=1'"), ("torus:4@x", "'@x'"),
    ("torus:4@1@2", "expected one integer"), ("torus:4@1:nodes=2@3", "'@3'"),
    ("torus:9999x9999x9999", "16777216 in all"), ("mesh:4:wrap=1", "'wrap=1'"),
    ("torus:4@1 / core:2@5", "below 5 of core"),
    ("torus:4 / node:2 core:2", "a level 'node' inside the nodes"),
    ("torus:4 / core:[1,2]", "lists 2 counts"), ("torus:4 / torus:4", "expected a tree"),
    ("table:x / core:2", "x"), ("torus:4x4:bw=1x2x3", "bw='1x2x3'"),
    ("torus:4 / core:2 / core:2", "inside its nodes already"),
    ("rails:32", "HOSTSxRAILS"), ("rails:2x2x2", "HOSTSxRAILS"), ("rails:0x8", "integers >= 1"),
    ("rails:4x2:domain=5", "at most the 4 hosts"), ("rails:8x2:domain=4:pod=6", "multiple of domain=4"),
    ("rails:4x2:spines=0", "route=pxn"), ("rails:4x2:spines=0:route=pxn:pod=2", "single pod"),
    ("rails:4x2:route=ring", "spines, pxn"), ("rails:4x2 / core:8", "gpu:2"), ("rails:4x2 / gpu:4", "gpu:2"),
    ("rails:4x2:bw=1x2", "one number or three"), ("rails:4x2:bw=0", "bw='0'"), ("rails:4096x8", "tables"),
    ("rails:4x2:leaves=3", "leaves=3"), ("rails:4x2@20000", "per hop"),
    ("fattree:4@3 / core:2@5", "below 5 of core"),
])
def test_faults_are_one_line(text, said):
    with refused(HopbytesError, said):
        parse_machine(text)


def test_targets_of_one_leaf_come_down_by_different_cables():
    """That is the point of D-mod-k: all flows to one target share its way down, those to others do not."""
    machine = parse_machine("fattree:4x4")
    down = {link_names(machine, source, target)[2] for source in range(4) for target in range(8, 12)}
    assert len(down) == 4
