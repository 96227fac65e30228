"""The benchmarks of one task per slot: dense distances, performance plots, tables of moves."""

import numpy as np

import hopbytes as hb
from bench.papers import paper000, swaps
from bench.studies import slot_moves
from hopbytes.algorithms.base import mappers, refiners
from hopbytes.util.options import build


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


def test_every_row_names_what_there_is():
    for _, mapper, refiner, _ in paper000.ROWS:
        build(mappers, mapper)
        if refiner:
            build(refiners, refiner)


def test_chains_are_measured_and_compared():
    chains = ["identity / swap", "random / swap / subtrees"]
    graph = hb.CommGraph.from_edges(np.arange(31), np.arange(1, 32), n=32)
    rows = [slot_moves.one_run(graph, hb.allocate("node:4@9 core:8@1"), chain, 1) for chain in chains]
    named = [{"family": "line", "name": "32", "chain": chain} for chain in chains]
    records = [{**name, **row} for name, row in zip(named, rows, strict=True)]
    assert rows[0]["comm_cost"] == 3 * 9 + 28
    table = slot_moves.table(records, chains).splitlines()
    assert table[1].split(" | ")[3].startswith("1.0000")
    assert len(table) == 1 + 2 * 2
