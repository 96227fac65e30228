"""Presets beside simpler tools on many networks: the cases, one of them run, and who is behind whom."""

from pathlib import Path

import hopbytes as hb
from bench.instances.network_case_list import Case, cases
from bench.studies import network_cases


def test_there_are_enough_cases_and_each_is_named_once():
    found = list(cases(Path("samples")))
    assert len({case.key for case in found}) == len(found) >= 53
    without = list(cases(None))
    assert {case.key for case in without} == {case.key for case in found if not case.needs_samples}


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
