"""Simulated times of two papers: tables of known rows, and one small case that is really simulated."""

import json
import shutil

import numpy as np
import pytest

import hopbytes as hb
from bench.papers import paper_times
from bench.papers.paper_times_table import STEPS, by_size, per_graph, rows_of, table_one, tables

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


def test_figure_seven_has_changes_and_figure_nine_metrics():
    metrics = {"hop_bytes": 2.0, "max_congestion": 2.0, "avg_congestion": 2.0, "var_congestion": 2.0}
    rows = []
    for pattern, sizes in (("halo", ("64", "128")), ("app", ("1",))):
        for step, share in (("DEF", 1.0), ("PTRAM raw", 1.5), ("PTRAM", 0.9), ("ours", 0.5)):
            rows.append({
                "case": f"ptram|{pattern}|0", "pattern": pattern, "draw": 0, "step": step,
                "times": dict.fromkeys(sizes, 1e-6 * share),
                **{name: value * share for name, value in metrics.items()},
            })  # fmt: skip
    text = "\n".join(by_size(rows))
    assert "| halo | first ones | 128 | 1.0 us | +50% | -10% | -50% |" in text
    assert "-50% (0.50, 0.50, 0.50, 0.50)" in text


def test_half_a_case_is_never_kept(tmp_path):
    path = tmp_path / "rows.jsonl"
    paper_times.keep(path, umpa_rows())
    assert rows_of(path) == umpa_rows()
    assert rows_of(tmp_path / "none") == []
    assert "figure 4" in tables(rows_of(path), path).lower()
    pytest.importorskip("matplotlib")
    assert path.with_suffix(".svg").read_bytes().startswith(b"<?xml")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("smpirun") is None, reason="needs SimGrid's smpirun")
def test_a_case_on_the_fat_tree_is_simulated(monkeypatch):
    monkeypatch.setattr(paper_times, "CHAINS", ("PTRAM",))
    graph = hb.read("stencil:8x8")
    rows = list(paper_times.on_fat_tree("case", "halo", 0, graph, (1000,)))
    assert [row["step"] for row in rows] == ["DEF", "PTRAM"]
    json.dumps(rows)
    where = paper_times.ptram.allocation(8, 0)
    assert rows[0]["times"]["1000"] == paper_times.seconds(graph, where, np.arange(64), 1000)
