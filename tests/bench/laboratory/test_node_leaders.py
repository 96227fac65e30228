"""PTRAM by several leaders: the placement of the serial mapper, each leader with its own routes only."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.paths import EXAMPLES
from helpers.strategies import random_graph
from helpers.together import together
from hopbytes.algorithms.mappers.ptram import HybridGreedy
from hopbytes.algorithms.refiners.refine_ptram import HottestLink
from hopbytes.algorithms.two_level.groups import nodes_of
from hopbytes_laboratory.ptram import Leaders, map_with_leaders

MACHINES = [
    "fattree:3x2x2:up=1x2x1 / core:2@1", "torus:3x4@5:nodes=2 / core:2@1", "torus:2x3x2:bw=3x2x6 / core:2@1",
    "dragonfly:3x2x2@3 / core:2@1", "fattree:3x2x2:up=1x2x2:route=spread / core:2@1",
    f"ib:{EXAMPLES}/fabric / core:4",
]


def led(size, graph, where, mapper, refiner, **grouping):
    """Map with `size` leaders; return the mapping and what each leader reports."""

    def lead(comm):
        leaders = Leaders(comm, where.machine.network(), **grouping)
        if comm.Get_rank():
            assert leaders.serve() == 0
            return None, leaders.report()
        mapping = map_with_leaders(leaders, graph, where, mapper, refiner, seed=3)
        leaders.close(0)
        return mapping, leaders.report()

    found = together(size, lead)
    assert all(report == found[0][1] for _, report in found)
    return found[0]


def case(spec, seed):
    rng = np.random.default_rng(seed)
    where = hb.allocate(spec)
    if seed % 2:  # an allocation with holes, nodes of unequal size, fewer tasks than slots
        keep = np.sort(rng.choice(where.k, where.k - where.k // 5, replace=False))
        where = where.select(keep)
    return random_graph(rng, n=where.k - (seed % 3)), where


@pytest.mark.parametrize("spec", MACHINES)
def test_any_number_of_leaders_gives_the_serial_placement(spec):
    for seed in range(3):
        graph, where = case(spec, seed)
        mapper, refiner = HybridGreedy(raw=seed == 0, guarded=seed == 2), HottestLink(nearest=5)
        serial = hb.map_tasks(graph, where, [mapper, refiner], seed=3, threads=1)
        nodes = nodes_of(where).count
        for size in (1, 2, 3, 5):
            if size > nodes:
                continue
            mapping, report = led(size, graph, where, mapper, refiner)
            assert mapping.pe.tobytes() == serial.pe.tobytes(), (seed, size)
            assert mapping.info["mapper"] == serial.info["mapper"]
            assert mapping.info["work"]["rounds"] == serial.info["work"]["rounds"]
            assert mapping.info["work"]["swaps_evaluated"] == serial.info["work"]["swaps_evaluated"]
            places = sum(each["nodes"] for each in report)
            assert [each["routes"] for each in report] == [2 * each["nodes"] * places for each in report]
            assert max(each["nodes"] for each in report) <= -(-places // size)
            if size == 1:
                assert (report[0]["messages"], report[0]["bytes"]) == (0, 0)
            else:
                assert min(each["messages"] for each in report) > 0
