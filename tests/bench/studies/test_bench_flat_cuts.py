"""The study of flat cuts beside METIS: its cut, its rows and its table."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hopbytes as hb
from bench.studies.flat_cuts import METIS, cut, rows, summary

ROOT = Path(__file__).parents[3]
SIDE = 40


def grid(folder: Path) -> Path:
    """Write a square grid as METIS text."""
    number = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    rows_of = [
        [int(number[i + a, j + b]) + 1 for a, b in ((-1, 0), (1, 0), (0, -1), (0, 1))
         if 0 <= i + a < SIDE and 0 <= j + b < SIDE]
        for i in range(SIDE) for j in range(SIDE)
    ]  # fmt: skip
    lines = [f"{SIDE * SIDE} {2 * SIDE * (SIDE - 1)}", *(" ".join(map(str, row)) for row in rows_of)]
    path = folder / "grid.graph"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_cut_of_a_cycle_is_known() -> None:
    cycle = hb.CommGraph.from_edges(
        np.arange(6), (np.arange(6) + 1) % 6, np.array([1, 2, 4, 8, 16, 32]), n=6, undirected=True
    )
    assert cut(cycle, np.array([0, 0, 0, 1, 1, 1])) == 4 + 32
    assert cut(cycle, np.zeros(6, np.int64)) == 0
    assert cut(cycle, np.arange(6)) == 63


def test_a_preset_gives_a_row_per_seed(tmp_path: Path) -> None:
    path = grid(tmp_path)
    found = list(rows([path], ["turbo"], k=4, per_cent=3, seeds=2))
    assert [(row["graph"], row["tool"], row["seed"]) for row in found] == [
        ("grid", "turbo", seed) for seed in (0, 1)
    ]
    for row in found:
        assert 80 <= row["cut"] <= 120
        assert 1 <= row["largest"] <= 1.03


def test_the_table_takes_means_over_those_of_metis() -> None:
    def row(graph: str, tool: str, weight: int, seconds: float) -> dict[str, object]:
        return {"graph": graph, "tool": tool, "cut": weight, "cpu_seconds": seconds}

    measured = [
        row("a", METIS, 90, 2.0), row("a", METIS, 110, 1.0), row("a", "fast", 50, 8.0),
        row("b", METIS, 100, 1.0), row("b", "fast", 200, 2.0), row("c", "fast", 1, 1.0),
    ]  # fmt: skip
    lines = list(summary(measured))
    assert lines[:2] == ["| a | fast | 0.500 | 8.00 |", "| b | fast | 2.000 | 2.00 |"]
    assert lines[2] == "fast: cut 1.000, CPU 4.00 of METIS' on 2 graphs; 1 cut more"


def test_the_command_line_prints_the_table_and_names_what_is_missing(tmp_path: Path) -> None:
    kept = tmp_path / "rows.jsonl"
    kept.write_text(
        "".join(
            json.dumps({"graph": "a", "tool": tool, "cut": weight, "cpu_seconds": 1.0}) + "\n"
            for tool, weight in ((METIS, 10), ("turbo", 9))
        )
    )
    run = [sys.executable, "-m", "bench.studies.flat_cuts"]
    done = subprocess.run([*run, "--summary", kept], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "turbo: cut 0.900, CPU 1.00 of METIS' on 1 graphs; 0 cut more" in done.stdout
    refused = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "--graphs FOLDER is needed" in refused.stderr


def test_metis_keeps_the_bound_of_a_grid(tmp_path: Path) -> None:
    pytest.importorskip("pymetis")
    path = grid(tmp_path)
    (row,) = rows([path], [METIS], k=4, per_cent=3, seeds=1)
    assert 80 <= row["cut"] <= 160
    assert row["largest"] <= 1.04
