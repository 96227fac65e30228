"""PEs that can take more than others: how it is said, and that loads and slots follow."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions
from hopbytes.errors import FormatError


def path(n):
    return hb.CommGraph.from_edges(range(n - 1), range(1, n))


@pytest.mark.parametrize(
    ("spec", "options", "capacity"),
    [
        ("node:2@10:cap=[1,3] core:2@1", (), [1, 1, 3, 3]),
        ("node:2@10 core:2@1:cap=[1,2]", (), [1, 2, 1, 2]),
        ("node:2@10 core:2@1:cap=[1,2,3,4]", (), [1, 2, 3, 4]),
        ("node:2@10:cap=[1,3] core:2@1:cap=[1,2]", (), [1, 2, 3, 6]),
        ("node:2@10 core:2@1", ("node=1:3",), [1, 1, 3, 3]),
        ("node:2@10 core:2@1", ("node=0-1:2", "core=1:3"), [2, 6, 2, 6]),
        ("node:2@10:cap=4 core:2@1", (), None),
    ],
)
def test_ways_to_say_it(spec, options, capacity):
    where = hb.allocate(spec, capacity=options)
    assert (where.capacity is None) if capacity is None else where.capacity.tolist() == capacity
    assert where.machine.spec() == spec


@pytest.mark.parametrize(
    ("spec", "option", "what"),
    [
        ("node:2:cap=[1,2,3] core:2", (), "3 2"),
        ("node:2:cap=0 core:2", (), ">= 1"),
        ("node:2:cap=1:cap=2 core:2", (), "each once"),
        ("node:2:cap=2000000 core:2", (), "1 to 1000000"),
        ("node:2 core:2", "node=0", "expected LEVEL=NUMBERS:N"),
        ("node:2 core:2", "3", "'3', expected LEVEL=NUMBERS:N"),
        ("node:2 core:2", "node=0:0", "expected LEVEL=NUMBERS:N"),
        ("node:2 core:2", "node=0:-2", "expected LEVEL=NUMBERS:N"),
        ("node:2 core:2", "node=5:2", "`capacity`"),
        ("node:2:cap=[1,999999] core:2", "node=1:999999", "at most 1000000"),
    ],
)
def test_ways_to_get_it_wrong(spec, option, what):
    with pytest.raises(FormatError, match=mentions(*what.split())):
        hb.allocate(spec, capacity=option)


@pytest.mark.parametrize("preset", ["fast", "eco", "strong"])
def test_loads_follow_capacities(preset):
    where = hb.allocate("node:2@10:cap=[1,3] core:2@1")
    mapping = hb.map_tasks(path(400), where, preset)
    assert mapping.info["balance"] == "met"
    assert np.all(mapping.tasks_per_pe() <= np.array([51, 51, 154, 154]))
    loads = np.random.default_rng(1).integers(1, 9, 400)
    weighted = hb.CommGraph.from_edges(range(399), range(1, 400), loads=loads)
    held = np.bincount(hb.map_tasks(weighted, where, preset).pe, loads, minlength=4)
    assert np.all(held <= 1.03 * loads.sum() * np.array([1, 1, 3, 3]) / 8 + 1)


def test_slots_follow_capacities_when_there_are_more_processes():
    where = hb.allocate("node:2@10:cap=[1,3] core:2@1")
    mapping = hb.map_tasks(path(17), hb.allocate(where, oversubscribe=True))
    assert mapping.tasks_per_pe().tolist() == [2, 2, 7, 6]


def test_an_excluded_part_keeps_the_capacities_of_the_rest():
    where = hb.allocate("node:3@10:cap=[1,2,3] core:2@1", exclude="node=1")
    assert where.capacity.tolist() == [1, 1, 3, 3]
