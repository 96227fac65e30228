"""The simulation of the TreeMatch paper: its cases, and what the table counts."""

import hopbytes as hb
import paper002


def test_cases_are_as_many_as_promised_and_distinct():
    cases = list(paper002.cases("all"))
    assert len(set(cases)) == len(cases) >= 60
    assert sum(kind == "synthetic" for kind, _, _ in cases) == 14 * 6


def record(case, algorithm, cost, seconds=1.0):
    return {
        "kind": "synthetic", "pattern": case, "machine": "m", "algorithm": algorithm, "comm_cost": cost,
        "seconds": seconds,
    }  # fmt: skip


def test_table_counts_strictly_ahead_and_lists_ties():
    records = [record("a", "treematch", 10), record("a", "mpipp.1", 15, 3.0)]
    records += [record("b", "treematch", 10), record("b", "mpipp.1", 10, 5.0)]
    records += [record("c", "treematch", 10), record("c", "mpipp.1", 5, 4.0)]
    records += [record("d", "treematch", 10), record("d", "mpipp.1", 12, 4.0)]
    lines = paper002.table(records)
    row = next(line for line in lines.splitlines() if line.startswith("mpipp.1"))
    assert row == "mpipp.1 | 50.0 | 25.0 | 25.0 | 1.100 | 1.050 | 0.500 | 1.500 | 4.0"
    assert "equal to mpipp.1: b on m" in lines


def test_round_robin_follows_the_numbers_of_the_operating_system():
    where = hb.machine("synthetic:pack:2 core:2 pu:1(indexes=0,2,1,3)")
    graph = hb.read("alltoall:3")
    assert paper002.placed(graph, where, paper002.ROUND_ROBIN, None).pe.tolist() == [0, 2, 1]


def test_strong_beside_treematch_uses_its_slots():
    where = hb.machine("socket:2@3 cache:3@2 core:2@1")
    graph = hb.read("hierarchical:2x2x2:seed=1")
    chosen = paper002.placed(graph, where, "treematch", None)
    found = paper002.placed(graph, where, "treematch+strong", chosen)
    assert sorted(found.pe.tolist()) == sorted(chosen.pe.tolist())
