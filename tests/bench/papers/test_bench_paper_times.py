"""Simulated times of two papers: tables of known rows, and one small case that is really simulated."""

from bench.papers.paper_times_table import STEPS, per_graph, table_one

METRICS = ("WH", "TH", "MC", "MMC")


def umpa_rows():
    """Return times of two matrices: every step takes half of the time of DEF, on the second a quarter."""
    rows = []
    for graph, share in (("one", 0.5), ("two", 0.25)):
        for step in ("DEF", *STEPS):
            value = 1.0 if step == "DEF" else share
            times = {"communication": 4e-3 * value, "product": 1e-6 * value}
            rows.append({"case": f"umpa|{graph}|7", "graph": graph, "draw": 7, "step": step, **times,
                         **dict.fromkeys(METRICS, value)})  # fmt: skip
    return rows


def test_table_one_has_geometric_means_over_matrices():
    lines = table_one(umpa_rows())
    assert lines[2].startswith("| communication | 7 | 4.000 ms | 0.35 | 0.35 |")
    assert "| product | mean | 0.001 ms | 0.35 |" in lines[6]
    assert per_graph(umpa_rows(), "communication")[-1].startswith("| two | 0.25 (0.25, 0.25) |")
