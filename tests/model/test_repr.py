"""How objects show themselves: one line, and a small table in notebooks."""

import hopbytes as hb

MACHINE = "node:6@10 package:2@3 core:6@1"


def test_one_line_each():
    where = hb.machine(MACHINE)
    assert repr(where) == f"Allocation('{MACHINE}', 72 PEs)"
    assert repr(where.machine) == f"Tree('{MACHINE}', 72 cores)"
    assert repr(hb.machine("torus:4x3").machine).startswith("Torus('torus:4x3")
    mapping = hb.Mapping([0, 5, 7], where, {"comm_cost": 2034597966, "preset": "eco", "seed": 3})
    assert repr(mapping) == "Mapping(3 tasks → 72 PEs, J=2,034,597,966, eco, seed 3)"
    assert repr(hb.Mapping([0, 5, 7], where)) == "Mapping(3 tasks → 72 PEs)"


def test_a_mapper_stands_in_the_line_without_its_options():
    mapping = hb.map_tasks("stencil:4x4", "core:16", mapper="multisection:repetitions=2")
    assert "multisection, seed 0" in repr(mapping)


def test_a_long_spec_is_cut():
    where = hb.machine(" ".join(f"level{i}:1@{50 - i}" for i in range(20)) + " core:2@1")
    assert len(repr(where)) < 120
    assert "…" in repr(where)


def test_tables_hold_what_matters_and_no_script():
    graph = hb.read_pattern("stencil:8x8")
    mapping = hb.map_tasks(graph, hb.machine("node:8@10 core:8@1", hosts="a[1-8]"))
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
    mapping = hb.map_tasks(graph, "node:16@10 core:16@1", preset="fast")
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
    where = hb.machine("node:20@10 core:2@1")
    table = hb.Mapping([0, 1, *range(2, 40, 2)], where)._repr_html_()
    assert table.count("tasks on node ") == 16
    assert "tasks on each of 4 further nodes</th><td>1</td>" in table


def test_names_of_strangers_are_escaped():
    graph = hb.CommGraph.from_edges([0], [1], meta={"name": "<script>alert(1)</script>"})
    assert "<script>" not in graph._repr_html_()
