"""PTRAM's experiments: patterns by count, ratios of made-up rows."""



from bench.papers import ptram, ptram_table


def test_patterns_have_the_arcs_of_the_paper():
    arcs = {name: graph.m for name, graph in ptram.patterns(4096).items()}
    assert arcs["2-D 5-point"] == 2 * 2 * 64 * 63
    assert arcs["3-D 15-point"] == 3 * 2 * 16 * 16 * 15 + 8 * 15**3
    assert arcs["all-to-all"] == 4096 * 63


def rows():
    made = []
    for draw, mc in ((0, 30.0), (1, 20.0), (2, 80.0)):
        base = dict.fromkeys(ptram_table.METRICS, 100.0)
        step = dict.fromkeys(ptram_table.METRICS, mc) | {"cpu": 2.0}
        found = {"DEF": base, "DEF listed": {key: 2 * value for key, value in base.items()}, "PTRAM": step}
        made.append({"what": "quality", "pattern": "all-to-all", "draw": draw, "rows": found})
    seconds = {"partition": 0.5, "PTRAM": 1.5}
    return [*made, {"what": "time", "pattern": "all-to-all", "processes": 4096, "seconds": seconds}]


def test_tables_hold_geometric_means_of_draws_beside_what_was_published():
    found = ptram_table.ratios(rows())
    assert found["all-to-all", "first 512", "PTRAM", "machine"]["max_congestion"] == [0.3]
    lines = ptram_table.table(rows()).splitlines()
    scattered = next(line for line in lines if "scattered" in line).split()
    assert scattered[:7] == ["all-to-all", "scattered", "PTRAM", "0.40", "0.40", "(0.20-0.80)", "0.40"]
    assert scattered[-1] == "0.50"
    assert lines[-1].split() == ["4096", "all-to-all", "0.50", "1.50", "5"]
