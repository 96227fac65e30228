"""Relabelling of parts, so that fewer tasks leave the PEs where they are."""

import numpy as np

import hopbytes as hb
from helpers.graphs import grid
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.solve.feasible import relabel_units


def cost_of(graph, pe):
    return CommCost().value(graph, TREE, pe)


TREE = hb.allocate("node:4@10 core:4@1")


class TestRemapping:
    def test_nothing_moves_when_moving_is_dear_and_all_is_rearranged_when_it_is_free(self):
        graph = grid(24)
        start = hb.map_tasks(graph, TREE, "random", seed=1)
        dear = hb.map_tasks(graph, TREE, constraints=hb.Constraints(initial=start, migration_price=10**6))
        assert dear.info["migrations"] == 0
        assert dear.info["migration_cost"] == 0
        free = hb.map_tasks(graph, TREE, constraints=hb.Constraints(initial=start))
        assert free.info["comm_cost"] <= 1.05 * hb.map_tasks(graph, TREE).info["comm_cost"]
        assert free.info["migrations"] == np.count_nonzero(free.pe != start.pe)

    def test_dearer_moves_are_fewer_moves(self):
        graph = grid(24)
        start = hb.map_tasks(graph, TREE, "identity").pe
        found = [
            hb.map_tasks(
                graph, TREE, constraints=hb.Constraints(initial=start, migration_price=price)
            ).info for price in (0, 5, 20, 100)
        ]
        migrations = [info["migrations"] for info in found]
        assert migrations == sorted(migrations, reverse=True)
        assert found[0]["migrations"] > 0
        for price, info in zip((0, 5, 20, 100), found, strict=True):
            assert info["migration_cost"] == price * info["migrations"]
            worst = cost_of(graph, start)
            assert info["comm_cost"] + info["migration_cost"] <= worst

    def test_a_placement_renamed_over_equal_nodes_comes_back(self):
        graph = grid(24)
        best = hb.map_tasks(graph, TREE, "strong", seed=2)
        elsewhere = ((best.pe // 4 + 1) % 4 * 4 + (best.pe % 4 + 2) % 4).astype(np.int32)
        assert np.array_equal(relabel_units(TREE, best.pe, elsewhere, np.ones(16, np.int64)), elsewhere)
        again = hb.map_tasks(
            graph, TREE, "strong", constraints=hb.Constraints(initial=elsewhere, migration_price=1)
        )
        assert again.info["migrations"] < graph.n / 10

    def test_without_a_price_the_renamed_of_two_equal_placements_is_taken(self):
        graph = grid(24)
        start = hb.map_tasks(graph, TREE, "random", seed=3)
        free = hb.map_tasks(graph, TREE)
        again = hb.map_tasks(graph, TREE, constraints=hb.Constraints(initial=start))
        assert again.info["comm_cost"] <= free.info["comm_cost"] * 1.05
        assert again.info["migrations"] < np.count_nonzero(free.pe != start.pe)

    def test_processes_stay_on_the_slots_they_have(self):
        graph = grid(3)
        start = np.array([15, 14, 13, 11, 9, 8, 7, 6, 5], np.int32)
        moved = hb.map_tasks(graph, TREE, constraints=hb.Constraints(initial=start, migration_price=3))
        assert set(moved.pe.tolist()) == set(start.tolist())
        assert moved.info["comm_cost"] + 3 * moved.info["migrations"] <= cost_of(graph, start)

    def test_a_fixed_task_pays_for_its_move(self):
        start = np.arange(16, dtype=np.int32)
        swapped = hb.map_tasks(
            grid(4), TREE,
            constraints=hb.Constraints(initial=start, fixed={0: 1, 1: 0}, migration_price=10**6)
        )
        assert swapped.info["migrations"] == 2
        assert swapped.pe.tolist() == [1, 0, *range(2, 16)]
