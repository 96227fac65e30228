"""The simulation of the TreeMatch paper: its cases, its rows, and what the table counts."""

import numpy as np
import pytest

import hopbytes as hb
from bench.instances.graphs import shared_folder
from bench.papers import paper002
from bench.papers import paper002_rivals as rivals
from bench.rivals import ompi_treematch


def test_cases_are_as_many_as_promised_and_distinct():
    cases = list(paper002.cases("all"))
    assert len(set(cases)) == len(cases)
    assert sum(case.kind in ("recorded", "synthetic") for case in cases) == 40 + 84
    assert {case.machine for case in cases if case.kind == "elsewhere"} == set(paper002.MACHINES[2:])
    assert sum(case.kind == "fitting" for case in cases) == 14


def record(case, algorithm, cost, seconds=1.0, kind="synthetic"):
    return {
        "kind": kind, "pattern": case, "machine": "m", "algorithm": algorithm, "comm_cost": cost,
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
    assert "treematch | 25.0 | 25.0 | 50.0 |" in paper002.table(records, "mpipp.1")


def test_optimal_is_the_hidden_tree_with_nothing_below():
    records = [record("a", "treematch", 10, kind="fitting"), record("a", "hidden tree", 10, kind="fitting")]
    records += [record("b", "treematch", 9, kind="fitting"), record("b", "hidden tree", 8, kind="fitting")]
    records += [record("c", "treematch", 9, kind="fitting"), record("c", "hidden tree", 9, kind="fitting")]
    records += [record("c", "strong", 8, kind="fitting")]
    assert paper002.optimal(records) == "fitting: hidden tree found in 2 of 3, least J of all rows in 1 of 3"


def test_hidden_trees_fit_their_own_machine():
    for tree in paper002.TREES:
        where = hb.allocate(paper002.own_machine(tree))
        assert where.k == hb.read(f"hierarchical:{tree}").n
        assert where.distance.costs.tolist() == [0, *(10**i for i in range(tree.count("x") + 1))]


def test_round_robins():
    where = hb.allocate("synthetic:pack:2 core:2 pu:1(indexes=0,2,1,3)")
    graph = hb.read("alltoall:3")
    assert rivals.by_core(graph, where).pe.tolist() == [0, 2, 1]
    where = hb.allocate("numa:3@5 core:2@1")
    assert rivals.by_node(hb.read("alltoall:5"), where).pe.tolist() == [0, 2, 4, 1, 3]


def test_every_row_places_every_task_once(tmp_path):
    folder = tmp_path / "maplib" / "mappings"
    folder.mkdir(parents=True)
    (folder / "two_mesh_2x2x2_turned.csv").write_text(
        "turned\nx_coord y_coord z_coord number_of_processes process_id(s)\n"
        + "".join(f"{7 - task >> 2 & 1} {7 - task >> 1 & 1} {7 - task & 1} 1 {task}\n" for task in range(8))
    )
    graph, where = hb.read("stencil:2x2x2:bytes=1"), hb.allocate("mesh:2x2x2")
    case = rivals.Case("published", "maplib/two_64_size.csv", "mesh:2x2x2")
    found = {row.algorithm: row for row in rivals.rows(case, graph, where, tmp_path)}
    assert set(rivals.MAPPED) <= set(found)
    assert found["MapLib turned"].comm_cost == found["packed"].comm_cost == found["strong"].comm_cost == 24


def test_published_mappings_must_hold_every_task_once(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("greedy\nx y z number ids\n0 0 0 1 0\n0 1 0 1 0\n")
    with pytest.raises(ValueError, match="one process on each"):
        rivals.read_maplib(path, hb.allocate("mesh:1x2x1"))


def test_strong_beside_treematch_uses_its_slots():
    where = hb.allocate("socket:2@3 cache:3@2 core:2@1")
    graph = hb.read("hierarchical:2x2x2:seed=1")
    slots = np.array([0, 1, 2, 3, 6, 7, 8, 9])
    assert sorted(rivals._within(graph, where, slots).pe.tolist()) == slots.tolist()


def test_open_mpi_is_left_out_with_its_reason(monkeypatch):
    monkeypatch.setattr(ompi_treematch.hb, "allocate", lambda spec: type("Where", (), {"k": 4}))
    assert ompi_treematch.why_not(2) == "4 cores to bind 2 ranks to, expected 8"
    assert ompi_treematch.why_not(16) == "4 cores to bind 16 ranks to, expected 16"


def test_reordered_ranks_are_read_as_tasks():
    """Process 0 on the core of CPUs 1 and 5 became task 2, and so on."""
    where = hb.allocate("synthetic:core:4 pu:2(indexes=0,4,1,5,2,6,3,7)")
    pe = ompi_treematch.tasks_on_cores([2, 0, 1], [[1, 5], [3], [4]], where)
    assert pe.tolist() == [3, 0, 1]
    with pytest.raises(RuntimeError, match="bound to 2 cores"):
        ompi_treematch.tasks_on_cores([0], [[0, 1]], where)
    with pytest.raises(RuntimeError, match="two ranks on one core"):
        ompi_treematch.tasks_on_cores([0, 1], [[0], [4]], where)


def test_random_matrices_need_no_folder(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(paper002, "rows", lambda *_: [])
    assert list(paper002.measure(tmp_path, "synthetic", set())) == []
    assert capsys.readouterr().err == ""
    assert list(paper002.measure(tmp_path, "recorded", set())) == []
    assert "40 of 40 cases are left out" in capsys.readouterr().err
    case = next(paper002.cases("synthetic"))
    graph, where = paper002.opened(case, tmp_path)
    assert (graph.n, where.k) == (16, 96)


@pytest.mark.shared
def test_trees_in_place_of_files_have_the_same_distances():
    folder = shared_folder()
    if folder is None:
        pytest.skip("the developers' sample folder is missing")
    for name, tree in paper002.TREE_OF.items():
        one, other = hb.allocate(f"hwloc:{folder.parent}/samples/hwloc/{name}.xml"), hb.allocate(tree)
        pe = np.arange(one.k)
        for first in pe:
            assert [one.distance.between(first, other_pe) for other_pe in pe] == [
                other.distance.between(first, other_pe) for other_pe in pe
            ], name
