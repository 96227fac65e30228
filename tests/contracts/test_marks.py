"""No file that others read begins with a comment unless its readers skip comments."""

import os

import numpy as np
import pytest

import hopbytes as hb
from helpers.placements import place
from hopbytes.errors import HopbytesError
from hopbytes.formats.base import MARK, formats
from hopbytes.text.replace_file import WRITTEN, says_written

#: Where it is said that readers skip comments, or who reads the file.
SKIP_COMMENTS = {
    "cray": "intro_mpi(3): MPICH_RANK_ORDER has comment lines with #",
    "edges": "a list of edges of our own form; SNAP and networkx.read_edgelist skip #",
    "hydra": "HYDU_parse_hostfile of MPICH: #",
    "intel": "Hydra's parser, as hydra",
    "json": "our own form, the mark is a member",
    "jsrun": "Job Step Manager 10.3, ERF format: #",
    "kubernetes": "YAML: #",
    "lammps": "LAMMPS, Universe::reorder: blank and comment lines are skipped",
    "lsf": "IBM Spectrum LSF 10.1, user-specified host file: # begins a comment",
    "mesh": "Python: #; JSON has it as a member",
    "metis": "METIS manual 4.1.1: %",
    "mm": "Matrix Market format: %",
    "mvapich": "host files of the user guide have comments with #",
    "newrank": "read by a given number of lines: the comment is the last one",
    "npz": "a member of the archive",
    "openmpi": "rmaps_rank_file_lex.l and hostfile_lex.l: #",
    "openfoam": "dictionaries of OpenFOAM: //",
    "pattern": "our own form, the mark is a member",
    "slurm": "slurm_read_hostfile: #",
    "torchrun": "sh: #",
}


def written(name, folder):
    """Write a file of a format, or skip what needs another machine."""
    if formats[name].holds == "pattern":
        graph = hb.CommGraph.from_edges([0, 1, 2, 3], [1, 0, 3, 2], [5, 5, 5, 5])
        things = [graph]
    else:
        order = np.arange(4)
        specs = ["node:2@10 core:2@1", "torus:2 / core:2", "torus:2x1x1 / core:2", "node:2 core:2 pu:2"]
        things = [place(spec, order, hosts=("a", "b"), problem="processes") for spec in specs]
    for thing in things:
        try:
            hb.write(thing, folder / "file", name)
            return True
        except HopbytesError:
            continue
    return False


@pytest.mark.parametrize("name", sorted(formats))
def test_only_formats_with_comments_carry_the_mark(tmp_path, name):
    if not written(name, tmp_path):
        pytest.skip("cannot be written, or not without more packages")
    content = (tmp_path / "file").read_bytes()
    assert (MARK.encode() in content) == (name in SKIP_COMMENTS)
    if name not in SKIP_COMMENTS:
        assert not content.lstrip().startswith((b"#", b"%"))


def test_a_partition_is_a_number_in_every_line(tmp_path):
    """KaHIP's reader takes line i for vertex i, and a loop with fscanf ends at the first other letter."""
    mapping = place("node:2@10 core:2@1", [3, 0, 2, 1])
    hb.write(mapping, tmp_path / "part.txt")
    assert (tmp_path / "part.txt").read_text() == "3\n0\n2\n1\n"
    hb.write(mapping, tmp_path / "part.txt")
    hb.write(hb.CommGraph.from_edges([0], [1], [7]), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "0,7\n0,0\n"
    hb.write(hb.CommGraph.from_edges([0], [1], [7]), tmp_path / "a.mat")
    assert (tmp_path / "a.mat").read_text() == "0 7\n0 0\n"


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="needs attributes of files")
def test_what_has_the_attribute_was_written_here(tmp_path):
    path = tmp_path / "part.txt"
    hb.write(place("core:2", [1, 0]), path)
    if WRITTEN not in os.listxattr(path):
        pytest.skip("the file system keeps no attributes")
    assert says_written(str(path))
    os.removexattr(path, WRITTEN)
    with pytest.raises(hb.UnsupportedError, match="does not say"):
        hb.write(place("core:2", [1, 0]), path)


def test_what_was_changed_since_is_not_ours(tmp_path):
    path = tmp_path / "part.txt"
    hb.write(place("core:2", [1, 0]), path)
    path.write_text("1\n1\n")  # keeps the attribute
    assert not says_written(str(path))
    with pytest.raises(hb.UnsupportedError, match="does not say"):
        hb.write(place("core:2", [1, 0]), path)
    assert path.read_text() == "1\n1\n"
