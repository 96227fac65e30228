"""The torus experiments: patterns of products by hand, ratios and tables of made-up rows."""


import numpy as np
import pytest

import hopbytes as hb
from bench.papers import paper003, paper003_table


def test_a_value_goes_once_to_every_other_part():
    # 0 is the centre of a star; 1, 2 and 3 lie in another part, 4 in a third.
    ends = np.array([[0, 0, 0, 0], [1, 2, 3, 4]])
    graph = hb.CommGraph.from_edges(*np.concatenate([ends, ends[::-1]], axis=1), n=5)
    found = paper003.product_pattern(graph, np.array([0, 1, 1, 1, 2]), 3)
    ends = zip(found.sources().tolist(), found.targets.tolist(), strict=True)
    arcs = dict(zip(ends, found.volumes.tolist(), strict=True))
    assert arcs == {(0, 1): 1, (0, 2): 1, (1, 0): 3, (2, 0): 1}
    assert set(found.messages.tolist()) == {1}


def rows():
    made = []
    for graph, mc in (("a", 50), ("b", 200)):
        for step, ratio, cpu in (("DEF", 1.0, 0.0), ("UMC", 0.5 if graph == "a" else 0.72, 2.0)):
            values = dict.fromkeys(paper003_table.METRICS, mc * ratio)
            about = {"case": graph, "order": "in order", "parts": 1024, "step": step, "cpu": cpu}
            made.append(about | values)
    return made


def test_tables_hold_geometric_means_beside_what_was_published():
    assert paper003_table.ratios(rows(), "MC")["in order", 1024, "UMC"] == pytest.approx(0.6)
    lines = paper003_table.table(rows()).splitlines()
    overall = next(line for line in lines if line.strip().startswith("all"))
    assert overall.split()[:4] == ["all", "UMC", "-40.0", "-40.0"]
    assert overall.endswith(paper003_table.PUBLISHED["UMC"])
    assert lines[-1].split() == ["UMC", "2.000"]
