"""The box of the study of huge graphs, and the memory that mapping it takes."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

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


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
def test_fast_takes_little_memory_beside_many_arcs() -> None:
    """On 2^24 arcs 2.6 times the CSR, 0.7 of them the interpreter; 5 before repetitions shared levels."""
    command = [sys.executable, "-m", "bench.studies.huge_graphs", "--side", "88", "--preset", "fast"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    heads, cells = (line.split(" | ") for line in done.stdout.splitlines()[-2:])
    assert float(dict(zip(heads, cells, strict=True))["mapping over CSR"]) < 3.5
