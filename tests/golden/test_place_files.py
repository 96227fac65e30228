"""Launch files to the byte, one reason each; a launcher reads them, so nobody may change them by accident.

After a deliberate change: ``HOPBYTES_WRITE_GOLDEN=1 pytest tests/golden``, then read the difference.
"""

import contextlib
import os
from pathlib import Path

import pytest

import hopbytes as hb
from helpers.golden import checksum, compare, edited, outcomes
from helpers.placements import on_three_hosts, place, write
from hopbytes.errors import HopbytesError
from hopbytes.formats.base import Format, formats

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


def attempted(form, mapping):
    """Return the checksum of what a launcher reads, not that of the notices for people."""
    try:
        made = write(form, mapping)
    except HopbytesError as error:
        return type(error).__name__
    pe = None if made.mapping is None else made.mapping.pe.tolist()
    return checksum(sorted(made.files.items()), made.launch, [line.command for line in made.lines], pe)


H = ("n001", "n002")
MAPPINGS = {
    **on_three_hosts(), "all": place(MACHINE, range(8), hosts=H), "nameless": place(MACHINE, [0, 4]),
    "scattered": place(MACHINE, [5, 0, 4, 1, 7, 2, 6, 3], hosts=H),
    "back": place(MACHINE, range(8)[::-1], hosts=H),
    "gpus": place("node:2 gpu:2", [3, 2, 1, 0], hosts=H), "one host": place("package:2 core:4", [6, 2, 3]),
}
FORMS = [name for name, form in formats.items() if form.holds == "mapping"]


@pytest.mark.parametrize("form", FORMS)
def test_files_of_every_format_are_what_they_were(form):
    found = [f"{name} {attempted(form, mapping)}" for name, mapping in MAPPINGS.items()]
    compare("launch_files.txt", {form: ", ".join(found)})


@pytest.mark.parametrize("form", [name for name in FORMS if type(formats[name]).read is not Format.read])
def test_changed_files_are_read_or_refused_as_they_were(tmp_path, form):
    path, found = tmp_path / "p", []
    for mapping in MAPPINGS.values():
        with contextlib.suppress(HopbytesError):
            hb.write(mapping, path, form, force=True)

            def read(text, where=mapping.where, n=mapping.n):
                path.write_text(text)
                return hb.read_mapping(path, where, form, n=n).pe.tolist()

            found.append(outcomes(edited(path.read_text(), 50), read))
    compare("changed_files.txt", {form: "; ".join(found)})


@pytest.mark.parametrize("case", CASES)
def test_files_are_what_they_were(case):
    name, mapping, options = CASES[case]
    text = render(write(name, mapping, **options))
    path = FOLDER / f"{case}.txt"
    if os.environ.get("HOPBYTES_WRITE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()
