"""ParHIP as a rival: how it is started and read, and what our engine does with its blocks."""

import shutil
import sys
from argparse import Namespace

import numpy as np
import pytest

import hopbytes as hb
from bench.instances import graphs
from bench.rivals import parhip_partition

MACHINE = "island:2@100 node:2@10 core:2@1"
TIME = pytest.mark.skipif(not shutil.which("time"), reason="the program time is not installed")
#: Stands for mpirun and ParHIP together: rows of 16 vertices are in blocks of as many rows as fit.
PROGRAM = """
import sys
k = int([word for word in sys.argv if word.startswith("--k=")][0][4:])
if "--fails" in sys.argv:
    raise SystemExit("it does not work")
n = int(next(line for line in open("task.graph") if line[0] != "%").split()[0])
wrong = "--claims" in sys.argv
with open("tmppartition.txtp", "w") as file:
    file.writelines(f"{v * k // n}\\n" for v in range(n))
print("log>total partitioning time elapsed 0.25")
print("log>final edge cut", 16 * (k - 1) + wrong)
"""


def grid():
    made = graphs.grid(16, 16)
    return hb.CommGraph(made.indptr, made.targets.astype(np.int32), undirected=True)


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """Return a function that measures the program above on a grid of 16 x 16 vertices."""
    (tmp_path / "parhip.py").write_text(PROGRAM)
    hb.write(grid(), tmp_path / "g.graph")
    monkeypatch.setattr(parhip_partition, "LAUNCHER", [sys.executable, str(tmp_path / "parhip.py")])

    def run(way, more=""):
        return parhip_partition.measured(Namespace(
            graph=str(tmp_path / "g.graph"), ranks=2, on=MACHINE, way=way, preconfiguration="fastmesh",
            seed=1, imbalance=3, parhip_imbalance=None, preset="fast", program="parhip", more=more,
        ))  # fmt: skip

    return run


@TIME
def test_blocks_are_pes(measured):
    row = measured("flat")
    # Rows of the machine: one cut between islands, two between nodes, four between cores; both directions.
    assert row["J"] == 2 * 16 * (100 + 2 * 10 + 4 * 1)
    assert (row["edge_cut"], row["blocks_cut"], row["largest_load"], row["bound"]) == (112, 112, 32, 32)
    assert (row["imbalance"], row["kept"], row["parhip_seconds"]) == (0, True, 0.25)
    assert row["peak_bytes"] > 0


@TIME
@pytest.mark.parametrize(("more", "says"), [
    ("--fails", "made no partition: it does not work"), ("--claims", "a cut of 113, its partition has 112"),
])  # fmt: skip
def test_its_failures_are_said(more, says, measured):
    with pytest.raises(RuntimeError, match=says):
        measured("flat", more)
