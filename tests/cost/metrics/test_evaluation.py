"""An evaluation: the numbers are those of its parts, blocks of partitions are those of their definition."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions
from hopbytes.cost.metrics import mapping_metrics as blocks
from hopbytes.cost.metrics.baselines import as_recorded, in_order
from hopbytes.cost.metrics.evaluation import notes, rows, tasks_per_unit
from hopbytes.cost.metrics.mapping_metrics import measure_blocks

PAIRS = hb.CommGraph.from_edges([0, 1], [2, 3], [5, 5])
WHERE = hb.allocate("node:2@10 core:2@1")
NAMES = (
    "comm_cost", "edge_cut", "imbalance", "max_load", "used_pes", "min_tasks_per_pe", "max_tasks_per_pe",
    "mean_distance", "weighted_mean_distance", "comm_seconds", "levels", "traffic", "links",
)


def evaluated(**options):
    return hb.evaluate(PAIRS, hb.Mapping([0, 2, 1, 3], WHERE), **options)


@pytest.mark.parametrize("name", NAMES)
def test_properties_are_those_of_the_mapping(name):
    found = evaluated()
    assert getattr(found, name) == getattr(found.mapping, name)


def test_rows_of_the_table():
    pytest.importorskip("pandas")
    found = evaluated(random_seeds=2)
    frame = found.to_frame()
    assert list(frame.index) == ["mapping", "in_order", "random 0", "random 1"]
    assert frame["comm_cost"].tolist() == [
        each.comm_cost for each in (found.mapping, found.in_order, *found.random)
    ]
    assert frame.loc["mapping", "volume_node"] == 0
    assert frame.loc["in_order", "volume_node"] == 10


def test_relative_to_each_baseline():
    found = evaluated(random_seeds=3)
    by_order = found.relative_to()
    assert by_order["comm_cost"] == pytest.approx(10 / 100 - 1)
    assert by_order["imbalance"] == 0.0  # 0 in both
    assert "volume_core" not in by_order  # 0 in order, 10 here
    mean = np.mean([each.comm_cost for each in found.random])
    assert found.relative_to("random")["comm_cost"] == pytest.approx(10 / mean - 1)


def test_baselines_that_are_not_there():
    with pytest.raises(hb.UnsupportedError, match=mentions("baseline", "in_order")):
        evaluated().relative_to("best")
    for found, name in ((evaluated(), "recorded"), (evaluated(baselines=False), "random")):
        with pytest.raises(hb.UnsupportedError, match=f"'{name}' was not measured"):
            found.relative_to(name)


def test_cells_of_the_table_are_the_numbers_of_the_parts():
    """Five tasks on four PEs; the recorded run had each pair that exchanges something on two hosts."""
    hosts = ["a", "a", "b.net", "b.net", "a"]
    graph = hb.CommGraph.from_edges(
        [0, 1, 2, 3], [2, 3, 0, 3], [5.5, 5, 1, 0.5], [2, 3, 1, 1], n=5, meta={"recorded": {"hosts": hosts}}
    )
    where = hb.allocate("node:2@10 core:3@1", hosts="b,a")
    found = hb.evaluate(graph, hb.Mapping([0, 3, 1, 4, 0], where, {"problem": "processes"}), random_seeds=3)
    table = {row.label: row[1:] for row in rows(found)}
    costs = [each.comm_cost for each in found.random]
    mean = round(sum(costs) / 3) if sum(costs) >= 300 and len(set(costs)) > 1 else sum(costs) / 3
    assert (found.comm_cost, found.in_order.comm_cost, found.recorded.comm_cost) == (115, 565, 1150)
    assert table["communication cost J"][:3] == ("115", "565", "1,150")
    assert table["communication cost J"][3] in (f"{mean:,}", f"{mean:,.1f}")
    assert table["communication cost J"][4] == f"{min(costs):,} … {max(costs):,}"
    assert table["  against in order"][:3] == ("-79.6 %", "+0.0 %", "+103.5 %")
    assert table["edge cut"][:3] == ("115", "115", "115")
    assert table["mean distance by volume"][:2] == ("1.000", "4.913")
    assert table["imbalance"][0] == "140.0 %"
    assert table["tasks on a PE"][:3] == ("0 … 2", "0 … 2", "0 … 1")
    assert table["PEs used"][:3] == ("4", "4", "5")
    told = notes(found)
    assert told[:1] == ["tasks per node: 2 to 3 on 2 of 2"]
    assert any(note.startswith("4.17% of the volume") for note in told)
    assert told[-1] == "volumes are the numbers of the source times 10"
    assert found.to_dict()["random"]["comm_cost"] == {
        "mean": sum(costs) / 3, "min": min(costs), "max": max(costs)
    }
    assert found.to_dict()["tasks_per_unit"] == {"node": {"units": 2, "used": 2, "min": 2, "max": 3}}


def test_units_without_a_task_are_not_among_the_fewest():
    where = hb.allocate("island:2@50 node:2@10 core:2@1").select(np.array([0, 1, 3, 4, 5, 6]))
    counts = [(each.level, each.units, each.used, each.fewest, each.most) for each in tasks_per_unit(
        hb.Mapping([0, 0, 2, 3, 3], where)
    )]
    assert counts == [("island", 2, 2, 2, 3), ("node", 4, 3, 1, 2)]
    assert [each.most for each in tasks_per_unit(hb.Mapping([], where))] == [0, 0]


@pytest.mark.parametrize(
    ("hosts", "named", "expected"),
    [
        ("ABAB", "A,B,C", [0, 2, 1, 3]), ("BABA", "A,B,C", [2, 0, 3, 1]), ("XYXY", "A,B,C", [0, 2, 1, 3]),
        ("CCAA", "A.net,B.net,C.net", [4, 5, 0, 1]), ("AAAB", "A,B,C", None), ("ABCD", "A,B,C", None),
        ("YXYX", None, [0, 2, 1, 3]), ("AXAX", "A,B,C", [0, 2, 1, 3]),
    ],
)
def test_a_recorded_run_is_repeated_where_nodes_have_room(hosts, named, expected):
    """By the names of nodes if all of them are there, else in the order in which ranks name their hosts."""
    where = hb.allocate("node:3@10 core:2@1", **({"hosts": named} if named else {}))
    graph = hb.CommGraph.from_edges([0], [1], n=4, meta={"recorded": {"hosts": list(hosts)}})
    found = as_recorded(graph, where)
    assert found is None if expected is None else found.tolist() == expected


@pytest.mark.parametrize("names", [("10.0.0.1", "10.0.0.2"), ("n1.a", "n1.b")])
def test_recorded_hosts_that_begin_alike_are_different(names):
    hosts = [names[number] for number in (1, 0, 1, 0)]
    graph = hb.CommGraph.from_edges([0], [1], n=4, meta={"recorded": {"hosts": hosts}})
    assert as_recorded(graph, hb.allocate("node:2@10 core:2@1", hosts=names)).tolist() == [2, 0, 3, 1]


def test_ranks_in_order_keep_numbers_of_tasks_that_were_asked_for():
    where = hb.allocate("node:3@10 core:3@1")
    pe = [8, 6, 3, 0]
    for slots, expected in (("asked", [0, 3, 6, 8]), ("job", [0, 3, 6, 8]), ("free", [0, 1, 2, 3])):
        assert in_order(hb.read("stencil:4"), hb.Mapping(pe, where, {"slots": slots})).tolist() == expected
    spread = hb.Mapping(pe, where, {"slots": "asked"})
    assert in_order(hb.read("stencil:4"), spread, "cyclic").tolist() == [0, 3, 6, 8]
    shared = hb.Mapping([0, 0, 2, 1, 2], hb.allocate("core:3"), {"problem": "processes"})
    assert in_order(hb.read("stencil:5"), shared).tolist() == [0, 0, 1, 2, 2]
    blocks = hb.Mapping([0] * 5, hb.allocate("core:2"), {"problem": "partition"})
    for loads, ahead in ((None, 3), ([7] * 5, 3), ([0] * 5, 3), ([1, 1, 1, 1, 6], 4)):
        graph = hb.CommGraph.from_edges([0], [1], n=5, loads=loads)
        assert in_order(graph, blocks).tolist() == [0] * ahead + [1] * (5 - ahead)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("piece", [1, 7, 1 << 22])
def test_definitions(monkeypatch, seed, piece):
    monkeypatch.setattr(blocks, "ARCS_PER_PIECE", piece)
    rng = np.random.default_rng(seed)
    n, k = 40, 5
    src, dst = rng.integers(0, n, (2, 90))
    graph = hb.CommGraph.from_edges(src, dst, n=n, undirected=bool(seed % 2))
    pe = rng.integers(0, k - 1, n).astype(np.int32)  # the last PE is empty
    copies, touch = 0, {p: set() for p in range(k)}
    for task in range(n):
        ends = {int(pe[other]) for other in graph.targets[graph.indptr[task] : graph.indptr[task + 1]]}
        ends -= {int(pe[task])}
        copies += len(ends)
        for end in ends:
            touch[int(pe[task])].add(end)
            touch[end].add(int(pe[task]))
    sizes = [len(touch[p]) for p in range(k)]
    found = measure_blocks(graph, k, pe)
    assert (found.comm_volume, found.max_neighbours) == (copies, max(sizes))
    assert found.mean_neighbours == sum(sizes) / len(set(pe.tolist()))


def test_totalv_of_metis():
    """gpmetis 5.1.0 -objtype=vol makes these three blocks of a 6 x 6 grid: communication volume 18."""
    blocks = "0 1 1 1 1 1 0 0 1 1 1 1 0 0 0 1 1 1 0 0 0 2 2 2 0 0 2 2 2 2 0 2 2 2 2 2"
    mapping = hb.Mapping([int(block) for block in blocks.split()], hb.allocate("core:3"))
    evaluation = hb.evaluate(hb.read("stencil:6x6"), mapping)
    assert evaluation.mapping.blocks is not None
    assert evaluation.to_dict()["comm_volume"] == 18
    assert "18" in next(line for line in str(evaluation).splitlines() if "totalv" in line)


def test_one_task_each_is_no_partition():
    evaluation = hb.evaluate(hb.read("stencil:2x2"), hb.Mapping([0, 1, 2, 3], hb.allocate("core:4")))
    assert evaluation.mapping.blocks is None
    assert "totalv" not in str(evaluation)
