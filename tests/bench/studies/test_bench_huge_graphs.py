"""The box of the study of huge graphs."""

from pathlib import Path

import numpy as np

import hopbytes as hb
from bench.studies.huge_graphs import write_box


def test_cells_that_share_a_corner_are_neighbours(tmp_path: Path) -> None:
    path = tmp_path / "box.parhip"
    write_box(5, path)
    graph = hb.read(path)
    cells = np.array(list(np.ndindex(5, 5, 5)))
    apart = np.abs(cells[:, None] - cells[None]).max(axis=2)
    found = np.zeros((125, 125), bool)
    found[np.repeat(np.arange(125), np.diff(graph.indptr)), graph.targets] = True
    assert graph.m == np.count_nonzero(found)
    assert np.array_equal(found, apart == 1)
