"""Damaged files of every kind never crash a reader; the developers' samples are read."""

from __future__ import annotations

from io import BufferedReader, BytesIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.machine_files import SIMGRID, SLURM, YAML
from helpers.paths import SHARED_SAMPLES
from hopbytes.errors import HopbytesError
from hopbytes.fabrics.simgrid import read_simgrid
from hopbytes.fabrics.slurm import read_slurm_topology, read_slurm_yaml
from hopbytes.machines.kinds.coordinates import read_coordinates
from hopbytes.machines.kinds.scotch import read_scotch_target
from hopbytes.machines.kinds.topograph import read_topograph
from hopbytes.text.documents import parse_xml

READERS = [
    (read_slurm_topology, SLURM),
    (read_slurm_yaml, YAML),
    (read_simgrid, SIMGRID),
    (read_scotch_target, "deco 0\n3 5\n1 1 4\n0 1 5\n2 1 3\n7\n8 9\n"),
    (read_coordinates, "node,x,y\nn1,0,1\nn2,3,0\n"),
    (read_topograph, "blocks:\n- nodes: [a, b]\n"),
]


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(READERS), st.lists(st.tuples(st.integers(0, 3000), st.binary(max_size=3)), max_size=5))
def test_damaged_files_never_crash(tmp_path_factory, reader, changes):
    read, text = reader
    content = bytearray(text.encode())
    for at, what in changes:
        content[at % len(content) : at % len(content) + at % 7] = what
        content = content or bytearray(b"x")
    path = tmp_path_factory.mktemp("damaged") / "file"
    path.write_bytes(bytes(content))
    try:
        found = read(str(path))
        if hasattr(found, "leveled"):
            found.leveled()
    except HopbytesError:
        pass  # any other exception fails the test


@pytest.mark.shared
def test_other_samples():
    assert read_slurm_yaml(str(SHARED_SAMPLES / "slurm/topology.yaml")).leveled().counts == ((2,), (2, 2))
    assert len(read_topograph(str(SHARED_SAMPLES / "topograph/nvl72.yaml")).leveled().hosts) == 72
    # A mesh of 4 x 3 as amk_m2 4 3 wrote it: distances are those of the grid.
    x, y = np.divmod(np.arange(12), 4)[::-1]
    grid = np.abs(np.subtract.outer(x, x)) + np.abs(np.subtract.outer(y, y))
    assert np.array_equal(read_scotch_target(str(SHARED_SAMPLES / "scotch/m4x3.tgt")).table, grid)
    assert read_scotch_target(str(SHARED_SAMPLES / "netloc/subarch.scotch")).n_terminals == 4 * 24 * 2 * 2 * 6
    assert len(read_simgrid(str(SHARED_SAMPLES / "simgrid/griffon.xml")).host_names) == 92
    assert read_coordinates(str(SHARED_SAMPLES / "torus/bgpc_nodes.yaml.gz")).dims == (8, 8, 8)


def test_elements_may_be_nested_200_deep():
    for depth in (200, 201):
        text = BufferedReader(BytesIO(b"<a>" * depth + b"</a>" * depth))
        if depth == 200:
            assert len(parse_xml(text, "file", root="a").children) == 1
        else:
            with pytest.raises(HopbytesError, match="nested more than 200 deep"):
                parse_xml(text, "file", root="a")
