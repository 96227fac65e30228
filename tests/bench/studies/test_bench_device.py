"""The study of mappings on a GPU, with the kernels as loops and small graphs."""

import json
import sys

import hopbytes as hb
from bench.studies import device


def test_rows_are_written_with_times_hashes_and_kernels(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    words = ["--device", "cpu", "--power", "10", "--side", "10", "--threads", "2", "--seeds", "2"]
    words += ["--out", str(path)]
    monkeypatch.setattr(sys, "argv", ["device", *words])
    device.main()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["graph"] for row in rows] == ["grid 2^10", "geometric 2^10", "box 10^3", "delaunay 2^10"]
    assert all(row["same"] and row["kernels"]["choose"]["launches"] > 0 for row in rows)
    found = hb.map_arrays(*device.rows_of(device.plane(10)), device.MACHINE, seed=1)
    assert rows[0]["J"][0] == found.comm_cost
