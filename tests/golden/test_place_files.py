"""Launch files to the byte, one reason each; a launcher reads them, so nobody may change them by accident.

After a deliberate change: ``HOPBYTES_WRITE_GOLDEN=1 pytest tests/golden``, then read the difference.
"""

import os
from pathlib import Path

import pytest

from helpers.placements import place, write

FOLDER = Path(__file__).parent / "place"
MACHINE = "node:2@10 package:2@3 core:2@1"

CASES = {
    # The rankfile parser of Open MPI 4 refuses ranks out of order and gaps: ascending, complete.
    "openmpi_named": ("openmpi", place(MACHINE, [5, 0, 4, 1, 7, 2, 6, 3], hosts=("n001", "n002")), {}),
    # Without host names nodes are counted (+n0); the unused node 1 keeps its line, so counting is right.
    "openmpi_counted": ("openmpi", place("node:3@10 core:2@1", [4, 0, 5]), {}),
    # One host needs no name; sets of cores are written as ranges.
    "openmpi_localhost": ("openmpi", place("package:2@3 core:4@1", [1, 0], cores_per_slot=4), {}),
    # Nodes group their ranks alike: one list in the command, no script, slots of the second renumbered.
    "slurm_one_list": ("slurm", place(MACHINE, [0, 1, 2, 3, 6, 7, 5, 4], hosts=("n001", "n002")), {}),
    # Node n002 pairs its ranks differently: the script binds, and srun is told not to.
    "slurm_script": ("slurm", place(MACHINE, [0, 1, 2, 3, 4, 6, 5, 7], hosts=("n001", "n002")), {}),
    # The comment comes last, so that line i is rank i for readers that know no comments.
    "newrank_cyclic": ("newrank", place(MACHINE, [0, 1, 2, 3, 4, 5, 6, 7]), {"launched": "cyclic"}),
    # What other partitioners read: numbers and nothing else.
    "plain": ("plain", place(MACHINE, [5, 0, 4, 1, 7, 2, 6, 3]), {}),
    # Files of earlier versions must stay readable, so the fields are fixed; version 1.
    "json": (
        "json",
        place("node:2@10 core:4@1", [3, 0], hosts=("n001", "n002"), cores_per_slot=2, mapper="identity"),
        {"metrics": {"comm_cost": 12}},
    ),
}


def render(written):
    """Return everything a writer produced as one text."""
    parts = [f"==> FILE{suffix} <==\n{text}" for suffix, text in written.files.items()]
    parts += [f"==> launch <==\n{written.launch}\n"]
    parts += [f"==> launch, {line.mpi} <==\n{line.command}\n" for line in written.lines]
    parts += [f"==> notice <==\n{notice}\n" for notice in written.notices]
    return "".join(parts)


@pytest.mark.parametrize("case", CASES)
def test_files_are_what_they_were(case):
    name, mapping, options = CASES[case]
    text = render(write(name, mapping, **options))
    path = FOLDER / f"{case}.txt"
    if os.environ.get("HOPBYTES_WRITE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()
