"""Mapping: what it is made of, its J and its table."""

import dataclasses
import pickle
import sys

import numpy as np
import pytest

import hopbytes as hb

WHERE = hb.allocate("node:2@10 core:2@1", hosts="a,b")


@pytest.mark.parametrize("pe", [[0, 2, 1], (0, 2, 1), np.array([0, 2, 1]), np.array([0, 2, 1], np.uint8)])
def test_any_integers(pe):
    mapping = hb.Mapping(pe, WHERE)
    assert mapping.pe.dtype == np.int32
    assert mapping.pe.tolist() == [0, 2, 1]
    assert not mapping.pe.flags.writeable


@pytest.mark.parametrize("pe", [[0.0, 1.0], [[0], [1]], [[0], [1, 2]], [0, 4], [-1], [2**40], "abc", [True]])
def test_other_content_is_refused(pe):
    with pytest.raises(hb.FormatError):
        hb.Mapping(pe, WHERE)


def test_a_place_of_another_kind():
    """A machine and its spec are places, as for map_tasks; a number is none."""
    assert hb.Mapping([0], WHERE.machine).where.k == hb.Mapping([0], WHERE.machine.spec()).where.k
    with pytest.raises(TypeError, match="expected an Allocation"):
        hb.Mapping([0], 5)


def test_copies_keep_everything():
    mapping = hb.map_tasks("stencil:2x2", WHERE)
    for again in (pickle.loads(pickle.dumps(mapping)), dataclasses.replace(mapping)):
        assert again.pe.tolist() == mapping.pe.tolist()
        assert again.comm_cost == mapping.comm_cost == mapping.info["comm_cost"]


def test_a_mapping_made_by_hand_has_no_cost():
    with pytest.raises(hb.UnsupportedError, match="computes it"):
        _ = hb.Mapping([0, 1], WHERE).comm_cost


def test_table_of_tasks():
    pytest.importorskip("pandas")
    where = hb.allocate("synthetic:pack:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)@n[1-2]:core=2")
    frame = hb.Mapping([0, 3], where).to_frame()
    assert list(frame.columns) == ["task", "pe", "node", "host", "core", "cpus"]
    assert frame["cpus"].tolist() == [where.os_pus(0), where.os_pus(3)]
    assert hb.Mapping([0, 2], WHERE).to_frame()["host"].tolist() == ["a", "b"]


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(hb.MissingPackageError, match="needs the package pandas"):
        hb.Mapping([0], WHERE).to_frame()


MACHINE = "node:6@10 package:2@3 core:6@1"


def test_one_line_each():
    where = hb.allocate(MACHINE)
    assert repr(where) == f"Allocation('{MACHINE}', 72 PEs)"
    assert repr(where.machine) == f"Tree('{MACHINE}', 72 cores)"
    assert repr(hb.allocate("torus:4x3").machine).startswith("Torus('torus:4x3")
    mapping = hb.Mapping([0, 5, 7], where, {"comm_cost": 2034597966, "preset": "eco", "seed": 3})
    assert repr(mapping) == "Mapping(3 tasks → 72 PEs, J=2,034,597,966, eco, seed 3)"
    assert repr(hb.Mapping([0, 5, 7], where)) == "Mapping(3 tasks → 72 PEs)"


def test_a_mapper_stands_in_the_line_without_its_options():
    mapping = hb.map_tasks("stencil:4x4", "core:16", "multisection:repetitions=2")
    assert "multisection, seed 0" in repr(mapping)


def test_a_long_spec_is_cut():
    where = hb.allocate(" ".join(f"level{i}:1@{50 - i}" for i in range(20)) + " core:2@1")
    assert len(repr(where)) < 120
    assert "…" in repr(where)


def test_tables_hold_what_matters_and_no_script():
    graph = hb.read_pattern("stencil:8x8")
    mapping = hb.map_tasks(graph, hb.allocate("node:8@10 core:8@1", hosts="a[1-8]"))
    evaluation = hb.evaluate(graph, mapping)
    for thing, expected in (
        (graph, f"{graph.total_volume:,}"), (mapping.where, "8"), (mapping, f"{mapping.comm_cost:,}"),
        (mapping, "tasks on each of 8 nodes"), (mapping, "eco"), (evaluation, f"{evaluation.comm_cost:,}"),
    ):  # fmt: skip
        table = thing._repr_html_()
        assert expected in table
        assert table.startswith("<table>")
        assert "script" not in table


def test_results_are_one_line_and_a_table():
    graph = hb.read_pattern("stencil:16x16")
    mapping = hb.map_tasks(graph, "node:16@10 core:16@1", "fast")
    remapper = hb.Remapper(graph, "node:16@10 core:16@1", mapping)
    cost = f"J={mapping.comm_cost:,}"
    for thing, expected in (
        (hb.evaluate(graph, mapping), cost), (hb.simulate(graph, mapping), "by flows, limited by link node "),
        (hb.presets.eco(), "multisection → "), (remapper, cost),
    ):  # fmt: skip
        assert len(repr(thing)) < 160
        assert expected in repr(thing)
        assert thing._repr_html_().startswith("<table>")


def test_unlike_nodes_are_listed_and_the_others_summed_up():
    where = hb.allocate("node:20@10 core:2@1")
    table = hb.Mapping([0, 1, *range(2, 40, 2)], where)._repr_html_()
    assert table.count("tasks on node ") == 16
    assert "tasks on each of 4 further nodes</th><td>1</td>" in table


def test_further_nodes_may_differ_and_hosts_are_named():
    where = hb.allocate("node:19@10 core:3@1", hosts="a[1-19]")
    counts = [3, *[1] * 15, 1, 2, 3]
    pe = [3 * node + place for node, held in enumerate(counts) for place in range(held)]
    table = hb.Mapping(pe, where)._repr_html_()
    assert table.count("tasks on a") == 16
    assert "tasks on each of 3 further nodes</th><td>1 to 3</td>" in table
    assert hb.Mapping([0, 0, 4], where).tasks_per_pe().tolist() == [2, 0, 0, 0, 1, *[0] * 52]
    known = hb.Mapping([0, 1], "core:2", {"comm_cost": 1.5, "seed": 3})
    assert repr(known) == "Mapping(2 tasks → 2 PEs, J=1.5, seed 3)"


@pytest.mark.parametrize("wrong", [[0, 2, 1, 4], [0, -1]])
def test_the_first_task_on_no_pe_is_named(wrong):
    with pytest.raises(hb.FormatError, match=f"task {len(wrong) - 1} is on PE {wrong[-1]}, expected 0..3"):
        hb.Mapping(wrong, WHERE)


def test_other_names_of_what_a_mapping_has():
    mapping = hb.Mapping([0, 1], WHERE)
    with pytest.raises(AttributeError, match=r"did you mean comm_cost\?"):
        mapping.cost  # noqa: B018
    with pytest.raises(AttributeError, match=r"'quality'$"):
        mapping.quality  # noqa: B018
    assert hb.Mapping.of(mapping) is mapping
    with pytest.raises(TypeError, match="the mapping is a int"):
        hb.Mapping.of(3)


def test_names_of_strangers_are_escaped():
    graph = hb.CommGraph.from_edges([0], [1], meta={"name": "<script>alert(1)</script>"})
    assert "<script>" not in graph._repr_html_()
