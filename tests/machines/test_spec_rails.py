"""Levels with rails are machines ``rails:``: the spec, distances, and what is refused."""

from __future__ import annotations

import pytest

import hopbytes as hb
from helpers.paths import ROOT
from hopbytes.errors import FormatError
from hopbytes.machines.spec import parse_machine


@pytest.mark.parametrize(
    ("levels", "spec"),
    [
        ("node:4 gpu:8:rails", "rails:4x8@10 / gpu:8@1"),
        ("node:4@20 gpu:8@1:rails", "rails:4x8@10 / gpu:8@1"),
        ("pod:2 node:4 gpu:8:rails", "rails:8x8:pod=4@10 / gpu:8@1"),
        ("rack:2 node:4 gpu:2:rails core:3", "rails:8x2:pod=4@100 / gpu:2@10 core:3@1"),
        ("pod:2 domain:3 node:2 gpu:4:rails", "rails:12x4:domain=2:pod=6@10 / gpu:4@1"),
        ("nodes:64 gpus:8:rails", "rails:64x8:pod=64@10 / gpu:8@1"),
        (
            "node:4:bw=50e9 gpu:8:rails:bw=450e9:lat=1e-6",
            "rails:4x8:bw=450000000000x50000000000x50000000000@10 / gpu:8@1:bw=4.5e+11:lat=1e-06",
        ),
        ("node:4 gpu:8:rails / core:4", "rails:4x8@100 / gpu:8@10 core:4@1"),
    ],
)
def test_levels_are_a_machine_with_rails(levels, spec):
    machine = parse_machine(levels)
    assert machine.spec() == spec
    assert parse_machine(spec) == machine


def test_distances_depend_on_the_rail():
    """Host 0 of 2 x 2 hosts with two GPUs: its own, then per host the same rail and the other one."""
    where = hb.allocate("pod:2 node:2@20 gpu:2@1:rails")
    assert where.distance.matrix()[0].tolist() == [0, 1, 20, 40, 40, 40, 40, 40]


def test_hosts_of_a_file_may_be_inside():
    file = ROOT / "tests/samples/hwloc/v2_smt_gpus.xml"
    gpus = parse_machine(f"hwloc:{file}").inventory.tree(0).gpus
    where = hb.allocate(f"node:3 gpu:{len(gpus)}:rails / hwloc:{file}")
    assert where.machine.network() is not None
    assert len(set(where.node_of_pe.tolist())) == 3


@pytest.mark.parametrize(
    ("levels", "what"),
    [
        ("node:4:rails gpu:8", "expected them at gpu"),
        ("gpu:8:rails", "hosts right above"),
        ("node:4 package:2 gpu:4:rails", "hosts right above"),
        ("node:4@11 gpu:8:rails", "distance 11"),
        ("node:4@0 gpu:8:rails", "distance 0"),
        ("rack:2@40 node:4 gpu:8:rails", "distance above the hosts"),
        ("a:2 b:2 node:4 gpu:2:rails", "'a b'"),
        ("domain:2 pod:2 node:2 gpu:2:rails", "'domain pod'"),
        ("node:4 gpu:[2,2,2,3]:rails", "unequal counts"),
        ("node:4:rails gpu:8:rails", "expected them at gpu"),
        ("node:4 gpu:8:rails:rails", "'rails'"),
        ("node:4 gpu:8:rails=8", "'rails=8'"),
        ("node:99999 gpu:99:rails", "tables"),
    ],
)
def test_other_levels_are_refused_in_one_line(levels, what):
    with pytest.raises(FormatError) as caught:
        parse_machine(levels)
    assert what in str(caught.value)
    assert "\n" not in str(caught.value)
