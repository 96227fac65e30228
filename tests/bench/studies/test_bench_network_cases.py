"""Presets beside simpler tools on many networks: one of the cases."""

import hopbytes as hb
from bench.instances.network_case_list import Case
from bench.studies import network_cases


def test_rows_of_rivals_and_presets():
    case = Case("torus:4x4 / core:2", "first:nodes=8", "sparse:12:2")
    graph, where = case.read(None)
    jobs = [("in-order, spread", ""), ("in-order, filled", ""), ("ug+umc", ""), ("eco", "max_congestion")]
    rows = [network_cases.run(case, graph, where, *job) for job in jobs]
    assert not [row["error"] for row in rows if "error" in row]
    table = network_cases.table(rows, "max_congestion")
    assert table.startswith("MC: 1 cases")
    assert "eco: behind on 0 cases" in table
    assert hb.__version__ == rows[0]["version"]
