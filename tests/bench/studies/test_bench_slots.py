"""The benchmarks of one task per slot: dense distances, performance plots, tables of moves."""

import numpy as np

from bench.papers import paper000, swaps


def test_dense_distances_are_the_machines():
    where = swaps.machine(256)
    assert np.array_equal(swaps.dense_distances(where, np.int16), where.distance.matrix())


def test_performance_is_the_share_of_instances_near_the_best():
    rows = [("rb", "mueller_merbach", ""), ("rb", "top_down", "")]
    costs = [(100, 104), (100, 130), (120, 100)]
    records = [
        {"graph": "g", "k": 64, "seed": seed, "model": row[0], "mapper": row[1], "refiner": row[2],
         "comm_cost": pair[i]}
        for seed, pair in enumerate(costs) for i, row in enumerate(rows)
    ]  # fmt: skip
    lines = paper000.performance(records).splitlines()
    assert [line.split("|")[-1].split() for line in lines[2:]] == [
        ["67", "67", "67", "67", "100", "100"], ["33", "33", "67", "67", "67", "100"],
    ]
