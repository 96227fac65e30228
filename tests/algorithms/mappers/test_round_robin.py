"""Tasks dealt to nodes in turn."""

import numpy as np

import hopbytes as hb
from hopbytes.machines.allocate.launcher_order import launcher_placement
from hopbytes.patterns.base import pattern
from hopbytes.solve.map_tasks import map_tasks


def test_round_robin_deals_tasks_to_nodes():
    where = hb.allocate("node:3 core:[2,1,2]")
    ring = hb.CommGraph.from_edges(np.arange(5), (np.arange(5) + 1) % 5)
    assert map_tasks(ring, where, "round_robin").pe.tolist() == [0, 2, 3, 1, 4]
    assert map_tasks(ring, where, "round_robin:turn=2").pe.tolist() == [0, 1, 2, 3, 4]
    for order, turn in (("cyclic", 1), ("plane=2", 2)):
        by_launcher = launcher_placement(hb.allocate("node:4 core:4"), 16, order)
        graph = pattern("stencil:4x4")
        mine = map_tasks(graph, hb.allocate("node:4 core:4"), f"round_robin:turn={turn}")
        assert np.array_equal(mine.pe, by_launcher.pe)
